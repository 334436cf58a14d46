// What the tests of the shim rely on: the stand-in faults, defers, rounds and refuses as it says.
//
// Each test runs in a process of its own (gtest_discover_tests), and sets the environment before the first CUDA call.

#include <cuda.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cublasXt.h>
#include <cublas_v2.h>

#include <cublasLt.h>

extern "C" {
// Not in the oldest headers; see cublaslt_algorithm.cpp.
cublasStatus_t cublasLtMatmulAlgoGetHeuristicForStream(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                                       cublasLtMatmulHeuristicResult_t[], int*, cudaStream_t);
// cublas.h excludes cublas_v2.h, which gives this name to the newer function.
cublasStatus_t cublasInit();
cublasStatus_t cublasGetError();
void legacy_sgemm(char, char, int, int, int, float, const float*, int, const float*, int, float, float*,
                  int) __asm__("cublasSgemm");
}

namespace {

constexpr float tf32_unit = 0x1p-10f;

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

    // 1×1 products show what the first operand was rounded to.
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

using StandInDeathTest = StandIn;

// ---- memory and order

TEST_F(StandInDeathTest, host_access_to_device_memory_faults) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    start();
    const volatile float* const address = upload<float>({1});
    EXPECT_DEATH(static_cast<void>(*address), "");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 256, 0u);
}

TEST_F(StandIn, work_waits_for_synchronisation_and_host_scalars_do_not) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream)), CUBLAS_STATUS_SUCCESS);
    float *a = upload<float>({2}), *b = upload<float>({3}), *c = upload<float>({-1});
    float alpha = 10;
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, b, 1, &zero, c, 1),
              CUBLAS_STATUS_SUCCESS);
    alpha = 1000;
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(download(c, 1)[0], -1);  // a copy does not wait for non-blocking streams
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 60);
}

TEST_F(StandIn, device_scalars_are_read_when_the_work_runs) {
    start();
    float *a = upload<float>({2}), *b = upload<float>({3}), *c = upload<float>({0});
    float *alpha = upload<float>({1}), *beta = upload<float>({0});
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream)), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, alpha, a, 1, b, 1, beta, c, 1),
              CUBLAS_STATUS_SUCCESS);
    const float later = 7;
    ASSERT_EQ(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(alpha), &later, sizeof later), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 42);
}

TEST_F(StandIn, the_default_stream_runs_between_the_work_of_blocking_streams) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    float *a = upload<float>({2}), *b = upload<float>({3}), *c = upload<float>({1});
    const auto add = [&](float alpha, float beta) {
        EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, b, 1, &beta, c, 1),
                  CUBLAS_STATUS_SUCCESS);
    };
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    add(1, 1);  // 7
    cublasSetStream(handle, nullptr);
    add(0, 10);  // 70
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    add(1, 1);  // 76
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 76);
}

TEST_F(StandIn, events_order_streams_and_measure_time) {
    start();
    CUstream first = nullptr, second = nullptr;
    ASSERT_EQ(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUevent begin = nullptr, done = nullptr;
    ASSERT_EQ(cuEventCreate(&begin, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&done, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    float *a = upload<float>({2}), *b = upload<float>({3}), *c = upload<float>({0});
    ASSERT_EQ(cuEventRecord(begin, first), CUDA_SUCCESS);
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(first));
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1);
    ASSERT_EQ(cuEventRecord(done, first), CUDA_SUCCESS);
    float milliseconds = -1;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, done), CUDA_ERROR_NOT_READY);
    ASSERT_EQ(cuStreamWaitEvent(second, done, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 6);
    ASSERT_EQ(cuEventElapsedTime(&milliseconds, begin, done), CUDA_SUCCESS);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cuEventDestroy(begin), CUDA_SUCCESS);
}

