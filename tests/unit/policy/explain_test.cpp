// Tests the words of explain_rule() for each condition, and that it always agrees with matches().
#include "policy/explain.hpp"

#include <gtest/gtest.h>

#include "policy/decide.hpp"
#include "policy/load.hpp"

namespace fp32shim::policy {
namespace {

constexpr ProcessDescription trainer = {"trainer", "trainer --epochs 3 data.h5", "node17.cluster"};

MatmulCall call_of_trainer() {
    MatmulCall call;
    call.function = "cublasSgemm_v2";
    call.caller = "libtorch_cuda.so";
    call.scope = "train/attention";
    call.device = Device::cuda;
    call.compute_capability = 90;
    call.m = 128;
    call.n = 256;
    call.k = 64;
    return call;
}

Rule rule_of(const std::string& tables) {
    const auto loaded = read_policy("schema = 1\n[[rule]]\nprecision = \"high\"\n" + tables + "\n", "test.toml");
    for (const auto& error : loaded.errors) ADD_FAILURE() << error.text() << " in " << tables;
    return loaded.policy.rules.empty() ? Rule{} : loaded.policy.rules.front();
}

TEST(ExplainRule, JudgesEveryConditionAndNotOnlyTheFirstThatFails) {
    const auto verdict =
        explain_rule(rule_of(R"(when = { device = "cpu", max_dim = "<=128", caller = "libtorch_*" })"),
                     call_of_trainer(), trainer);
    ASSERT_EQ(verdict.when.size(), 3U);
    EXPECT_EQ(verdict.when[0].key, "device");
    EXPECT_FALSE(verdict.when[0].holds);
    EXPECT_EQ(verdict.when[1].key, "max_dim");
    EXPECT_FALSE(verdict.when[1].holds);
    EXPECT_EQ(verdict.when[2].key, "caller");
    EXPECT_TRUE(verdict.when[2].holds);
    EXPECT_FALSE(verdict.applies);
}

struct Text {
    std::string condition, asked, found;
};

class ConditionText : public testing::TestWithParam<Text> {};

TEST_P(ConditionText, SaysWhatIsAskedForAndWhatIsThere) {
    const auto verdict = explain_rule(rule_of("when = { " + GetParam().condition + " }"), call_of_trainer(), trainer);
    ASSERT_EQ(verdict.when.size(), 1U);
    EXPECT_EQ(verdict.when[0].asked, GetParam().asked);
    EXPECT_EQ(verdict.when[0].found, GetParam().found);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, ConditionText,
    testing::Values(Text{R"(max_dim = "<=128")", "<=128", "256"},                                    //
                    Text{R"(m = 128)", "128", "128"},                                                //
                    Text{R"(n = ">=64 <=256")", ">=64 <=256", "256"},                                //
                    Text{R"(k = [64, ">=1K"])", "64 or >=1000", "64"},                               //
                    Text{R"(flops = ">=2G")", ">=2000000000", "4194304"},                            //
                    Text{R"(compute_capability = ">=8.0")", ">=8.0", "9.0"},                         //
                    Text{R"(device = "cuda")", "cuda", "cuda"},                                      //
                    Text{R"(dtype = ["float32", "complex64"])", "float32 or complex64", "float32"},  //
                    Text{R"(caller = ["a*", "b"])", R"("a*" or "b")", R"("libtorch_cuda.so")"},      //
                    Text{R"(scope = "attention")", R"("attention")", R"("train/attention")"},        //
                    Text{R"(host = "node*")", R"("node*")", R"("node17.cluster")"}));

TEST(ExplainRule, ShowsTheCallSiteAndAllLinesOfTheStack) {
    const auto found_for = [](const MatmulCall& call, const std::string& condition) {
        const auto verdict = explain_rule(rule_of("when = { " + condition + " }"), call, trainer);
        return verdict.when.empty() ? std::string() : verdict.when.front().found;
    };
    struct TwoLines : PythonStackLines {
        TwoLines() {
            any = [](const PythonStackLines&, bool (*judge)(void*, std::string_view), void* context) {
                return judge(context, "main.py:1 <module>") || judge(context, "a.py:2 f");
            };
        }
    };
    const TwoLines lines;
    constexpr CallSiteText site{"libphysics.so!solve+0x1c4", "libphysics.so!solve", "libphysics.so+0x31c4"};
    MatmulCall call = call_of_trainer();
    EXPECT_EQ(found_for(call, R"(call_site = "*!f")"), "none");
    EXPECT_EQ(found_for(call, R"(stack = "*!f")"), "none");
    call.call_site = &site;
    call.stack = &lines;
    EXPECT_EQ(found_for(call, R"(call_site = "*!f")"), R"("libphysics.so!solve+0x1c4")");
    EXPECT_EQ(found_for(call, R"(stack = "* f")"), R"("main.py:1 <module>" and "a.py:2 f")");
}

TEST(ExplainRule, CallsASizeUnknownThatTheFunctionDoesNotHave) {
    MatmulCall call = call_of_trainer();
    call.k = -1;
    const auto verdict = explain_rule(rule_of("when = { k = \">=0\", flops = \">=0\" }"), call, trainer);
    ASSERT_EQ(verdict.when.size(), 2U);
    EXPECT_EQ(verdict.when[0].found, "unknown");
    EXPECT_EQ(verdict.when[1].found, "unknown");
    EXPECT_FALSE(verdict.applies);
}

TEST(ExplainRule, CallsTheCallerAndTheProcessUnknownWhereTheyAreNotNamed) {
    MatmulCall call = call_of_trainer();
    call.caller = {};
    const auto verdict = explain_rule(rule_of(R"(when = { caller = "a", executable = "b", command = "c" })"), call,
                                      ProcessDescription{});
    ASSERT_EQ(verdict.when.size(), 3U);
    for (const auto& condition : verdict.when) EXPECT_EQ(condition.found, unknown_value) << condition.key;
}

TEST(ExplainRule, SaysThatThereIsNoneOfScopesAndOfGpusOnTheCpu) {
    MatmulCall call = call_of_trainer();
    call.scope = {};
    call.device = Device::cpu;
    call.compute_capability = 0;
    const auto verdict =
        explain_rule(rule_of(R"(when = { scope = "a", compute_capability = ">=8.0" })"), call, trainer);
    ASSERT_EQ(verdict.when.size(), 2U);
    for (const auto& condition : verdict.when) EXPECT_EQ(condition.found, "none") << condition.key;
}

TEST(ExplainRule, NeverDisagreesWithMatches) {
    const std::vector<std::string> tables = {
        "",
        R"(when = { device = "cuda" })",
        R"(when = { device = "cpu" })",
        R"(when = { device = "cuda", m = 128 })",
        R"(when = { device = "cuda" }
unless = { m = 128, n = 256 })",
        R"(when = { device = "cuda" }
unless = { m = 128, n = 1 })",
        R"(when = { scope = "attention", batch = 1 }
unless = { executable = "train?r" })",
    };
    for (const std::string& table : tables) {
        const Rule rule = rule_of(table);
        EXPECT_EQ(explain_rule(rule, call_of_trainer(), trainer).applies,
                  decides_call(rule, call_of_trainer(), trainer))
            << table;
    }
}

}  // namespace
}  // namespace fp32shim::policy
