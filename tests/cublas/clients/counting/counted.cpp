// Tests races between calls that rarely meet. The counting libcublas is so fast that they often meet here. The tests
// check the calls that reach the library, not numbers. Variables, besides those of settings.hpp:
//
//   CLIENT_POLICIES=FILE:FILE    policies that are in force in turn
//   CLIENT_HANDLES=N             number of handles that threads race for
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "../decision_log.hpp"
#include "../device.hpp"
#include "../settings.hpp"
#include "../shim_api.hpp"
#include "counting_cublas.h"

namespace clients {
namespace {

class Counted : public testing::Test {
  protected:
    void SetUp() override {
        static const Device device;
        device_ = &device;
        ASSERT_EQ(api().cublasCreate_v2(&handle_), CUBLAS_STATUS_SUCCESS);
    }
    void TearDown() override { api().cublasDestroy_v2(handle_); }

    static CountedCalls& calls() { return *static_cast<CountedCalls*>(look_up(Library::cublas, "counted_calls")); }
    static long long products() { return __atomic_load_n(&calls().products, __ATOMIC_RELAXED); }
    static long long below_float32() { return __atomic_load_n(&calls().below_float32, __ATOMIC_RELAXED); }

    void set_math_mode(cublasMath_t mode) const {
        EXPECT_EQ(api().cublasSetMathMode(handle_, mode), CUBLAS_STATUS_SUCCESS);
    }

    void gemm(cublasStatus_t expected = CUBLAS_STATUS_SUCCESS) const {
        EXPECT_EQ(api().cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one, matrix, order,
                                       matrix, order, &one, result_, order),
                  expected);
    }
    void gemm_ex() const {
        EXPECT_EQ(api().cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one, matrix, CUDA_R_32F,
                                     order, matrix, CUDA_R_32F, order, &one, result_, CUDA_R_32F, order,
                                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                  CUBLAS_STATUS_SUCCESS);
    }
    void syrk() const {
        EXPECT_EQ(api().cublasSsyrk_v2(handle_, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, order, order, &one, matrix,
                                       order, &one, result_, order),
                  CUBLAS_STATUS_SUCCESS);
    }

    static constexpr int order = 2;
    static constexpr float one = 1, matrix[order * order] = {};
    mutable float result_[order * order] = {};
    const Device* device_ = nullptr;
    cublasHandle_t handle_ = nullptr;
};

TEST_F(Counted, ProductsAreFloat32WhileAnotherThreadSetsTheMathMode) {
    if (settings().expect != "fp32") GTEST_SKIP() << "the policy lets products follow the mode";
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> has_begun = false;
        std::atomic<bool> done = false;
        std::thread multiplier([&] {
            device_->make_current();
            while (!done) {
                gemm();
                syrk();
                gemm_ex();
                has_begun = true;
            }
        });
        while (!has_begun) std::this_thread::yield();
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (std::chrono::steady_clock::now() < end) {
            set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
            set_math_mode(CUBLAS_DEFAULT_MATH);
        }
        set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
        done = true;
        multiplier.join();
        ASSERT_EQ(below_float32(), 0) << "while the mode was being set, round " << round;
        // Knowledge that was gained during the race must not remain.
        for (int i = 0; i < 20; ++i) {
            gemm();
            syrk();
            gemm_ex();
        }
        ASSERT_EQ(below_float32(), 0) << "on one thread, afterwards, round " << round;
    }
    EXPECT_GT(products(), 1000);
}

TEST_F(Counted, ProductsAreFloat32WhereThreadsMeetAnUnseenHandleAtOnce) {
    if (settings().expect != "fp32") GTEST_SKIP() << "the policy lets products follow the mode";
    const char* const variable = std::getenv("CLIENT_HANDLES");
    const int count = variable == nullptr ? 300 : std::atoi(variable);
    // The library takes these for handles, although no call has created them.
    std::vector<CountingHandle> handles(static_cast<std::size_t>(count), {CUBLAS_TF32_TENSOR_OP_MATH});
    std::atomic<int> arrived = 0;
    const auto multiply = [&] {
        device_->make_current();
        float result[order * order] = {};
        for (int i = 0; i < count; ++i) {
            ++arrived;
            while (arrived.load() < 2 * (i + 1)) std::this_thread::yield();
            api().cublasSsyrk_v2(reinterpret_cast<cublasHandle_t>(&handles[static_cast<std::size_t>(i)]),
                                 CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, order, order, &one, matrix, order, &one, result,
                                 order);
        }
    };
    std::thread other(multiply);
    multiply();
    other.join();
    EXPECT_EQ(products(), 2LL * count);
    EXPECT_EQ(below_float32(), 0);
}

