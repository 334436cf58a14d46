// Memory for rounded copies: one block per thread, kept for the thread's next call. Uses neither malloc nor a
// destructor: a signal handler may multiply, and a routine may leave by longjmp. A thread that left so, without
// giving its block back, keeps working: each later call of it maps memory for itself.
#pragma once

#include <cstddef>

namespace fp32shim::blas {

struct Scratch {
    float* data = nullptr;  ///< aligned to 64 bytes, contents undefined; nullptr: there is no memory
    std::size_t bytes = 0;  ///< size of `data`, at least what was asked for
    bool kept = false;      ///< true: the thread's own block; false: a mapping for this call alone
};

/// Takes memory for one call: the block that the thread keeps. A block that is too small is replaced by one of twice
/// its size, or of `bytes` if that is more, but at most `limit`. A second call before give_back (a signal handler
/// that multiplies) gets other memory. Precondition: 0 < bytes <= limit.
Scratch take_scratch(std::size_t bytes, std::size_t limit);

void give_back(const Scratch& scratch);

}  // namespace fp32shim::blas
