// Environment variables that change what cuBLAS does, above every setting of the program. cuBLAS reads them when
// it is loaded or a handle is made, and programs set them just before; so the shim reads them then too.
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

/// Returns the variables that cuBLAS obeys, as they were at the last new cuBLAS call site or handle.
Environment environment();

/// Reads the environment again. If it has changed, counts a change of settings, so that calls are planned anew.
void refresh_environment();

}  // namespace fp32shim::cublas
