// The stand-in's cuBLAS handle.
#pragma once

#include "library_handle.hpp"
#include "permitted_format.hpp"

// Several threads may use and change a shared handle. A change may fall between any two calls.
struct cublasContext {
    stand_in::LibraryHandle head;  // must come first: see library_handle.hpp
    std::atomic<cudaStream_t> stream = nullptr;
    std::atomic<cublasPointerMode_t> pointer_mode = CUBLAS_POINTER_MODE_HOST;
    std::atomic<cublasMath_t> math_mode = CUBLAS_DEFAULT_MATH;
    std::atomic<bool> mode_was_lower = false;
    std::atomic<cublasAtomicsMode_t> atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
    std::atomic<cublasEmulationStrategy_t> strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
    std::atomic<int> sm_count_target = 0;
    std::atomic<cudaEmulationMantissaControl> mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
    std::atomic<int> most_bits = 0;
    std::atomic<int> bit_offset = 0;
    std::atomic<int*> kept_bits = nullptr;  // where gemm of float64 writes the bits that emulation kept, or -1
};

namespace stand_in {

inline bool alive(cublasHandle_t handle) { return handle != nullptr && alive(&handle->head); }

// Converts the handle's settings into a request for permitted_format().
Request request_of(cublasHandle_t handle);

}  // namespace stand_in
