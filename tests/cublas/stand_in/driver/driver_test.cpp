// Tests that the stand-in of the driver faults, defers and orders work as documented.

#include <future>
#include <thread>
#include <vector>

#include "driver/driver_private.hpp"
#include "stand_in_fixture.hpp"

namespace {

using StandInDeathTest = StandIn;

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

TEST_F(StandIn, a_stream_is_not_idle_while_another_thread_runs_its_last_work) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    std::promise<void> begun;
    std::promise<void> may_end;
    ASSERT_EQ(stand_in_launch(0, stream,
                              [&begun, end = may_end.get_future().share()] {
                                  begun.set_value();
                                  end.wait();
                                  return CUDA_SUCCESS;
                              }),
              CUDA_SUCCESS);
    std::thread other([&] {
        cuCtxSetCurrent(context);
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    });
    begun.get_future().wait();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    may_end.set_value();
    other.join();
    EXPECT_EQ(cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST_F(StandIn, a_stream_that_is_asked_again_and_again_becomes_idle) {
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_EQ(cuMemAllocAsync(&address, 8, stream), CUDA_SUCCESS);
    const std::vector<int> sent = {1, 2};
    std::vector<int> back = {0, 0};
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = sent.data();
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice = address;
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 4;
    copy.Height = 2;
    ASSERT_EQ(cuMemcpy2DAsync(&copy, stream), CUDA_SUCCESS);
    copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = back.data();
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 4;
    copy.Height = 2;
    ASSERT_EQ(cuMemcpy2DAsync(&copy, stream), CUDA_SUCCESS);
    EXPECT_EQ(back, (std::vector<int>{0, 0}));
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) continue;
    EXPECT_EQ(back, sent);
    copy.Height = 1 << 20;  // the copy goes beyond the allocation
    EXPECT_EQ(cuMemcpy2DAsync(&copy, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFreeAsync(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_F(StandIn, only_a_relaxed_thread_may_allocate_while_another_stream_is_captured) {
    start();
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUdeviceptr address = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(cuMemAlloc(&address, 8), CUDA_SUCCESS);
    ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocAsync(&address, 8, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
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
    add(1, 1);  // expects 7
    cublasSetStream(handle, nullptr);
    add(0, 10);  // expects 70
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    add(1, 1);  // expects 76
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

}  // namespace
