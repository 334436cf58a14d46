// Tests every key of `when` and `unless`, as written in a file, with a call that matches and one that does not.
#include <gtest/gtest.h>

#include "policy/decide.hpp"
#include "policy/load.hpp"
#include "policy/shadowed_rules.hpp"

namespace fp32shim::policy {
namespace {

constexpr ProcessDescription process = {"trainer", "trainer --epochs 3 data.h5", "node17.cluster"};

MatmulCall gemm() {
    MatmulCall call;
    call.function = "cublasSgemm_v2";
    call.caller = "libtorch_cuda.so";
    call.scope = "train/inference.encoder/attention";
    call.device = Device::cuda;
    call.compute_capability = 90;
    call.m = 128;
    call.n = 256;
    call.k = 64;
    call.batch = 3;
    return call;
}

Rule rule_when(const std::string& conditions) {
    const auto loaded = read_policy("schema = 1\n[[rule]]\nprecision = \"high\"\n" + conditions + "\n", "test.toml");
    for (const auto& error : loaded.errors) ADD_FAILURE() << error.text() << " in " << conditions;
    return loaded.policy.rules.empty() ? Rule{} : loaded.policy.rules.front();
}

struct ConditionCase {
    std::string condition;
    bool matches;
};

class When : public testing::TestWithParam<ConditionCase> {};

TEST_P(When, HoldsOrNot) {
    const auto& [condition, expected] = GetParam();
    EXPECT_EQ(decides_call(rule_when("when = { " + condition + " }"), gemm(), process), expected) << condition;
}

TEST_P(When, IsTurnedRoundByUnless) {
    const auto& [condition, expected] = GetParam();
    const auto rule = rule_when("when = { host = \"node*\" }\nunless = { " + condition + " }");
    EXPECT_EQ(decides_call(rule, gemm(), process), !expected) << condition;
}

INSTANTIATE_TEST_SUITE_P(Globs, When,
                         testing::Values(ConditionCase{R"(function = "cublasSgemm*")", true},                    //
                                         ConditionCase{R"(function = "sgemm_")", false},                         //
                                         ConditionCase{R"(function = ["sgemm_", "cublasSgemm_v2"])", true},      //
                                         ConditionCase{R"(function = ["sgemm_", "cublasSgemm"])", false},        //
                                         ConditionCase{R"(caller = "libtorch_*")", true},                        //
                                         ConditionCase{R"(caller = "libcusolver*")", false},                     //
                                         ConditionCase{R"(executable = "trainer")", true},                       //
                                         ConditionCase{R"(executable = "python3*")", false},                     //
                                         ConditionCase{R"(command = "*--epochs 3*")", true},                     //
                                         ConditionCase{R"(command = "trainer")", false},                         //
                                         ConditionCase{R"(host = "node[0-9][0-9].*")", true},                    //
                                         ConditionCase{R"(host = "login*")", false},                             //
                                         ConditionCase{R"(scope = "train/inference.encoder/attention")", true},  //
                                         ConditionCase{R"(scope = "train/*")", true},                            //
                                         ConditionCase{R"(scope = "attention")", true},                          //
                                         ConditionCase{R"(scope = "inference.*")", true},                        //
                                         ConditionCase{R"(scope = "train")", true},                              //
                                         ConditionCase{R"(scope = "inference")", false},                         //
                                         ConditionCase{R"(scope = "")", false},                                  //
                                         ConditionCase{R"(scope = ["nothing", "att*"])", true}));

INSTANTIATE_TEST_SUITE_P(Kinds, When,
                         testing::Values(ConditionCase{R"(device = "cuda")", true},                   //
                                         ConditionCase{R"(device = "cpu")", false},                   //
                                         ConditionCase{R"(device = ["cpu", "cuda"])", true},          //
                                         ConditionCase{R"(device = "CUDA")", true},                   //
                                         ConditionCase{R"(dtype = "float32")", true},                 //
                                         ConditionCase{R"(dtype = "complex64")", false},              //
                                         ConditionCase{R"(dtype = ["complex64", "float32"])", true},  //
                                         ConditionCase{R"(compute_capability = ">=8.0")", true},      //
                                         ConditionCase{R"(compute_capability = "9.0")", true},        //
                                         ConditionCase{R"(compute_capability = "9")", true},          //
                                         ConditionCase{R"(compute_capability = "<9.0")", false},      //
                                         ConditionCase{R"(compute_capability = ">9.0")", false},      //
                                         ConditionCase{R"(compute_capability = ["8.0", ">=8.9 <=9.0"])", true}));

INSTANTIATE_TEST_SUITE_P(Sizes, When,
                         testing::Values(ConditionCase{"m = 128", true},                  //
                                         ConditionCase{"m = 127", false},                 //
                                         ConditionCase{R"(m = "128")", true},             //
                                         ConditionCase{R"(m = "<=128")", true},           //
                                         ConditionCase{R"(m = "<128")", false},           //
                                         ConditionCase{R"(m = ">127")", true},            //
                                         ConditionCase{R"(m = ">=129")", false},          //
                                         ConditionCase{R"(n = ">=64 <=256")", true},      //
                                         ConditionCase{R"(n = ">=64 <256")", false},      //
                                         ConditionCase{R"(n = [1, 2, ">=256"])", true},   //
                                         ConditionCase{R"(n = [1, 2, ">=257"])", false},  //
                                         ConditionCase{"k = 64", true},                   //
                                         ConditionCase{"k = 0", false},                   //
                                         ConditionCase{"batch = 3", true},                //
                                         ConditionCase{R"(batch = "<=2")", false},        //
                                         ConditionCase{"min_dim = 64", true},             //
                                         ConditionCase{R"(min_dim = ">=65")", false},     //
                                         ConditionCase{"max_dim = 256", true},            //
                                         ConditionCase{R"(max_dim = "<=255")", false},    //
                                         ConditionCase{"flops = 12582912", true},         // equals 2·128·256·64·3
                                         ConditionCase{R"(flops = ">=12M <=13M")", true},  //
                                         ConditionCase{R"(flops = ">=1G")", false},        //
                                         ConditionCase{R"(flops = ">=1k")", true},         //
                                         ConditionCase{R"(flops = "<=1T")", true}));

TEST(Matches, NeedsEveryKeyOfWhen) {
    EXPECT_TRUE(decides_call(rule_when(R"(when = { device = "cuda", m = 128, caller = "lib*" })"), gemm(), process));
    EXPECT_FALSE(decides_call(rule_when(R"(when = { device = "cuda", m = 129, caller = "lib*" })"), gemm(), process));
}

TEST(Matches, NeedsEveryKeyOfUnlessToExclude) {
    EXPECT_FALSE(decides_call(rule_when("when = { m = 128 }\nunless = { n = 256, k = 64 }"), gemm(), process));
    EXPECT_TRUE(decides_call(rule_when("when = { m = 128 }\nunless = { n = 256, k = 65 }"), gemm(), process));
}

TEST(Matches, TakesARuleWithoutConditionsForEveryCall) {
    EXPECT_TRUE(decides_call(rule_when(""), gemm(), process));
    EXPECT_TRUE(decides_call(rule_when("unless = {}"), gemm(), process));
    EXPECT_TRUE(decides_call(Rule{}, MatmulCall{}, ProcessDescription{}));
}

TEST(Matches, NeverHoldsForASizeThatTheFunctionDoesNotHave) {
    MatmulCall call = gemm();
    call.k = -1;
    EXPECT_FALSE(decides_call(rule_when(R"(when = { k = ">=0" })"), call, process));
    EXPECT_FALSE(decides_call(rule_when(R"(when = { flops = ">=0" })"), call, process));
    EXPECT_TRUE(decides_call(rule_when("when = { min_dim = 128, max_dim = 256 }"), call, process));
    call.m = call.n = -1;
    EXPECT_FALSE(decides_call(rule_when(R"(when = { min_dim = ">=0" })"), call, process));
    EXPECT_FALSE(decides_call(rule_when(R"(when = { max_dim = "<=128" })"), call, process));
}

TEST(Matches, CountsFourTimesTheFlopsForComplexProducts) {
    MatmulCall call = gemm();
    call.dtype = Dtype::complex64;
    EXPECT_TRUE(decides_call(rule_when("when = { flops = 50331648 }"), call, process));
}

TEST(Matches, CountsFlopsBeyondSixtyFourBits) {
    MatmulCall call = gemm();
    call.m = call.n = call.k = std::int64_t{1} << 30;
    EXPECT_TRUE(decides_call(rule_when(R"(when = { flops = ">=1000000T" })"), call, process));
}

TEST(Matches, NeverHoldsForAnUnknownComputeCapability) {
    MatmulCall call = gemm();
    call.compute_capability = 0;
    EXPECT_FALSE(decides_call(rule_when(R"(when = { compute_capability = "<=9.0" })"), call, process));
}

TEST(Matches, FindsAnEmptyScopeOnlyOutsideOfScopes) {
    MatmulCall call = gemm();
    call.scope = "";
    EXPECT_TRUE(decides_call(rule_when(R"(when = { scope = "" })"), call, process));
    EXPECT_FALSE(decides_call(rule_when(R"(when = { scope = "?*" })"), call, process));
}

TEST(Matches, TriesACallSiteWithItsOffsetAndWithout) {
    constexpr CallSiteText site{"libphysics.so!solve+0x1c4", "libphysics.so!solve", "libphysics.so+0x31c4"};
    MatmulCall call = gemm();
    EXPECT_TRUE(decides_call(rule_when(R"(when = { call_site = "" })"), call, process));
    call.call_site = &site;
    for (const auto* glob : {"libphysics.so!solve", "*!solve", "libphysics.so!solve*", "*.so+0x*", "*+0x1c4", "*",
                             "libphysics.so!solve+0x1c4"})
        EXPECT_TRUE(decides_call(rule_when("when = { call_site = \"" + std::string(glob) + "\" }"), call, process))
            << glob;
    for (const auto* glob : {"", "solve", "libphysics.so", "libphysics.so!sol", "*!solve+0x1c", "*+0x1c"})
        EXPECT_FALSE(decides_call(rule_when("when = { call_site = \"" + std::string(glob) + "\" }"), call, process))
            << glob;
}

/// Lines of Python that count how often they are read.
struct Lines : PythonStackLines {
    explicit Lines(std::vector<std::string> all) : lines(std::move(all)) {
        any = [](const PythonStackLines& self, bool (*judge)(void*, std::string_view), void* context) {
            const auto& mine = static_cast<const Lines&>(self);
            ++mine.asked;
            return std::any_of(mine.lines.begin(), mine.lines.end(),
                               [&](const std::string& line) { return judge(context, line); });
        };
    }
    std::vector<std::string> lines;
    mutable int asked = 0;
};

TEST(Matches, FindsAnyLineOfAStack) {
    const Lines lines({"main.py:9 <module>", "train.py:41 Trainer.step", "model.py:7 forward"});
    MatmulCall call = gemm();
    EXPECT_TRUE(decides_call(rule_when(R"(when = { stack = "" })"), call, process)) << "no line is known";
    EXPECT_FALSE(decides_call(rule_when(R"(when = { stack = "?*" })"), call, process));
    call.stack = &lines;
    for (const auto* glob : {"main.py:*", "* Trainer.*", "model.py:7 forward", "*"})
        EXPECT_TRUE(decides_call(rule_when("when = { stack = \"" + std::string(glob) + "\" }"), call, process))
            << glob;
    for (const auto* glob : {"", "train.py", "Trainer.step", "*<module>*forward"})
        EXPECT_FALSE(decides_call(rule_when("when = { stack = \"" + std::string(glob) + "\" }"), call, process))
            << glob;
    EXPECT_TRUE(decides_call(rule_when(R"(when = { stack = ["nothing", "* forward"] })"), call, process));
    EXPECT_FALSE(decides_call(rule_when("when = { m = 128 }\nunless = { stack = \"main.py:*\" }"), call, process));
}

TEST(Matches, ReadsTheStackOnlyWhereTheRestHolds) {
    const Lines lines({"main.py:9 <module>"});
    MatmulCall call = gemm();
    call.stack = &lines;
    EXPECT_FALSE(decides_call(rule_when(R"(when = { stack = "*", m = 127 })"), call, process));
    EXPECT_TRUE(decides_call(rule_when("when = { m = 128 }"), call, process));
    EXPECT_EQ(lines.asked, 0);
}

TEST(Policy, LooksAtPlacesWhereAnyRuleDoes) {
    Policy policy;
    policy.rules.push_back(rule_when(R"(when = { caller = "a" })"));
    EXPECT_FALSE(policy.needs().looks_at_where);
    EXPECT_FALSE(policy.needs().looks_at_call_sites);
    policy.rules.push_back(rule_when("when = { caller = \"b\" }\nunless = { stack = \"\" }"));
    EXPECT_TRUE(policy.needs().looks_at_where);
    EXPECT_FALSE(policy.needs().looks_at_call_sites);
    policy.rules.back() = rule_when(R"(when = { call_site = "*!solve" })");
    EXPECT_FALSE(policy.needs().looks_at_where);
    EXPECT_TRUE(policy.needs().looks_at_call_sites);
    policy.rules.back() = rule_when("when = { caller = \"b\" }\nunless = { call_site = \"\" }");
    EXPECT_TRUE(policy.needs().looks_at_call_sites);
}

TEST(Conditions, KnowWhetherTheyLookAtSizes) {
    for (const auto* key : {"m", "n", "k", "batch", "min_dim", "max_dim", "flops", "call_number"}) {
        const Rule rule = rule_when("when = { " + std::string(key) + " = 1 }");
        EXPECT_TRUE(rule.when.looks_at_sizes()) << key;
        EXPECT_FALSE(rule.when.empty()) << key;
    }
    const Rule rule = rule_when(R"(when = { caller = "a", device = "cuda", compute_capability = "9.0" })");
    EXPECT_FALSE(rule.when.looks_at_sizes());
    EXPECT_FALSE(rule.when.empty());
    EXPECT_TRUE(rule.unless.empty());
}

TEST(Policy, LooksAtScopesWhereAnyRuleDoes) {
    Policy policy;
    policy.rules.push_back(rule_when(R"(when = { caller = "a" })"));
    EXPECT_FALSE(policy.needs().looks_at_scopes);
    policy.rules.push_back(rule_when("when = { caller = \"b\" }\nunless = { scope = \"\" }"));
    EXPECT_TRUE(policy.needs().looks_at_scopes);
    policy.rules.back() = rule_when(R"(when = { scope = "attention*" })");
    EXPECT_TRUE(policy.needs().looks_at_scopes);
}

TEST(Policy, LooksAtSizesWhereAnyRuleDoes) {
    Policy policy;
    EXPECT_FALSE(policy.needs().looks_at_sizes);
    policy.rules.push_back(rule_when(R"(when = { caller = "a" })"));
    EXPECT_FALSE(policy.needs().looks_at_sizes);
    policy.rules.push_back(rule_when("when = { caller = \"b\" }\nunless = { k = 5 }"));
    EXPECT_TRUE(policy.needs().looks_at_sizes);
}

/// Returns a call from a line with this text; nullopt: the text cannot be read.
MatmulCall at_line(std::string_view where, std::optional<std::string_view> text) {
    struct Text : SourceLineText {
        std::optional<std::string_view> text;
    };
    static Text line;
    line.text = text;
    line.read_text = [](const SourceLineText& self) { return static_cast<const Text&>(self).text; };
    MatmulCall call = gemm();
    call.where = where;
    call.text = &line;
    return call;
}

TEST(Text, FindsALineThatHasMoved) {
    const Rule rule = rule_when(R"(when = { where = "t.py:7 f", text = "return a @ b" })");
    EXPECT_TRUE(decides_call(rule, at_line("t.py:7 f", "return a @ b"), process));
    EXPECT_TRUE(decides_call(rule, at_line("t.py:99 f", "return a @ b"), process));
    EXPECT_FALSE(decides_call(rule, at_line("t.py:7 f", "return a @ c"), process));
    EXPECT_FALSE(decides_call(rule, at_line("t.py:7 g", "return a @ b"), process));
    EXPECT_FALSE(decides_call(rule, at_line("u.py:7 f", "return a @ b"), process));
}

TEST(Text, GoesByTheNumberWhereItCannotBeRead) {
    const Rule rule = rule_when(R"(when = { where = "t.py:7 f", text = "return a @ b" })");
    EXPECT_TRUE(decides_call(rule, at_line("t.py:7 f", std::nullopt), process));
    EXPECT_FALSE(decides_call(rule, at_line("t.py:8 f", std::nullopt), process));
    EXPECT_FALSE(decides_call(rule_when(R"(when = { where = "t.py:* f", text = "x" })"),
                              at_line("t.py:7 f", std::nullopt), process));
}

TEST(Text, NeedsAPlaceBesideIt) {
    const auto loaded =
        read_policy("schema = 1\n[[rule]]\nprecision = \"high\"\nwhen = { text = \"x\" }\n", "t.toml");
    ASSERT_EQ(loaded.errors.size(), 1U);
    EXPECT_NE(loaded.errors.front().text().find("when: found text without where"), std::string::npos);
}

TEST(Text, RulesOfTwoLinesOfOneFunctionDoNotShadowEachOther) {
    const auto loaded = read_policy(
        "schema = 1\n[[rule]]\nprecision = \"high\"\nwhen = { where = \"t.py:7 f\", text = \"x\" }\n"
        "[[rule]]\nprecision = \"high\"\nwhen = { where = \"t.py:8 f\", text = \"y\" }\n"
        "[[rule]]\nprecision = \"high\"\nwhen = { where = \"t.py:9 f\", text = \"y\", m = 3 }\n",
        "t.toml");
    const auto shadowed = find_shadowed_rules(loaded.policy.rules);
    ASSERT_EQ(shadowed.size(), 1U);
    EXPECT_EQ(shadowed.front().rule, 2U);
    EXPECT_EQ(shadowed.front().by, 1U);
}

}  // namespace
}  // namespace fp32shim::policy