TEST_F(Counted, ProductsWhoseComputeTypeIsRefusedAreRaisedByTheMathMode) {
    if (settings().expect != "fp32") GTEST_SKIP() << "the policy has nothing to raise";
    set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
    for (int i = 1; i <= 3; ++i) {
        decision_log().read_new();
        gemm();
        EXPECT_EQ(products(), i);
        EXPECT_EQ(below_float32(), 0);
        EXPECT_EQ(calls().last_compute_type, 0) << "the library takes none";
        for (const auto& decision : decision_log().read_new()) {
            EXPECT_EQ(decision["applied"], "fp32") << decision.dump();
            EXPECT_EQ(decision["how"], "math_mode") << decision.dump();
            EXPECT_EQ(decision["status"], 0) << decision.dump();
        }
    }
    cublasMath_t mode{};
    EXPECT_EQ(api().cublasGetMathMode(handle_, &mode), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(mode, CUBLAS_TF32_TENSOR_OP_MATH);
}

TEST_F(Counted, ProductsMeetChangesOfTheSettings) {
    const char* const policies = std::getenv("CLIENT_POLICIES");
    const char* const in_force = std::getenv("FP32_MATMUL_POLICY");
    const ShimApi shim = shim_api();
    if (!shim.is_there() || policies == nullptr || in_force == nullptr) GTEST_SKIP() << "nothing changes";
    const std::string names = policies;
    const std::string files[] = {names.substr(0, names.find(':')), names.substr(names.find(':') + 1)};
    const std::string precisions[] = {"highest", "high"};
    std::atomic<bool> done = false;
    const auto multiply = [&] {
        device_->make_current();
        while (!done) {
            gemm();
            syrk();
        }
    };
    std::thread others[] = {std::thread(multiply), std::thread(multiply), std::thread(multiply)};
    for (std::size_t i = 0; i < 300; ++i) {
        // Replaces the file by renaming, as an editor does: readers see either the old file or the new one.
        const std::string fresh = std::string(in_force) + ".new";
        std::filesystem::copy_file(files[i % 2], fresh);
        std::filesystem::rename(fresh, in_force);
        EXPECT_EQ(shim.reload_policy(), 0);
        EXPECT_EQ(shim.set_precision(precisions[i / 2 % 2].c_str()), 0);
    }
    done = true;
    for (std::thread& other : others) other.join();
    shim.set_precision(nullptr);
}

/// Reloads, so that the other policy is in force when the function returns.
int fail_under_another_policy() {
    std::filesystem::copy_file(std::getenv("CLIENT_POLICIES"), std::getenv("FP32_MATMUL_POLICY"),
                               std::filesystem::copy_options::overwrite_existing);
    return shim_api().reload_policy() == 0 ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

TEST_F(Counted, AProductFailsWhileThePolicyIsReadAgain) {
    if (!shim_api().is_there() || std::getenv("CLIENT_POLICIES") == nullptr) GTEST_SKIP() << "nothing changes";
    for (int i = 0; i < 5; ++i) gemm();
    calls().inside = fail_under_another_policy;
    gemm(CUBLAS_STATUS_EXECUTION_FAILED);
    calls().inside = nullptr;
    gemm();
}

int be_cancelled() {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return CUBLAS_STATUS_SUCCESS;
}

TEST_F(Counted, AThreadThatIsCancelledWithinAProductLeavesTheHandleToOthers) {
    set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
    calls().inside = be_cancelled;
    pthread_t thread{};
    const auto multiply = [](void* test) -> void* {
        const auto& self = *static_cast<decltype(this)>(test);
        self.device_->make_current();
        self.syrk();
        pthread_testcancel();  // a cancellation that waited for the end of the product takes effect here
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, nullptr, multiply, this), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    calls().inside = nullptr;
    syrk();
    cublasMath_t mode{};
    EXPECT_EQ(api().cublasGetMathMode(handle_, &mode), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(mode, CUBLAS_TF32_TENSOR_OP_MATH);
}

}  // namespace
}  // namespace clients
