// Makes one product twice: from the program, and from a library whose name is cuSOLVER's or LIBRARY.
//
//   solver [LIBRARY [COUNT]]   COUNT: number of calls by the library
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "device.hpp"
#include "settings.hpp"

extern "C" cublasStatus_t cusolver_probe_multiply(cublasHandle_t handle, int order, const float* alpha,
                                                  const float* a, const float* b, const float* beta, float* c);

int main(int argc, char** argv) {
    using namespace clients;
    constexpr int order = 16;
    const Device device;
    auto* multiply = &cusolver_probe_multiply;
    if (argc > 1) {
        void* const library = dlopen(argv[1], RTLD_NOW);
        if (library == nullptr) return 1;
        multiply = reinterpret_cast<decltype(multiply)>(dlsym(library, "cusolver_probe_multiply"));
    }
    const std::vector<float> ones(order * order, 1.0F);
    const DeviceMemory a(ones);
    const DeviceMemory b(ones);
    const DeviceMemory c(ones);
    const auto* const left = static_cast<const float*>(a.address());
    const auto* const right = static_cast<const float*>(b.address());
    auto* const result = static_cast<float*>(c.address());
    const float one = 1;
    const float zero = 0;
    cublasHandle_t handle = nullptr;
    if (api().cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    if (api().cublasSetMathMode(handle, settings().math_mode) != CUBLAS_STATUS_SUCCESS) return 1;
    std::printf("program %d\n", api().cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one,
                                                     left, order, right, order, &zero, result, order));
    for (int i = 0; i < (argc > 2 ? std::atoi(argv[2]) : 1); ++i)
        std::printf("solver %d\n", multiply(handle, order, &one, left, right, &zero, result));
    api().cuCtxSynchronize();
    return api().cublasDestroy_v2(handle) == CUBLAS_STATUS_SUCCESS ? 0 : 1;
}