TEST_F(StandIn, a_captured_product_runs_once_per_launch_of_its_graph) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    float *a = upload<float>({2}), *b = upload<float>({3}), *c = upload<float>({1});
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ASSERT_EQ(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &one, c, 1),
              CUBLAS_STATUS_SUCCESS);
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 1);
    ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 13);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(StandIn, synchronising_a_capturing_stream_fails_and_invalidates_the_capture) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
}

TEST_F(StandIn, an_allocation_during_a_global_capture_is_refused) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(StandIn, an_operand_outside_its_allocation_breaks_the_context_for_good) {
    start();
    float *a = upload<float>({2}), *c = upload<float>({1});
    std::vector<float> host = {1};
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, host.data(), 1, &zero, c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(StandIn, devices_and_compute_capabilities_come_from_the_environment) {
    set("STAND_IN_DEVICES", "3");
    set("STAND_IN_COMPUTE_CAPABILITY", "8.0,7.5");
    start();
    int count = 0;
    ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    ASSERT_EQ(count, 3);
    const int expected[3][2] = {{8, 0}, {7, 5}, {7, 5}};
    for (int device = 0; device < 3; ++device) {
        int major = 0, minor = 0;
        cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
        cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
        EXPECT_EQ(major, expected[device][0]);
        EXPECT_EQ(minor, expected[device][1]);
    }
    char name[64];
    ASSERT_EQ(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
    EXPECT_STREQ(name, "fp32shim stand-in (no GPU)");
}

TEST_F(StandIn, kernels_none_does_nothing_and_succeeds) {
    set("STAND_IN_KERNELS", "none");
    start();
    EXPECT_EQ(through_sgemm(3), 0);
}

// ---- rounding

TEST_F(StandIn, the_default_mode_is_fp32) {
    start();
    EXPECT_EQ(through_sgemm(1 + 0x1p-23f), 1 + 0x1p-23f);
}

TEST_F(StandIn, tf32_mode_rounds_ties_away_from_zero) {
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 2), 1 + tf32_unit);
    EXPECT_EQ(through_sgemm(1 + 3 * tf32_unit / 2), 1 + 2 * tf32_unit);
    EXPECT_EQ(through_sgemm(-1 - tf32_unit / 2), -1 - tf32_unit);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 4), 1);
}

TEST_F(StandIn, tf32_mode_rounds_ties_to_even_where_that_is_assumed) {
    set("STAND_IN_ASSUME", "tf32_ties=even");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 2), 1);
    EXPECT_EQ(through_sgemm(1 + 3 * tf32_unit / 2), 1 + 2 * tf32_unit);
}

TEST_F(StandIn, nvidia_tf32_override_turns_tf32_off_and_not_bf16) {
    set("NVIDIA_TF32_OVERRIDE", "0");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + 0x1p-20f), 1 + 0x1p-20f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_16BF), 1);
}

TEST_F(StandIn, fast_types_are_not_used_where_they_are_ignored) {
    set("STAND_IN_FAST", "ignored");
    start();
    for (const auto type : {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32})
        EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, type), 1 + 0x1p-20f);
}

TEST_F(StandIn, compute_types_round_to_the_formats_they_name) {
    start();
    const float value = 1 + 0x1p-7f + 0x1p-10f + 0x1p-20f;
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F), value);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_PEDANTIC), value);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_FAST_TF32), 1 + 0x1p-7f + 0x1p-10f);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_FAST_16BF), 1 + 0x1p-7f);
    EXPECT_EQ(through_gemm_ex(70000, CUBLAS_COMPUTE_32F_FAST_16F), std::numeric_limits<float>::infinity());
    EXPECT_EQ(through_gemm_ex(0x1p-24f, CUBLAS_COMPUTE_32F_FAST_16F), 0x1p-24f);
    EXPECT_EQ(through_gemm_ex(0x1p-26f, CUBLAS_COMPUTE_32F_FAST_16F), 0);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP), 1);
}

