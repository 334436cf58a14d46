// Environment variables that override the program's settings of cuBLAS. cuBLAS reads them once in a process, when it
// makes its first handle; later changes by the program have no effect. So the shim reads the variables at the same
// moment. It cannot see this moment for cublasXt and the interface before version 2, which make handles themselves.
// In that case TF32 counts as off only if it was off both at the start of the process and at the first call that the
// shim sees.
#pragma once

namespace fp32shim::cublas {

struct alignas(4) Environment {   // the struct fits in one word, so that threads read it atomically
    bool tf32_is_off = false;     ///< true if NVIDIA_TF32_OVERRIDE is 0
    bool tf32_may_be_on = false;  ///< true if NVIDIA_TF32_OVERRIDE has any other value; NVIDIA reserves these values
    bool emulates_fp32 = false;   ///< true if CUBLAS_EMULATE_SINGLE_PRECISION is neither empty nor 0
    bool emulates_fp64 = false;   ///< true if CUBLAS_EMULATE_DOUBLE_PRECISION is neither empty nor 0

    bool operator==(const Environment&) const = default;
};

/// Reads the variables that cuBLAS obeys from `NAME=value` entries that end with a nullptr, as in `environ`.
Environment read_environment(const char* const* entries);

/// Returns the variables as cuBLAS has read them. Before cuBLAS makes its first handle, no variable counts as set.
Environment environment_in_force();

/// Reads the environment unless cuBLAS has read it already. Must be called at each new call site of cuBLAS, before
/// the call. `call_makes_handle` is true if the call makes a handle. If a variable is set, calls settings_changed(),
/// so that calls are planned again.
void refresh_environment_in_force(bool call_makes_handle);

}  // namespace fp32shim::cublas
