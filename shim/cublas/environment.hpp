// Variables that change what cuBLAS does, above every program setting. cuBLAS reads them itself, so the shim has to
// know them as they are then: programs set them before they load it.
#pragma once

#include <cstdint>

namespace fp32shim::cublas {

struct alignas(4) Environment {   // in one word, so that threads read it whole
    bool tf32_is_off = false;     ///< NVIDIA_TF32_OVERRIDE=0
    bool tf32_may_be_on = false;  ///< any other value of it, which NVIDIA reserves
    bool emulates_fp32 = false;   ///< CUBLAS_EMULATE_SINGLE_PRECISION is neither empty nor 0
    bool unused = false;          ///< instead of padding, which gcc 14 cannot have in a constant std::atomic

    bool operator==(const Environment&) const = default;
};

/// Of `NAME=value` entries up to a nullptr, as in `environ`.
Environment read_environment(const char* const* entries);

/// As it was when a function of cuBLAS was first called from a new place, or a handle was made.
Environment environment();

/// Reads it anew. Whoever made plans under another one has to make them again.
void refresh_environment();

}  // namespace fp32shim::cublas
