// Tests that a program sees a handle's state as without the shim, also with several threads, devices and streams at
// once. Variables, besides those of settings.hpp:
//
//   CLIENT_DEFERRED=1    the library runs nothing before some call waits for it, as the stand-in does
//   CLIENT_RULES=1       the policy has gemm3m in TF32 and everything else in float32
//   CLIENT_UNSEEN=FILE   a library that makes handles and sets math modes (unseen_setter.c)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "decision_log.hpp"
#include "settings.hpp"
#include "shim_api.hpp"
#include "simple_product.hpp"

namespace clients {
namespace {

class Handles : public testing::Test {
  protected:
    static const Device& device() {
        static const Device first;
        return first;
    }

    void SetUp() override {
        device();
        handle_ = create();
    }
    void TearDown() override { api().cublasDestroy_v2(handle_); }

    static cublasHandle_t create() {
        cublasHandle_t handle = nullptr;
        EXPECT_EQ(api().cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
        return handle;
    }

    static cublasMath_t math_mode(cublasHandle_t handle) {
        cublasMath_t mode{};
        EXPECT_EQ(api().cublasGetMathMode(handle, &mode), CUBLAS_STATUS_SUCCESS);
        return mode;
    }

    static bool has_fast_formats() { return std::stod(device().compute_capability()) >= 8; }

    /// Expects a result in exactly the format `wished`. Float32 is also right if the device has no other format, or
    /// if the library may leave fast formats unused.
    static void expect_format(const Measured& measured, Format wished) {
        if (wished == Format::fp32 || !has_fast_formats()) {
            EXPECT_EQ(measured.format, Format::fp32);
        } else if (settings().exact) {
            EXPECT_EQ(measured.format, wished);
        } else {
            EXPECT_TRUE(measured.format == wished || measured.format == Format::fp32);
        }
    }

    cublasHandle_t handle_ = nullptr;
};

constexpr int all_modes[] = {CUBLAS_DEFAULT_MATH,
                             CUBLAS_TENSOR_OP_MATH,
                             CUBLAS_PEDANTIC_MATH,
                             CUBLAS_TF32_TENSOR_OP_MATH,
                             CUBLAS_FP32_EMULATED_BF16X9_MATH,
                             CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH,
                             CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
                             CUBLAS_PEDANTIC_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
                             CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION};

TEST_F(Handles, ShowTheProgramItsOwnMathMode) {
    const SimpleProduct products[] = {SimpleProduct(Kind::sgemm), SimpleProduct(Kind::gemm_ex),
                                      SimpleProduct(Kind::cgemm3m)};
    EXPECT_EQ(math_mode(handle_), CUBLAS_DEFAULT_MATH);
    for (int mode : all_modes) {
        if (api().cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode)) != CUBLAS_STATUS_SUCCESS) continue;
        EXPECT_EQ(math_mode(handle_), mode);
        for (const SimpleProduct& product : products) {
            EXPECT_EQ(product.multiply(handle_), CUBLAS_STATUS_SUCCESS);
            EXPECT_EQ(math_mode(handle_), mode);
        }
    }
}

TEST_F(Handles, ShowTheirMathModeToAnotherThreadWhileTheyMultiply) {
    const SimpleProduct gemm(Kind::sgemm);
    const SimpleProduct gemm3m(Kind::cgemm3m);
    for (int mode : {CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH}) {
        ASSERT_EQ(api().cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode)), CUBLAS_STATUS_SUCCESS);
        std::atomic<bool> done = false;
        std::thread reader([&] {
            device().make_current();
            while (!done) {
                EXPECT_EQ(math_mode(handle_), mode);
                // Lets other threads run: this one must not hold the lock all the time.
                std::this_thread::yield();
            }
        });
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(gemm3m.multiply(handle_), CUBLAS_STATUS_SUCCESS);
            EXPECT_EQ(gemm.multiply(handle_), CUBLAS_STATUS_SUCCESS);
        }
        done = true;
        reader.join();
    }
}

