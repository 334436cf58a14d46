// Environment variables that override the program's settings of cuBLAS. cuBLAS reads them once in a process, when it
// makes its first handle; later changes by the program have no effect. So the shim reads them at that moment too. It
// cannot see that moment with cublasXt and the interface before version 2, which make handles themselves. TF32 then
// counts as off only if it was off both at the start and at the first call that the shim sees.
#pragma once

#include <cstdint>

namespace fp32shim::cublas {

struct alignas(4) Environment {   // the struct fits in one word, so that threads read it atomically
    bool tf32_is_off = false;     ///< NVIDIA_TF32_OVERRIDE=0
    bool tf32_may_be_on = false;  ///< NVIDIA_TF32_OVERRIDE has any other value; NVIDIA reserves these
    bool emulates_fp32 = false;   ///< CUBLAS_EMULATE_SINGLE_PRECISION is neither empty nor 0
    bool emulates_fp64 = false;   ///< CUBLAS_EMULATE_DOUBLE_PRECISION is neither empty nor 0

    bool operator==(const Environment&) const = default;
};

/// Reads the variables that cuBLAS obeys from `NAME=value` entries that end with a nullptr, as in `environ`.
Environment read_environment(const char* const* entries);

/// Returns the variables as cuBLAS has read them. Before its first handle, none counts as set.
Environment environment_in_force();

/// Reads the environment unless cuBLAS has done so already. Called at each new call site of cuBLAS, before the call.
/// `makes_handle`: the call makes a handle. If a value is new, counts a change of settings, so that calls are planned
/// again.
void update_environment(bool makes_handle);

}  // namespace fp32shim::cublas
