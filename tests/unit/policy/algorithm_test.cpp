#include "policy/algorithm.hpp"

#include <gtest/gtest.h>

#include <string>

#include "policy/decide.hpp"
#include "policy/load.hpp"

namespace fp32shim::policy {
namespace {

TEST(Algorithms, AWordHasTheIdAndEachPartWithAnotherThanItsInitialValue) {
    Algorithm algorithm;
    algorithm.id = 66;
    EXPECT_EQ(format_algorithm(algorithm).view(), "66");
    algorithm.tile = 20;
    algorithm.stages = 15;
    algorithm.split_k = 4;
    algorithm.reduction = 2;
    algorithm.swizzle = 1;
    EXPECT_EQ(format_algorithm(algorithm).view(), "66:t20:s15:k4:r2:w1");
    algorithm.inner_shape = 3;
    algorithm.cluster_shape = 7;
    EXPECT_EQ(format_algorithm(algorithm).view(), "66:t20:s15:k4:r2:w1:i3:c7");
}

TEST(Algorithms, EachPartOfAWordIsReadBack) {
    for (const AlgorithmAttribute& part : algorithm_attributes) {
        Algorithm algorithm;
        algorithm.*part.value = 12345;
        EXPECT_EQ(parse_algorithm(format_algorithm(algorithm).view()), algorithm) << part.key;
    }
    EXPECT_EQ(parse_algorithm("66:k4:z9"), parse_algorithm("66:k4")) << "a part of a newer version is left out";
    for (const char* const other : {"", "k4", "66k4", "66:", "66:k", "66:kx", "66:k4:", "-1"})
        EXPECT_EQ(parse_algorithm(other), std::nullopt) << other;
}

TEST(Algorithms, AWordFitsIntoARowWhateverItsNumbers) {
    Algorithm algorithm;
    for (const AlgorithmAttribute& part : algorithm_attributes) algorithm.*part.value = 0xffffffff;
    const AlgorithmText word = format_algorithm(algorithm);
    EXPECT_LE(word.view().size(), 63U);
    EXPECT_TRUE(parse_algorithm(word.view()).has_value());
}

TEST(Algorithms, TheDifferenceNamesJustThePartsThatDiffer) {
    EXPECT_EQ(algorithm_difference("66:t20:k4", "66:t20"), "split-K 4 -> 1");
    EXPECT_EQ(algorithm_difference("66:t20:k4:r2", "21:t20"),
              "algorithm 66 -> 21, split-K 4 -> 1, reduction compute_type -> none");
    EXPECT_EQ(algorithm_difference("66:r4", "66:r1"), "reduction output_type -> in_place");
    for (const char* const other : {"66:t20", "", "?"}) EXPECT_EQ(algorithm_difference("66:t20", other), "") << other;
}

TEST(Algorithms, OneIsKnownToBeWrongWithSplitKFromAVersionOn) {
    const auto is_wrong = [](const char* word, std::int32_t version) {
        return find_known_wrong_algorithm(*parse_algorithm(word), version) != nullptr;
    };
    EXPECT_TRUE(is_wrong("66:k2", 120603));
    EXPECT_TRUE(is_wrong("66:t20:k16:r2", 130401));
    EXPECT_FALSE(is_wrong("66:k2", 120602));
    EXPECT_FALSE(is_wrong("66:t20", 130401));
    EXPECT_FALSE(is_wrong("67:k2", 130401));
    EXPECT_FALSE(is_wrong("66:k2", 0)) << "an unknown version";
}

Decision decide_about(const std::string& text, std::string_view function, Dtype dtype) {
    const LoadedPolicy loaded = read_policy("schema = 1\n" + text, "p.toml");
    EXPECT_TRUE(loaded.errors.empty()) << loaded.errors.front().message;
    MatmulCall call;
    call.function = function;
    call.dtype = dtype;
    call.device = Device::cuda;
    call.compute_capability = 90;
    call.m = call.n = call.k = 64;
    return decide(call, {"program", "program", "host"}, loaded.policy, {});
}

TEST(AlgorithmLimits, OfAFileAndOfTheFirstMatchingRuleAddUp) {
    const std::string text =
        "[cuda]\navoid_known_wrong = true\n[[rule]]\nsplit_k = 1\nwhen = { k = 64 }\n"
        "[[rule]]\nreduction = \"compute_type\"\nwhen = { m = 64 }\n[[rule]]\nprecision = \"high\"\n";
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::float64}) {
        const Decision decision = decide_about(text, "cublasLtMatmul", dtype);
        EXPECT_EQ(decision.algorithms, (AlgorithmLimits{true, false, true})) << to_string(dtype);
        EXPECT_EQ(decision.algorithm_rule, 0);
        EXPECT_EQ(decision.requested, dtype == Dtype::float32 ? Precision::high : Precision::native);
    }
    EXPECT_FALSE(decide_about(text, "cublasSgemm_v2", Dtype::float32).algorithms.any());
}

TEST(AlgorithmLimits, ARuleWithoutAPrecisionLeavesItToOthers) {
    const Decision decision =
        decide_about("default = \"medium\"\n[[rule]]\nsplit_k = 1\n", "cublasLtMatmul", Dtype::float32);
    EXPECT_EQ(decision.requested, Precision::medium);
    EXPECT_EQ(decision.rule, -1);
    EXPECT_TRUE(decision.algorithms.no_split_k);
}

TEST(AlgorithmLimits, ARuleOnTheSameCallsThatDecidesSomethingElseIsReached) {
    const auto errors = [](const std::string& first, const std::string& second) {
        const std::string when = "\nwhen = { k = 64 }\n";
        return read_policy("schema = 1\n[[rule]]\n" + first + when + "[[rule]]\n" + second + when, "p.toml")
            .errors.size();
    };
    const std::string limit = "split_k = 1", precision = "precision = \"high\"";
    EXPECT_EQ(errors(limit, precision), 0U);
    EXPECT_EQ(errors(precision, limit), 0U);
    EXPECT_EQ(errors(limit, limit), 1U);
    EXPECT_EQ(errors(limit + "\n" + precision, limit), 1U);
}

TEST(AlgorithmLimits, OnlyOnePartAndTheComputeTypeCanBeAskedFor) {
    const auto error = [](const std::string& text) {
        const LoadedPolicy loaded = read_policy("schema = 1\n[cuda]\n" + text, "p.toml");
        return loaded.errors.empty() ? std::string() : loaded.errors.front().message;
    };
    EXPECT_EQ(error("split_k = 4"),
              "split_k: found 4; allowed: 1, with which cublasLt computes each sum in one part");
    EXPECT_EQ(error("reduction = \"none\""),
              "reduction: found \"none\"; allowed: \"compute_type\", in which cublasLt then adds the parts of split "
              "sums");
    EXPECT_EQ(error("avoid_known_wrong = 1"), "avoid_known_wrong: found 1; allowed: true, false");
}

}  // namespace
}  // namespace fp32shim::policy
