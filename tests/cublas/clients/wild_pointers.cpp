// Calls functions without a handle, with invalid pointers in all other arguments. cuBLAS must check the handle first
// and use nothing else. Prints the status of each call.
#include <cstdio>

#include "api.hpp"

namespace {

/// An invalid pointer that converts to any pointer type.
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
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // the output before a crash is not lost
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
