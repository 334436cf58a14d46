// Tests cublasLtMatmul in all ways that programs use it: with algorithms from the heuristic, by id, kept from earlier
// calls, or none at all; with descriptors made in every way, a bias, batches and preferences. settings.hpp lists the
// variables that control the test.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>

#include "decision_log.hpp"
#include "device.hpp"
#include "lt_product.hpp"
#include "settings.hpp"
#include "shim_api.hpp"

namespace clients {
namespace {

class Lt : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(api().cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
    void TearDown() override { api().cublasLtDestroy(handle_); }

    static const Device& device() {
        static const Device first;
        return first;
    }

    /// Returns true if a policy can lower products here. Under a floor each of them runs in float32.
    static bool can_lower() {
        return std::stod(device().compute_capability()) >= 8 && std::getenv("FP32_MATMUL_FLOOR") == nullptr;
    }

    /// Checks that there is one decision and that it describes the product. Returns the decision; null without a
    /// shim.
    static nlohmann::json check_description(const Request& request, cublasStatus_t status) {
        constexpr const char* dtypes[] = {"float32", "complex64", "float16", "bfloat16", "float64"};
        const auto decisions = decision_log().read_new();
        if (!DecisionLog::is_there()) return nullptr;
        EXPECT_EQ(decisions.size(), 1U);
        if (decisions.empty()) return nullptr;
        const nlohmann::json& decision = decisions.back();
        SCOPED_TRACE(decision.dump());
        EXPECT_EQ(decision["function"], "cublasLtMatmul");
        EXPECT_EQ(decision["dtype"], dtypes[static_cast<int>(request.dtype)]);
        EXPECT_EQ(decision["device"], "cuda");
        EXPECT_EQ(decision["device_index"], device().index());
        EXPECT_EQ(decision["compute_capability"], device().compute_capability());
        EXPECT_EQ(decision["trans_a"], std::string(1, request.trans_a));
        EXPECT_EQ(decision["trans_b"], std::string(1, request.trans_b));
        const auto known = [&](std::int64_t size) {
            return request.grouped ? nlohmann::json() : nlohmann::json(size);
        };
        EXPECT_EQ(decision["m"], known(request.m));
        EXPECT_EQ(decision["n"], known(request.n));
        EXPECT_EQ(decision["k"], known(request.k));
        EXPECT_EQ(decision["batch"], request.batch);
        EXPECT_EQ(decision["status"], static_cast<int>(status));
        return decision;
    }

    /// Multiplies and checks everything. `expected`: format that the decision must name; absent: any.
    void run(LtProduct& product, const cublasLtMatmulAlgo_t* algo,
             std::optional<std::string> expected = settings().wish()) {
        decision_log().read_new();
        const cublasStatus_t status = product.multiply(handle_, algo);
        EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(product.described_compute_type(), product.compute_type()) << "the descriptor is the program's";
        const nlohmann::json decision = check_description(product.request(), status);
        const Measured measured = product.result();
        const std::string found = name_of(measured.format);
        if (decision.is_null()) {
            if (expected) {
                EXPECT_GE(rank_of(found), rank_of(*expected));
            }
            return;
        }
        SCOPED_TRACE(decision.dump() + " measured " + found);
        const std::string applied = decision["applied"];
        if (expected) {
            EXPECT_EQ(applied, *expected);
        }
        const std::string rounding = applied == "bf16x9" ? "fp32" : applied;
        EXPECT_GE(rank_of(found), rank_of(rounding));
        if (settings().exact) {
            // Not every algorithm of a fast compute type is fast; the library tells which are.
            EXPECT_EQ(found, decision["actual"].is_null() ? settings().used(rounding)
                                                          : decision["actual"].get<std::string>());
        }
    }

    /// Returns a count that the stand-in keeps; nullptr: this is another library.
    static const long long* counter(const char* name) {
        void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
        return library == nullptr ? nullptr : static_cast<const long long*>(dlsym(library, name));
    }

    cublasLtHandle_t handle_ = nullptr;
};

// Runs before all other tests, so that no search of this process has found the algorithm yet.
TEST_F(Lt, AnAlgorithmThatFitsTheChangedProductIsAskedAboutOnce) {
    device();
    const auto* checks = counter("stand_in_algo_checks");
    if (checks == nullptr || settings().expect != "tf32") GTEST_SKIP() << "nothing is asked, or nothing counts it";
    LtProduct product({});
    // Takes an algorithm of the fast type that rounds nothing. The library refuses it for the original product, but
    // it fits the changed one.
    cublasLtMatmulAlgo_t fast;
    ASSERT_EQ(api().cublasLtMatmulAlgoInit(handle_, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                           CUDA_R_32F, CUDA_R_32F, 0, &fast),
              CUBLAS_STATUS_SUCCESS);
    fast = configured(fast).front();
    const long long before = *checks;
    for (int i = 0; i < 5; ++i) run(product, &fast);
    EXPECT_EQ(*checks - before, 1);
}

// PyTorch makes descriptors and searches for each call of a layer. Forcing TF32 must not cost more than asking for
// it.
TEST_F(Lt, ALayerThatIsForcedToTf32IsOneSearchAndOneProduct) {
    device();
    const auto *searches = counter("stand_in_searches"), *checks = counter("stand_in_algo_checks"),
               *questions = counter("stand_in_algo_questions");
    if (searches == nullptr || settings().expect != "tf32") GTEST_SKIP() << "nothing is forced, or nothing counts";
    const long long searches_before = *searches, checks_before = *checks;
    for (int layer = 1; layer <= 5; ++layer) {
        LtProduct product({.m = 64, .n = 16, .k = 64, .bias = true});
        const long long questions_before = *questions;
        const auto found = product.search(handle_, 1).usable();
        ASSERT_EQ(found.size(), 1U);
        if (layer > 1) {
            EXPECT_EQ(*questions, questions_before) << "the algorithm was known";
        }
        run(product, found.data());
        EXPECT_EQ(*searches - searches_before, layer);
    }
    EXPECT_EQ(*checks, checks_before);
}

TEST_F(Lt, HeuristicAndProductAgree) {
    device();
    for (const Request& request :
         {Request{}, Request{.trans_a = 'T'}, Request{.trans_b = 'T'}, Request{.m = 64, .n = 64, .k = 64},
          Request{.dtype = Dtype::complex64, .trans_a = 'C'}, Request{.batch = 3}}) {
        LtProduct product(request);
        const auto algorithms = product.algorithms(handle_);
        EXPECT_FALSE(algorithms.empty());
        for (const auto& algo : algorithms) run(product, &algo);
    }
}

TEST_F(Lt, AlgorithmsOfTheHeuristicPassTheLibrarysOwnCheck) {
    device();
    for (const Request& request : {Request{}, Request{.trans_a = 'T', .batch = 3}, Request{.bias = true},
                                   Request{.dtype = Dtype::complex64}, Request{.on_the_stack = true}}) {
        LtProduct product(request);
        const auto algorithms = product.algorithms(handle_);
        EXPECT_FALSE(algorithms.empty());
        for (const auto& algo : algorithms) product.expect_fit(handle_, algo);
    }
}

TEST_F(Lt, ProductsWithoutAnAlgorithmRun) {
    device();
    for (const Request& request : {Request{}, Request{.dtype = Dtype::complex64}, Request{.batch = 3},
                                   Request{.device_scalars = true}, Request{.on_the_stack = true}}) {
        LtProduct product(request);
        run(product, nullptr);
    }
}

TEST_F(Lt, GroupedProductsRun) {
    device();
    if (LtProduct::grouped_layout_create() == nullptr) GTEST_SKIP() << "this library has no grouped layouts";
    for (const Request& request :
         {Request{.batch = 3, .grouped = true}, Request{.trans_a = 'T', .batch = 2, .grouped = true},
          Request{.dtype = Dtype::complex64, .batch = 2, .grouped = true}}) {
        LtProduct product(request);
        // If the matrices' addresses are on the device, their alignment is unknown, and no product is lowered.
        const auto expected = can_lower() ? std::nullopt : settings().wish();
        run(product, nullptr, expected);
        for (const auto& algo : product.algorithms(handle_)) run(product, &algo, expected);
    }
}

TEST_F(Lt, AnAlgorithmForTheChangedProductBelongsToItsShape) {
    device();
    const auto* checks = counter("stand_in_algo_checks");
    if (checks == nullptr || settings().expect != "tf32") GTEST_SKIP() << "nothing is asked, or nothing counts it";
    LtProduct small({.m = 16, .n = 16, .k = 16});
    LtProduct large({.m = 64, .n = 64, .k = 64});
    cublasLtMatmulAlgo_t fast = *small.algorithm_of_id(handle_, 0);
    fast = configured(fast).front();
    const long long before = *checks;
    for (LtProduct* product : {&small, &large, &small, &large}) run(*product, &fast, std::nullopt);
    EXPECT_EQ(*checks - before, 2);
}

TEST_F(Lt, AlgorithmsByIdRun) {
    device();
    LtProduct product({});
    const auto algorithms = product.algorithms_by_id(handle_);
    EXPECT_FALSE(algorithms.empty());
    for (const auto& algo : algorithms) run(product, &algo);
}

TEST_F(Lt, DescriptorsOnTheStackAreAsGood) {
    device();
    LtProduct product({.on_the_stack = true});
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
}

TEST_F(Lt, BiasIsAdded) {
    device();
    LtProduct product({.bias = true});
    run(product, nullptr);
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
}

TEST_F(Lt, CachedAlgorithmsOutliveAChangeOfThePolicy) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    if (settings().compute_type != CUBLAS_COMPUTE_32F) GTEST_SKIP() << "the program asks for a format of its own";
    const bool lowers = can_lower();
    const std::pair<const char*, const char*> steps[] = {
        {"highest", "fp32"}, {"high", "tf32"}, {"medium", "bf16"}, {"native", "fp32"}, {"high", "tf32"}};
    for (const Request& request : {Request{}, Request{.bias = true}}) {
        LtProduct product(request);
        for (const auto& [from, _] : steps) {
            ASSERT_EQ(shim.set_precision(from), 0);
            const auto algorithms = product.algorithms(handle_);
            ASSERT_FALSE(algorithms.empty()) << from;
            for (const auto& [to, format] : steps) {
                SCOPED_TRACE(std::string("from ") + from + " to " + to);
                ASSERT_EQ(shim.set_precision(to), 0);
                run(product, &algorithms.front(), lowers ? format : "fp32");
            }
        }
    }
    shim.set_precision(nullptr);
}

/// Calls the heuristic by a function that is newer than the headers, with the default stream.
cublasStatus_t heuristic_for_stream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                    cublasLtMatmulPreference_t preference, int wanted,
                                    cublasLtMatmulHeuristicResult_t results[], int* count) {
    using ForStream =
        cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                           cublasLtMatmulHeuristicResult_t*, int*, cudaStream_t);
    void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    static const auto function = reinterpret_cast<ForStream>(
        library == nullptr ? nullptr : dlsym(library, "cublasLtMatmulAlgoGetHeuristicForStream"));
    if (function == nullptr)
        return api().cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, preference, wanted, results, count);
    return function(handle, desc, a, b, c, d, preference, wanted, results, count, nullptr);
}