TEST_F(Handles, TakeAMathModeThatAnotherThreadSets) {
    // The handle has the mode that was set last, whatever happened in between.
    const SimpleProduct gemm3m(Kind::cgemm3m);
    std::atomic<bool> done = false;
    std::thread multiplier([&] {
        device().make_current();
        while (!done) EXPECT_EQ(gemm3m.multiply(handle_), CUBLAS_STATUS_SUCCESS);
    });
    for (int i = 0; i < 100; ++i) {
        const auto mode = i % 2 == 0 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH;
        EXPECT_EQ(api().cublasSetMathMode(handle_, mode), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(math_mode(handle_), mode);
    }
    done = true;
    multiplier.join();
}

TEST_F(Handles, RunInFloat32WhileAnotherThreadSetsTheirMathMode) {
    if (settings().expect != "fp32") GTEST_SKIP() << "the policy lets products follow the mode";
    const SimpleProduct products[] = {SimpleProduct(Kind::sgemm), SimpleProduct(Kind::cgemm3m),
                                      SimpleProduct(Kind::gemm_ex)};
    const auto multiply = [&] {
        for (const SimpleProduct& product : products) {
            product.clear();
            EXPECT_EQ(product.multiply(handle_), CUBLAS_STATUS_SUCCESS);
            EXPECT_EQ(product.result().format, Format::fp32);
        }
    };
    std::atomic<bool> done = false;
    std::thread setter([&] {
        device().make_current();
        do {
            for (auto mode : {CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH})
                EXPECT_EQ(api().cublasSetMathMode(handle_, mode), CUBLAS_STATUS_SUCCESS);
        } while (!done);
    });
    for (int i = 0; i < 250; ++i) multiply();
    done = true;
    setter.join();
    EXPECT_EQ(math_mode(handle_), CUBLAS_TF32_TENSOR_OP_MATH);
    for (int i = 0; i < 3; ++i) multiply();
}

/// A library whose calls bypass the shim; empty if the environment names none.
struct Unseen {
    cublasStatus_t (*create)(cublasHandle_t*) = nullptr;
    cublasStatus_t (*set_math_mode)(cublasHandle_t, cublasMath_t) = nullptr;

    Unseen() {
        const char* const file = std::getenv("CLIENT_UNSEEN");
        if (file == nullptr) return;
        void* const library = dlopen(file, RTLD_NOW | RTLD_DEEPBIND);
        if (library == nullptr) {
            ADD_FAILURE() << dlerror();
            return;
        }
        create = reinterpret_cast<decltype(create)>(dlsym(library, "unseen_create"));
        set_math_mode = reinterpret_cast<decltype(set_math_mode)>(dlsym(library, "unseen_set_math_mode"));
    }
    bool is_there() const { return create != nullptr && set_math_mode != nullptr; }
};

TEST_F(Handles, FirstSeenWithoutAContextAreOnTheDeviceOfTheirFirstProduct) {
    const Unseen unseen;
    if (!unseen.is_there()) GTEST_SKIP() << "nothing is made past the shim";
    cublasHandle_t handle = nullptr;
    ASSERT_EQ(unseen.create(&handle), CUBLAS_STATUS_SUCCESS);
    require(api().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent");
    for (int i = 0; i < 50; ++i) EXPECT_EQ(math_mode(handle), CUBLAS_DEFAULT_MATH);
    device().make_current();
    const SimpleProduct product(Kind::sgemm);
    const bool is_lowered = has_fast_formats() && settings().expect && settings().expect != "native";
    for (int i = 0; i < 3; ++i) {
        product.clear();
        decision_log().read_new();
        EXPECT_EQ(product.multiply(handle), CUBLAS_STATUS_SUCCESS);
        if (is_lowered) {
            EXPECT_EQ(name_of(product.result().format), settings().used(*settings().expect));
        }
        if (!DecisionLog::is_there()) continue;
        const auto decisions = decision_log().read_new();
        ASSERT_EQ(decisions.size(), 1U);
        EXPECT_EQ(decisions.front()["compute_capability"], device().compute_capability());
    }
}

TEST_F(Handles, HaveAMathModeThatWasSetPastTheShim) {
    const Unseen unseen;
    if (!unseen.is_there()) GTEST_SKIP() << "no library sets one";
    const auto set_unseen = unseen.set_math_mode;
    const SimpleProduct products[] = {SimpleProduct(Kind::cgemm3m), SimpleProduct(Kind::sgemm),
                                      SimpleProduct(Kind::gemm_ex)};
    const bool is_wished = settings().expect && *settings().expect != "native";
    for (cublasMath_t mode : {CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_DEFAULT_MATH,
                              CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_DEFAULT_MATH}) {
        ASSERT_EQ(set_unseen(handle_, mode), CUBLAS_STATUS_SUCCESS);
        for (const SimpleProduct& product : products) {
            SCOPED_TRACE("mode " + std::to_string(mode));
            product.clear();
            decision_log().read_new();
            EXPECT_EQ(product.multiply(handle_), CUBLAS_STATUS_SUCCESS);
            const std::string found = name_of(product.result().format);
            EXPECT_EQ(math_mode(handle_), mode) << "as it was set";
            const bool asks_for_tf32 = mode == CUBLAS_TF32_TENSOR_OP_MATH && has_fast_formats();
            if (!is_wished || settings().expect == "fp32") {
                EXPECT_EQ(found, asks_for_tf32 && !is_wished ? "tf32" : "fp32");
            }
            const auto decisions = decision_log().read_new();
            if (!DecisionLog::is_there()) continue;
            ASSERT_EQ(decisions.size(), 1U);
            EXPECT_EQ(found, settings().used(decisions.front()["applied"])) << decisions.front().dump();
        }
    }
}

/// Repeats the same products on one thread, and expects each result in exactly one format.
void multiply_in_turn(const Device& device, cublasHandle_t handle, std::initializer_list<Kind> kinds, unsigned seed,
                      const std::function<void(const Measured&)>& check) {
    device.make_current();
    std::vector<SimpleProduct> products;
    for (Kind kind : kinds) products.emplace_back(kind, seed++);
    for (int i = 0; i < 30; ++i) {
        for (const SimpleProduct& product : products) {
            product.clear();
            EXPECT_EQ(product.multiply(handle), CUBLAS_STATUS_SUCCESS);
            check(product.result());
        }
    }
}

/// Multiplies in a scope that belongs to this thread.
void multiply_in_scope(const ShimApi& shim, const Device& device, cublasHandle_t handle, const char* precision,
                       std::initializer_list<Kind> kinds, unsigned seed,
                       const std::function<void(const Measured&)>& check) {
    ASSERT_EQ(shim.push_scope(precision, precision, nullptr), 0);
    multiply_in_turn(device, handle, kinds, seed, check);
    EXPECT_EQ(shim.pop_scope(), 0);
}

TEST_F(Handles, OfTwoThreadsDoNotMixPrecisions) {
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    const cublasHandle_t second = create();
    std::thread other([&] {
        multiply_in_scope(shim, device(), second, "high", {Kind::sgemm, Kind::cgemm3m, Kind::gemm_ex}, 50,
                          [](const Measured& measured) { expect_format(measured, Format::tf32); });
    });
    multiply_in_scope(shim, device(), handle_, "highest", {Kind::cgemm3m, Kind::sgemm, Kind::gemm_ex}, 70,
                      [](const Measured& measured) { expect_format(measured, Format::fp32); });
    other.join();
    api().cublasDestroy_v2(second);
}

TEST_F(Handles, SharedByTwoThreadsDoNotMixPrecisions) {
    // gemm3m is governed by the handle's math mode. If the other thread's gemm saw that mode, it would run in TF32.
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    std::thread other([&] {
        multiply_in_scope(shim, device(), handle_, "high", {Kind::cgemm3m}, 50,
                          [](const Measured& measured) { expect_format(measured, Format::tf32); });
    });
    multiply_in_scope(shim, device(), handle_, "highest", {Kind::sgemm, Kind::gemm_ex}, 70,
                      [](const Measured& measured) { expect_format(measured, Format::fp32); });
    other.join();
    EXPECT_EQ(math_mode(handle_), CUBLAS_DEFAULT_MATH);
}

TEST_F(Handles, SharedByTwoThreadsWithRulesDoNotMixPrecisions) {
    if (std::getenv("CLIENT_RULES") == nullptr) GTEST_SKIP() << "the policy has no such rules";
    std::thread other([&] {
        multiply_in_turn(device(), handle_, {Kind::cgemm3m}, 50,
                         [](const Measured& measured) { expect_format(measured, Format::tf32); });
    });
    multiply_in_turn(device(), handle_, {Kind::sgemm, Kind::gemm_ex}, 70,
                     [](const Measured& measured) { expect_format(measured, Format::fp32); });
    other.join();
}

TEST_F(Handles, OfSeveralDevicesAreToldApart) {
    const int count = Device::count();
    if (count < 2) GTEST_SKIP() << "there is one device";
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<cublasHandle_t> handles;
    std::vector<SimpleProduct> products;
    for (int i = 0; i < count; ++i) {
        devices.push_back(std::make_unique<Device>(i));
        for (Kind kind : {Kind::sgemm, Kind::cgemm3m}) {
            handles.push_back(create());
            products.emplace_back(kind);
        }
    }
    decision_log().read_new();
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < handles.size(); ++i) {
            const Device& own = *devices[i / 2];
            own.make_current();
            products[i].clear();
            EXPECT_EQ(products[i].multiply(handles[i]), CUBLAS_STATUS_SUCCESS);
            const Measured measured = products[i].result();
            const auto decisions = decision_log().read_new();
            if (!DecisionLog::is_there()) continue;
            ASSERT_EQ(decisions.size(), 1U);
            const nlohmann::json& decision = decisions.front();
            EXPECT_EQ(decision["device_index"], own.index()) << decision.dump();
            EXPECT_EQ(decision["compute_capability"], own.compute_capability()) << decision.dump();
            EXPECT_GE(rank_of(name_of(measured.format)), rank_of(decision["applied"])) << decision.dump();
        }
    }
    for (std::size_t i = 0; i < handles.size(); ++i) {
        devices[i / 2]->make_current();
        api().cublasDestroy_v2(handles[i]);
    }
    products.clear();
    device().make_current();
}

