// Environment variables that change what cuBLAS does, above every setting of the program. cuBLAS reads them once in a
// process, as it makes its first handle; what the program sets or unsets later has no effect. So the shim reads them
// then, too. Where it does not see that moment (cublasXt and the interface before version 2 make handles by
// themselves), TF32 counts as switched off only if it was so both at the start and at the first call that is seen.
#pragma once

#include <cstdint>

namespace fp32shim::cublas {

struct alignas(4) Environment {   // one word, so that threads read it atomically
    bool tf32_is_off = false;     ///< NVIDIA_TF32_OVERRIDE=0
    bool tf32_may_be_on = false;  ///< any other value of NVIDIA_TF32_OVERRIDE, which NVIDIA reserves
    bool emulates_fp32 = false;   ///< CUBLAS_EMULATE_SINGLE_PRECISION is neither empty nor 0
    bool unused = false;          ///< explicit padding: gcc 14 allows no implicit one in a constant std::atomic

    bool operator==(const Environment&) const = default;
};

/// Reads the variables that cuBLAS obeys from `NAME=value` entries up to a nullptr, as in `environ`.
Environment read_environment(const char* const* entries);

/// Returns the variables that cuBLAS obeys, as it has read them. Before its first handle, nothing is known to be set.
Environment environment();

/// Reads the environment, unless cuBLAS has done so. To be called at each new call site of cuBLAS, before the call.
/// `makes_handle`: the call makes a handle. If anything is new, counts a change of settings, so that calls are
/// planned anew.
void update_environment(bool makes_handle);

}  // namespace fp32shim::cublas