TEST_F(StandIn, compute_32f_on_a_tf32_handle_follows_its_row) {
    set("STAND_IN_ASSUME", "compute_32f_on_tf32_handle=no");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F), 1 + 0x1p-20f);
    EXPECT_EQ(through_sgemm(1 + 0x1p-20f), 1);
}

TEST_F(StandIn, older_devices_compute_in_fp32) {
    set("STAND_IN_COMPUTE_CAPABILITY", "7.5");
    start();
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_TF32), 1 + 0x1p-20f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_16BF), 1 + 0x1p-20f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_16F), 1);
}

TEST_F(StandIn, bf16x9_loses_only_what_three_bfloat16_cannot_hold) {
    set("STAND_IN_COMPUTE_CAPABILITY", "10.0");
    start();
    const float tiny = 0x1p-120f * (1 + 0x1p-23f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-23f, CUBLAS_COMPUTE_32F_EMULATED_16BFX9), 1 + 0x1p-23f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F_EMULATED_16BFX9), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F), tiny);
}

TEST_F(StandIn, emulation_by_environment_reaches_default_math_and_not_pedantic) {
    set("STAND_IN_COMPUTE_CAPABILITY", "10.3");
    set("CUBLAS_EMULATE_SINGLE_PRECISION", "1");
    start();
    const float tiny = 0x1p-120f * (1 + 0x1p-23f);
    EXPECT_EQ(through_sgemm(tiny), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F_PEDANTIC), tiny);
}

TEST_F(StandIn, bf16x9_is_refused_on_devices_without_it) {
    start();
    through_gemm_ex(1, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUBLAS_GEMM_DEFAULT, CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(StandIn, float64_and_halves_are_left_as_they_are_in_tf32_mode) {
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    const double alpha = 1, beta = 0, value = 1 + 0x1p-50;
    double *a = upload<double>({value}), *b = upload<double>({1}), *c = upload<double>({0});
    ASSERT_EQ(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, b, 1, &beta, c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], value);
    std::uint16_t *ah = upload<std::uint16_t>({0x3c01}), *bh = upload<std::uint16_t>({0x3c00});
    float* cf = upload<float>({0});
    ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, ah, CUDA_R_16F, 1, bh, CUDA_R_16F, 1,
                           &zero, cf, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(cf, 1)[0], 1 + 0x1p-10f);
}

// ---- level 3

TEST_F(StandIn, trsm_undoes_trmm_on_either_side) {
    start();
    const int n = 5;
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; ++i) {
        a[i] = std::sin(1.0f + i) + (i % (n + 1) == 0 ? 4.0f : 0.0f);
        b[i] = std::cos(2.0f * i);
    }
    float *da = upload(a), *db = upload(b), *dc = upload(b);
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
        for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
            for (const auto trans : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                ASSERT_EQ(
                    cublasStrmm(handle, side, fill, trans, CUBLAS_DIAG_NON_UNIT, n, n, &one, da, n, db, n, dc, n),
                    CUBLAS_STATUS_SUCCESS);
                ASSERT_EQ(cublasStrsm(handle, side, fill, trans, CUBLAS_DIAG_NON_UNIT, n, n, &one, da, n, dc, n),
                          CUBLAS_STATUS_SUCCESS);
                const auto solved = download(dc, b.size());
                for (int i = 0; i < n * n; ++i) EXPECT_NEAR(solved[i], b[i], 1e-5) << side << fill << trans;
            }
        }
    }
}

TEST_F(StandIn, syrk_writes_one_triangle_of_the_product_that_gemm_gives) {
    start();
    const int n = 4, k = 3;
    std::vector<float> a(n * k), c(n * n, 9);
    std::iota(a.begin(), a.end(), 1.0f);
    float *da = upload(a), *dc = upload(c), *full = upload(c);
    ASSERT_EQ(cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one, da, n, &zero, dc, n),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, k, &one, da, n, da, n, &zero, full, n),
              CUBLAS_STATUS_SUCCESS);
    const auto triangle = download(dc, c.size()), product = download(full, c.size());
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) EXPECT_EQ(triangle[j * n + i], i >= j ? product[j * n + i] : 9);
}