/// Words of set_precision, and the format that each gives on a device with fast formats.
constexpr std::pair<const char*, const char*> precisions[] = {
    {"highest", "fp32"}, {"high", "tf32"}, {"medium", "bf16"}};

TEST_F(Lt, SearchesFindAsManyAlgorithmsAsTheProgramsOwn) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    const bool lowers = can_lower();
    LtProduct product({});
    for (const LtProduct::Heuristic heuristic : {api().cublasLtMatmulAlgoGetHeuristic, &heuristic_for_stream}) {
        for (const int wanted : {0, 1, 2, 3, 4, 7}) {
            shim.set_precision("native");
            const auto own = product.search(handle_, wanted, nullptr, nullptr, heuristic);
            for (const auto& [precision, format] : precisions) {
                SCOPED_TRACE(std::to_string(wanted) + " wanted under " + precision);
                shim.set_precision(precision);
                const auto found = product.search(handle_, wanted, nullptr, nullptr, heuristic);
                EXPECT_EQ(found.status, own.status);
                EXPECT_EQ(found.count, own.count);
                EXPECT_EQ(found.usable().size(), own.usable().size());
                for (const auto& algo : found.usable()) {
                    product.expect_fit(handle_, algo);
                    run(product, &algo, lowers ? format : "fp32");
                }
            }
        }
    }
    shim.set_precision(nullptr);
}

