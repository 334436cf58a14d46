// Compares the answers to calls that multiply nothing with those of the same program without the shim: the status,
// and the bits of C. cuBLAS refuses some of these calls and does not scale C in others, and the shim must change
// neither.
#pragma once

#include <cublas_api.h>

#include <string>
#include <vector>

namespace clients {

/// Expects the answer that the program gets to the call `name` when it runs without the shim. A child process finds
/// out, once for all calls. Expects nothing if this process has no shim.
///
/// CLIENT_ANSWERS=FILE   set in the child, which writes its answers there
void check_answer(const std::string& name, cublasStatus_t status, const std::vector<unsigned char>& result);

}  // namespace clients
