// Fixture of the stand-in's own tests: a context, a handle, and device memory.
//
// Each test runs in a separate process (gtest_discover_tests), and sets the environment before its first CUDA call.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include <cublas_v2.h>

class StandIn : public testing::Test {
  protected:
    static void set(const char* name, const char* value) { setenv(name, value, 1); }

    void start() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    }

    template <class T>
    static T* upload(const std::vector<T>& values) {
        CUdeviceptr address = 0;
        EXPECT_EQ(cuMemAlloc(&address, values.size() * sizeof(T)), CUDA_SUCCESS);
        EXPECT_EQ(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
        return reinterpret_cast<T*>(address);
    }
    template <class T>
    static std::vector<T> download(const T* address, std::size_t count) {
        std::vector<T> values(count);
        EXPECT_EQ(cuMemcpyDtoH(values.data(), reinterpret_cast<CUdeviceptr>(address), count * sizeof(T)),
                  CUDA_SUCCESS);
        return values;
    }

    // A 1×1 product shows how the first operand was rounded.
    float through_sgemm(float value) {
        float *a = upload<float>({value}), *b = upload<float>({1}), *c = upload<float>({0});
        EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1),
                  CUBLAS_STATUS_SUCCESS);
        return download(c, 1)[0];
    }
    float through_gemm_ex(float value, cublasComputeType_t type, cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT,
                          cublasStatus_t expected = CUBLAS_STATUS_SUCCESS) {
        float *a = upload<float>({value}), *b = upload<float>({1}), *c = upload<float>({0});
        EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1, b, CUDA_R_32F, 1,
                               &zero, c, CUDA_R_32F, 1, type, algorithm),
                  expected);
        return download(c, 1)[0];
    }

    const float one = 1, zero = 0;
    CUcontext context = nullptr;
    cublasHandle_t handle = nullptr;
};
