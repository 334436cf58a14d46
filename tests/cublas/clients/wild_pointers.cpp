// Calls without a handle whose other arguments point nowhere: cuBLAS looks at the handle first, and at nothing else.
// Prints the status of each.
#include <cstdio>

#include "api.hpp"

namespace {

/// A pointer that nobody may follow, of whatever type is wanted.
struct Wild {
    template <class T>
    operator T*() const {
        return reinterpret_cast<T*>(0x10);
    }
};

void print(const char* label, int status) { std::printf("%s %d\n", label, status); }

}  // namespace

int main() {
    using clients::api;
    constexpr Wild wild;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash shows where
    print("matmul", api().cublasLtMatmul(nullptr, wild, wild, wild, wild, wild, wild, wild, wild, wild, wild, wild,
                                         nullptr, nullptr, 0, nullptr));
    print("matmul_with_algorithm", api().cublasLtMatmul(nullptr, wild, wild, wild, wild, wild, wild, wild, wild, wild,
                                                        wild, wild, wild, nullptr, 0, nullptr));
    print("sgemm_batched", api().cublasSgemmBatched(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, wild, wild, 2, wild,
                                                    2, wild, wild, 2, 3));
    print("sgemm_grouped", api().cublasSgemmGroupedBatched(nullptr, wild, wild, wild, wild, wild, wild, wild, wild,
                                                           wild, wild, wild, wild, wild, 3, wild));
    print("gemm_grouped_ex", api().cublasGemmGroupedBatchedEx(nullptr, wild, wild, wild, wild, wild, wild, wild,
                                                              CUDA_R_32F, wild, wild, CUDA_R_32F, wild, wild, wild,
                                                              CUDA_R_32F, wild, 3, wild, CUBLAS_COMPUTE_32F));
    return 0;
}