TEST_F(Handles, AreForgottenWhenTheyAreDestroyed) {
    // A new handle may have the address of an old one, but it must not inherit its math mode.
    const SimpleProduct product(Kind::sgemm);
    for (int i = 0; i < 10; ++i) {
        const cublasHandle_t handle = create();
        EXPECT_EQ(math_mode(handle), CUBLAS_DEFAULT_MATH);
        product.clear();
        decision_log().read_new();
        EXPECT_EQ(product.multiply(handle), CUBLAS_STATUS_SUCCESS);
        const Measured measured = product.result();
        if (const auto decisions = decision_log().read_new(); !decisions.empty()) {
            EXPECT_GE(rank_of(name_of(measured.format)), rank_of(decisions.back()["applied"]));
            if (settings().expect == "native") {
                EXPECT_EQ(decisions.back()["applied"], "fp32");
            }
        }
        EXPECT_EQ(api().cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(api().cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
    }
}

/// A stream that no default stream waits for.
class Stream {
  public:
    Stream() { require(api().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
    ~Stream() { api().cuStreamDestroy_v2(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator CUstream() const { return stream_; }

  private:
    CUstream stream_ = nullptr;
};

TEST_F(Handles, OfCapturingStreamsAreCountedOnceAndReplayed) {
    const Stream stream;
    ASSERT_EQ(api().cublasSetStream_v2(handle_, stream), CUBLAS_STATUS_SUCCESS);
    const SimpleProduct products[] = {SimpleProduct(Kind::sgemm), SimpleProduct(Kind::cgemm3m),
                                      SimpleProduct(Kind::gemm_ex)};
    decision_log().read_new();
    ASSERT_EQ(api().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    for (const SimpleProduct& product : products) EXPECT_EQ(product.multiply(handle_), CUBLAS_STATUS_SUCCESS);
    CUgraph graph = nullptr;
    ASSERT_EQ(api().cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphExec executable = nullptr;
    ASSERT_EQ(api().cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    const auto decisions = decision_log().read_new();
    if (DecisionLog::is_there()) {
        EXPECT_EQ(decisions.size(), std::size(products));
    }

    for (int replay = 0; replay < 2; ++replay) {
        for (const SimpleProduct& product : products) product.clear();
        ASSERT_EQ(api().cuGraphLaunch(executable, stream), CUDA_SUCCESS);
        ASSERT_EQ(api().cuStreamSynchronize(stream), CUDA_SUCCESS);
        for (std::size_t i = 0; i < std::size(products); ++i) {
            const Measured measured = products[i].result();
            EXPECT_LT(measured.error, 0.02);
            if (decisions.size() == std::size(products)) {
                EXPECT_GE(rank_of(name_of(measured.format)), rank_of(decisions[i]["applied"])) << decisions[i].dump();
            }
        }
    }
    EXPECT_TRUE(decision_log().read_new().empty()) << "a replay is no call";
    api().cuGraphExecDestroy(executable);
    api().cuGraphDestroy(graph);
    api().cublasSetStream_v2(handle_, nullptr);
}

TEST_F(Handles, DoNotWaitForTheirProducts) {
    if (std::getenv("CLIENT_DEFERRED") == nullptr) GTEST_SKIP() << "a GPU may be done before anybody looks";
    const Stream stream;
    ASSERT_EQ(api().cublasSetStream_v2(handle_, stream), CUBLAS_STATUS_SUCCESS);
    for (Kind kind : {Kind::sgemm, Kind::gemm_ex, Kind::cgemm3m}) {
        const SimpleProduct product(kind);
        EXPECT_EQ(api().cuStreamQuery(stream), CUDA_SUCCESS);
        EXPECT_EQ(product.multiply(handle_), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(api().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(api().cuStreamSynchronize(stream), CUDA_SUCCESS);
        EXPECT_LT(product.result().error, 0.02);
    }
    api().cublasSetStream_v2(handle_, nullptr);
}

TEST_F(Handles, TakeBatchesOfMisalignedPointers) {
    // Float32 products only need the alignment of a float. Fast products need more, and would fault.
    if (settings().assume_aligned) GTEST_SKIP() << "the policy answers for the alignment";
    constexpr int order = 8;
    constexpr std::size_t bytes = (order * order + 1) * sizeof(float);
    const std::vector<float> ones(order * order + 1, 1.0F);
    const DeviceMemory a(ones);
    const DeviceMemory b(ones);
    const DeviceMemory c(bytes);
    const DeviceMemory arrays(
        std::vector<void*>{a.address(sizeof(float)), b.address(sizeof(float)), c.address(sizeof(float))});
    const auto array = [&](std::size_t i) { return static_cast<float**>(arrays.address(i * sizeof(void*))); };
    const float one = 1;
    const float zero = 0;
    decision_log().read_new();
    EXPECT_EQ(api().cublasSgemmBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one, array(0), order,
                                       array(1), order, &zero, array(2), order, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(api().cuCtxSynchronize(), CUDA_SUCCESS);
    std::vector<float> result(order * order + 1);
    c.read(result.data(), bytes);
    for (int i = 1; i <= order * order; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], order);
    for (const auto& decision : decision_log().read_new()) EXPECT_EQ(decision["applied"], "fp32") << decision.dump();
}

}  // namespace
}  // namespace clients