TEST_F(StandIn, cherk_conjugates_and_leaves_a_real_diagonal) {
    start();
    const cuComplex i_plus = {0, 1};
    cuComplex *a = upload<cuComplex>({{1, 2}, i_plus}), *c = upload<cuComplex>({{0, 5}, {0, 0}, {0, 0}, {0, 5}});
    ASSERT_EQ(cublasCherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 1, &one, a, 2, &one, c, 2),
              CUBLAS_STATUS_SUCCESS);
    const auto result = download(c, 4);
    EXPECT_EQ(result[0].x, 5);
    EXPECT_EQ(result[0].y, 0);
    // i * conj(1 + 2i)
    EXPECT_EQ(result[1].x, 2);
    EXPECT_EQ(result[1].y, 1);
}

TEST_F(StandIn, xt_multiplies_host_memory_and_legacy_reports_errors_afterwards) {
    start();
    cublasXtHandle_t xt = nullptr;
    ASSERT_EQ(cublasXtCreate(&xt), CUBLAS_STATUS_SUCCESS);
    int device = 0;
    ASSERT_EQ(cublasXtDeviceSelect(xt, 1, &device), CUBLAS_STATUS_SUCCESS);
    float a = 2, b = 3, c = 0;
    ASSERT_EQ(cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(c, 6);
    EXPECT_EQ(cublasXtDestroy(xt), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasXtDestroy(xt), CUBLAS_STATUS_NOT_INITIALIZED);

    float *da = upload<float>({2}), *dc = upload<float>({0});
    legacy_sgemm('N', 'N', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_NOT_INITIALIZED);
    ASSERT_EQ(cublasInit(), CUBLAS_STATUS_SUCCESS);
    legacy_sgemm('?', 'N', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
    legacy_sgemm('n', 'T', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(dc, 1)[0], 4);
}

// ---- refusals

TEST_F(StandIn, arguments_that_the_reference_forbids_are_refused) {
    start();
    float* a = upload<float>(std::vector<float>(16));
    const auto call = [&](cublasHandle_t h, int trans, int m, int lda) {
        return cublasSgemm(h, static_cast<cublasOperation_t>(trans), CUBLAS_OP_N, m, 2, 2, &one, a, lda, a, 2, &zero,
                           a, 4);
    };
    EXPECT_EQ(call(nullptr, CUBLAS_OP_N, 2, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(call(handle, 17, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, -1, 2), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 2, 1), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 0, 2), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSetMathMode(handle, static_cast<cublasMath_t>(7)), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a, CUDA_R_16F, 1, &zero,
                           a, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1, a, CUDA_R_32F, 1, &zero,
                           a, CUDA_R_32F, 1, static_cast<cublasComputeType_t>(1234), CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 2, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(StandIn, grouped_batches_take_three_compute_types_and_host_scalars) {
    start();
    float *a = upload<float>({2, 0, 0, 0, 3}), *c = upload<float>({0, 0, 0, 0, 0});
    float** const as = upload<float*>({a, a + 4});
    float** const cs = upload<float*>({c, c + 4});
    const cublasOperation_t trans[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    const int ones[] = {1, 1};
    const float alphas[] = {1, 10}, betas[] = {0, 0};
    const auto call = [&](cublasComputeType_t type) {
        return cublasGemmGroupedBatchedEx(handle, trans, trans, ones, ones, ones, alphas, (const void* const*)as,
                                          CUDA_R_32F, ones, (const void* const*)as, CUDA_R_32F, ones, betas,
                                          (void* const*)cs, CUDA_R_32F, ones, 2, ones, type);
    };
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
    const auto result = download(c, 5);
    EXPECT_EQ(result[0], 4);
    EXPECT_EQ(result[4], 90);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F_FAST_TF32), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F_FAST_16BF), CUBLAS_STATUS_NOT_SUPPORTED);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(StandIn, an_unaligned_pointer_in_an_array_is_a_misaligned_access_in_fast_modes_only) {
    start();
    float *a = upload<float>({2, 3}), *c = upload<float>({0});
    float** const as = upload<float*>({a + 1});
    float** const cs = upload<float*>({c});
    const auto call = [&] {
        return cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, as, 1, as, 1, &zero, cs, 1, 1);
    };
    ASSERT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 9);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    ASSERT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
    EXPECT_EQ(call(), CUBLAS_STATUS_EXECUTION_FAILED);
}

// ---- cublasLt

class StandInLt : public StandIn {
  protected:
    void start_lt(cublasComputeType_t type) {
        start();
        ASSERT_EQ(cublasLtMatmulDescCreate(&descriptor, type, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    }
    void TearDown() override {
        cublasLtMatmulPreferenceDestroy(preference);
        cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(descriptor);
    }
    void set_compute_type(cublasComputeType_t type) {
        const std::int32_t value = type;
        ASSERT_EQ(cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> heuristic() {
        std::vector<cublasLtMatmulHeuristicResult_t> results(8);
        int count = 0;
        if (cublasLtMatmulAlgoGetHeuristicForStream(lt(), descriptor, layout, layout, layout, layout, preference, 8,
                                                    results.data(), &count, nullptr) != CUBLAS_STATUS_SUCCESS)
            count = 0;
        results.resize(static_cast<std::size_t>(count));
        return results;
    }
    static std::uint64_t flags(const cublasLtMatmulAlgo_t& algorithm) {
        std::uint64_t value = 0;
        std::size_t written = 0;
        EXPECT_EQ(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &value,
                                                    sizeof value, &written),
                  CUBLAS_STATUS_SUCCESS);
        return value;
    }
    cublasStatus_t matmul(const float* a, float* d, const cublasLtMatmulAlgo_t* algorithm) {
        const float* const b = upload<float>({1});
        return cublasLtMatmul(lt(), descriptor, &one, a, layout, b, layout, &zero, d, layout, d, layout, algorithm,
                              nullptr, 0, nullptr);
    }
    // As PyTorch does it.
    cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle); }

    cublasLtMatmulDesc_t descriptor = nullptr;
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
};

TEST_F(StandInLt, an_algorithm_says_what_it_does_and_does_it) {
    start_lt(CUBLAS_COMPUTE_32F_FAST_TF32);
    const auto results = heuristic();
    ASSERT_EQ(results.size(), 3u);  // two on tensor cores without a workspace, one without tensor cores
    const float value = 1 + 0x1p-20f;
    for (const auto& result : results) {
        float *a = upload<float>({value}), *d = upload<float>({0});
        ASSERT_EQ(matmul(a, d, &result.algo), CUBLAS_STATUS_SUCCESS);
        const bool tf32 = (flags(result.algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) != 0;
        EXPECT_EQ(download(d, 1)[0], tf32 ? 1 : value);
    }
    EXPECT_NE(flags(results[0].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, 0u);
    EXPECT_NE(flags(results[2].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0u);
}

TEST_F(StandInLt, an_algorithm_of_another_compute_type_is_refused) {
    start_lt(CUBLAS_COMPUTE_32F);
    const auto results = heuristic();
    ASSERT_EQ(results.size(), 1u);
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_TF32);
    float *a = upload<float>({1}), *d = upload<float>({0});
    EXPECT_EQ(matmul(a, d, &results[0].algo), CUBLAS_STATUS_INVALID_VALUE);
    cublasLtMatmulHeuristicResult_t checked{};
    EXPECT_EQ(cublasLtMatmulAlgoCheck(lt(), descriptor, layout, layout, layout, layout, &results[0].algo, &checked),
              CUBLAS_STATUS_INVALID_VALUE);
    set_compute_type(CUBLAS_COMPUTE_32F);
    EXPECT_EQ(matmul(a, d, &results[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(matmul(a, d, nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST_F(StandInLt, preferences_filter_by_workspace_alignment_and_implementation) {
    start_lt(CUBLAS_COMPUTE_32F_FAST_16BF);
    const std::uint64_t workspace = 1 << 20;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                         sizeof workspace);
    const auto with_workspace = heuristic();
    ASSERT_EQ(with_workspace.size(), 4u);
    EXPECT_GT(with_workspace[0].workspaceSize, 0u);
    float *a = upload<float>({1, 2}), *d = upload<float>({0});
    EXPECT_EQ(matmul(a, d, &with_workspace[0].algo), CUBLAS_STATUS_INVALID_VALUE);  // it gets none

    const std::uint32_t alignment = 4;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                                         sizeof alignment);
    EXPECT_EQ(heuristic().size(), 2u);
    EXPECT_EQ(matmul(a + 1, d, &heuristic()[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(matmul(a + 1, d, &with_workspace[1].algo), CUBLAS_STATUS_NOT_SUPPORTED);

    const std::uint64_t mask = ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK};
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, sizeof mask);
    const auto without_tensor_cores = heuristic();
    ASSERT_EQ(without_tensor_cores.size(), 1u);
    EXPECT_NE(flags(without_tensor_cores[0].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0u);
}

TEST_F(StandInLt, a_copied_descriptor_keeps_its_epilogue_under_another_compute_type) {
    start_lt(CUBLAS_COMPUTE_32F);
    float* const bias = upload<float>({-10});
    const std::uint32_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulDescOpaque_t copy = *descriptor;
    cublasLtMatmulDesc_t const original = std::exchange(descriptor, &copy);
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_TF32);
    float *a = upload<float>({3}), *b = upload<float>({11 + 0x1p-19f}), *d = upload<float>({5});
    EXPECT_EQ(matmul(a, d, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], 0);
    EXPECT_EQ(matmul(b, d, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], 1);
    descriptor = original;
}

TEST_F(StandInLt, descriptors_are_initialised_in_56_to_256_bytes) {
    start();
    alignas(16) std::byte space[256];
    auto* const small = reinterpret_cast<cublasLtMatmulDesc_t>(space);
    EXPECT_EQ(cublasLtMatmulDescInit_internal(small, 55, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_ALLOC_FAILED);
    std::memset(space, 0x5a, sizeof space);
    ASSERT_EQ(cublasLtMatmulDescInit_internal(small, 56, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(space[56], std::byte{0x5a});
    const std::int32_t trans = CUBLAS_OP_T;
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, &trans, sizeof trans),
              CUBLAS_STATUS_SUCCESS);
    const void* const scale = nullptr;
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale),
              CUBLAS_STATUS_INVALID_VALUE);
    std::size_t needed = 0;
    EXPECT_EQ(cublasLtMatmulDescGetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 0, &needed),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(needed, sizeof trans);
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, &trans, 3),
              CUBLAS_STATUS_INVALID_VALUE);
}

// ---- threads

TEST_F(StandIn, threads_with_handles_of_their_own_do_not_mix_modes) {
    start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            cuCtxSetCurrent(context);
            cublasHandle_t own = nullptr;
            ASSERT_EQ(cublasCreate(&own), CUBLAS_STATUS_SUCCESS);
            CUstream stream = nullptr;
            ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
            cublasSetStream(own, reinterpret_cast<cudaStream_t>(stream));
            const bool tf32 = t % 2 == 0;
            cublasSetMathMode(own, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
            const float value = 1 + 0x1p-20f;
            float *a = upload<float>({value}), *b = upload<float>({1}), *c = upload<float>({0});
            for (int i = 0; i < 50; ++i) {
                cublasSgemm(own, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1);
                ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
                ASSERT_EQ(download(c, 1)[0], tf32 ? 1 : value);
            }
            cublasDestroy(own);
        });
    }
    for (auto& thread : threads) thread.join();
}

}  // namespace
