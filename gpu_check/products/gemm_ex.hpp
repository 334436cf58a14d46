// Calls the four gemm functions with a compute type.
#pragma once

#include <optional>

#include "gpu_check/products/problem.hpp"

namespace gpu {

enum class ExFunction { single, strided_batched, batched, grouped_batched };
const char* name_of(ExFunction function);

struct ComputeType {
    cublasComputeType_t value;
    const char* name;  // name without CUBLAS_COMPUTE_
    const char* row;   // name as used in answers
};
inline constexpr ComputeType compute_types[] = {
    {CUBLAS_COMPUTE_32F, "32F", "32f"},
    {CUBLAS_COMPUTE_32F_PEDANTIC, "32F_PEDANTIC", "32f_pedantic"},
    {CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32", "fast_tf32"},
    {CUBLAS_COMPUTE_32F_FAST_16BF, "32F_FAST_16BF", "fast_16bf"},
    {CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F", "fast_16f"},
    {CUBLAS_COMPUTE_32F_EMULATED_16BFX9, "32F_EMULATED_16BFX9", "emulated_16bfx9"},
};

/// Multiplies once, or, for a batch, once for each copy in the problem. Returns nullopt if the library does not have
/// the function.
std::optional<cublasStatus_t> gemm_ex(const Cublas& cublas, const Problem& problem, ExFunction function,
                                      cublasComputeType_t compute_type,
                                      cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT);

}  // namespace gpu