TEST_F(Lt, SearchesThatBeginFromAnAlgorithmAreTheProgramsOwn) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    const bool lowers = can_lower();
    const auto by_id = [](cublasLtMatmulPreference_t preference) {
        set_preference(preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID);
    };
    LtProduct product({});
    int begun = 0;
    for (int id = 0; id < 4; ++id) {
        const auto begin = product.algorithm_of_id(handle_, id);
        if (!begin) continue;
        ++begun;
        shim.set_precision("native");
        const auto own = product.search(handle_, 2, by_id, &*begin);
        for (const auto& [precision, format] : precisions) {
            SCOPED_TRACE(std::to_string(id) + " under " + precision);
            shim.set_precision(precision);
            const auto found = product.search(handle_, 2, by_id, &*begin);
            EXPECT_EQ(found.status, own.status);
            EXPECT_EQ(found.count, own.count);
            for (const auto& algo : found.usable()) {
                EXPECT_EQ(id_of(algo), id);
                run(product, &algo, lowers ? format : "fp32");
            }
            // An algorithm from a changed search may also serve as a starting point.
            for (const auto& algo : product.algorithms(handle_)) {
                const auto again = product.search(handle_, 1, by_id, &algo).usable();
                ASSERT_EQ(again.size(), 1U);
                EXPECT_EQ(id_of(again.front()), id_of(algo));
                run(product, &again.front(), lowers ? format : "fp32");
            }
        }
    }
    EXPECT_GT(begun, 0);
    shim.set_precision(nullptr);
}

