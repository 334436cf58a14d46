#include "gpu_check/products/gemm_ex.hpp"

namespace gpu {

namespace {

constexpr float alpha[2] = {1, 0};  // the number 1, real or complex
constexpr float beta[2] = {0, 0};

}  // namespace

const char* name_of(ExFunction function) {
    switch (function) {
        case ExFunction::single:
            return "cublasGemmEx";
        case ExFunction::strided_batched:
            return "cublasGemmStridedBatchedEx";
        case ExFunction::batched:
            return "cublasGemmBatchedEx";
        case ExFunction::grouped_batched:
            return "cublasGemmGroupedBatchedEx";
    }
    return "";
}

std::optional<cublasStatus_t> gemm_ex(const Cublas& cublas, const Problem& problem, ExFunction function,
                                      cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm) {
    const int n = problem.n;
    const long long stride = static_cast<long long>(n) * n;
    const cudaDataType type = problem.complex ? CUDA_C_32F : CUDA_R_32F;
    const Operation N = CUBLAS_OP_N;
    const void* a = problem.a.as<void>(problem.offset);
    const void* b = problem.b.as<void>(problem.offset);
    void* c = problem.c.as<void>(problem.offset);
    const auto a_array = problem.a_pointers.as<const void*>();
    const auto b_array = problem.b_pointers.as<const void*>();
    const auto c_array = problem.c_pointers.as<void*>();
    const char* name = name_of(function);
    switch (function) {
        case ExFunction::single:
            if (const auto call = cublas.library.find<decltype(cublasGemmEx)>(name)) {
                return call(cublas.handle, N, N, n, n, n, alpha, a, type, n, b, type, n, beta, c, type, n,
                            compute_type, algorithm);
            }
            break;
        case ExFunction::strided_batched:
            if (const auto call = cublas.library.find<decltype(cublasGemmStridedBatchedEx)>(name)) {
                return call(cublas.handle, N, N, n, n, n, alpha, a, type, n, stride, b, type, n, stride, beta, c,
                            type, n, stride, Problem::copies, compute_type, algorithm);
            }
            break;
        case ExFunction::batched:
            if (const auto call = cublas.library.find<decltype(cublasGemmBatchedEx)>(name)) {
                return call(cublas.handle, N, N, n, n, n, alpha, a_array, type, n, b_array, type, n, beta, c_array,
                            type, n, Problem::copies, compute_type, algorithm);
            }
            break;
        case ExFunction::grouped_batched:
            if (const auto call = cublas.library.find<decltype(cublasGemmGroupedBatchedEx)>(name)) {
                const int group_size = Problem::copies;
                return call(cublas.handle, &N, &N, &n, &n, &n, alpha, a_array, type, &n, b_array, type, &n, beta,
                            c_array, type, &n, 1, &group_size, compute_type);
            }
            break;
    }
    return std::nullopt;
}

}  // namespace gpu