TEST_F(Lt, AnotherAlgorithmHasNoMoreWavesThanTheProgramAllows) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there() || !settings().exact || settings().compute_type != CUBLAS_COMPUTE_32F || !can_lower())
        GTEST_SKIP() << "only of the stand-in is known which algorithms have how many waves";
    LtProduct product({});
    // Algorithms on tensor cores all have more waves than this.
    const auto few_waves = [](cublasLtMatmulPreference_t preference) {
        set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 0.75F);
    };
    shim.set_precision("native");
    const auto own = product.algorithms(handle_, few_waves);
    ASSERT_EQ(own.size(), 1U);
    shim.set_precision("high");
    decision_log().read_new();
    EXPECT_EQ(product.multiply(handle_, &own.front()), CUBLAS_STATUS_SUCCESS);
    const auto decisions = decision_log().read_new();
    ASSERT_EQ(decisions.size(), 1U);
    EXPECT_EQ(decisions.front()["actual"], "fp32") << decisions.front().dump();
    EXPECT_EQ(name_of(product.result().format), std::string("fp32"));
    shim.set_precision(nullptr);
}

TEST_F(Lt, TwoThreadsShareADescriptor) {
    device();
    LtProduct product({});
    const auto algorithms = product.algorithms(handle_);
    ASSERT_FALSE(algorithms.empty());
    constexpr int rounds = 25;
    const auto work = [&] {
        device().make_current();
        for (int i = 0; i < rounds; ++i)
            EXPECT_EQ(product.multiply(handle_, i % 2 == 0 ? &algorithms.front() : nullptr), CUBLAS_STATUS_SUCCESS);
    };
    decision_log().read_new();
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(product.described_compute_type(), product.compute_type());
    const auto decisions = decision_log().read_new();
    if (!DecisionLog::is_there()) return;
    EXPECT_EQ(decisions.size(), 2U * rounds);
    for (const auto& decision : decisions)
        if (const auto expected = settings().wish()) {
            EXPECT_EQ(decision["applied"], *expected) << decision.dump();
        }
}

TEST_F(Lt, NarrowPreferencesAreKept) {
    device();
    LtProduct product({});
    const auto narrow = [](cublasLtMatmulPreference_t preference) {
        const std::size_t none = 0;
        const std::uint32_t alignment = 4;
        api().cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none,
                                                   sizeof none);
        for (auto attribute :
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
            api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof alignment);
    };
    const auto algorithms = product.algorithms(handle_, narrow);
    EXPECT_FALSE(algorithms.empty());
    for (const auto& algo : algorithms) run(product, &algo, std::nullopt);
}

TEST_F(Lt, AForbiddenImplementationIsNoError) {
    device();
    LtProduct product({});
    const auto float32_only = [](cublasLtMatmulPreference_t preference) {
        const std::uint64_t mask = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                                   CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
        api().cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, sizeof mask);
    };
    const auto algorithms = product.algorithms(handle_, float32_only);
    EXPECT_FALSE(algorithms.empty()) << "every library has a float32 product";
    for (const auto& algo : algorithms) run(product, &algo, std::nullopt);
}

TEST_F(Lt, ACublasHandleIsACublasLtHandle) {
    device();
    cublasHandle_t cublas = nullptr;
    ASSERT_EQ(api().cublasCreate_v2(&cublas), CUBLAS_STATUS_SUCCESS);
    const cublasLtHandle_t own = handle_;
    handle_ = reinterpret_cast<cublasLtHandle_t>(cublas);
    LtProduct product({});
    run(product, nullptr);
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
    handle_ = own;
    api().cublasDestroy_v2(cublas);
}

TEST_F(Lt, NarrowOperandsAreObservedAndWideOnesNotCounted) {
    device();
    for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        if (dtype == Dtype::bfloat16 && std::stod(device().compute_capability()) < 8) continue;
        Request request;
        request.dtype = dtype;
        LtProduct product(request);
        decision_log().read_new();
        const cublasStatus_t status = product.multiply(handle_, nullptr);
        EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
        const nlohmann::json decision = check_description(request, status);
        product.result();
        if (!decision.is_null()) {
            EXPECT_EQ(decision["reason"], "observed");
            EXPECT_EQ(decision["applied"], "unchanged");
            EXPECT_EQ(decision["how"], "forward");
        }
    }
    LtProduct wide({.dtype = Dtype::float64});
    decision_log().read_new();
    EXPECT_EQ(wide.multiply(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
    if (DecisionLog::is_there()) {
        const auto decisions = decision_log().read_new();
        ASSERT_EQ(decisions.size(), 1U);
        EXPECT_EQ(decisions[0]["dtype"], "float64");
        EXPECT_EQ(decisions[0]["applied"], "fp64");
        EXPECT_EQ(decisions[0]["actual"], nullptr);
        EXPECT_EQ(decisions[0]["how"], "forward");
    }
    wide.result();
}

}  // namespace
}  // namespace clients
