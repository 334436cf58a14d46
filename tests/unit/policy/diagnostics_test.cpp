// Tests every possible error in a policy file, and its message word for word.
#include <gtest/gtest.h>

#include "policy/load.hpp"

namespace fp32shim::policy {

void PrintTo(const Diagnostic& diagnostic, std::ostream* stream) { *stream << diagnostic.text(); }

namespace {

std::vector<std::string> messages_of(std::string_view text) {
    std::vector<std::string> messages;
    for (const auto& error : read_policy(text, "p.toml").errors) messages.push_back(error.text());
    return messages;
}

struct Case {
    const char* name;
    std::string text;  ///< text after `schema = 1` on the first line
    std::string message;
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

class Diagnostics : public testing::TestWithParam<Case> {};

TEST_P(Diagnostics, SaysWhatWasFoundAndWhatIsAllowed) {
    EXPECT_EQ(messages_of("schema = 1\n" + GetParam().text), std::vector{GetParam().message});
}

const std::string default_words = "native, highest, high, medium, auto, ieee, fp32, tf32, bf16";
const std::string rule_words = default_words +
                               ", fp64, single, sgemm, bf16x9, tf32x3, bf16x3, bf16x2, xf32, fp16, e4m3, e5m2, "
                               "fp32_perturbed, fixed, fp64_emulated, bfx9";
const std::string when_keys =
    "function, caller, executable, command, host, scope, where, text, call_site, stack, device, dtype, "
    "compute_capability, m, n, k, batch, min_dim, max_dim, flops, call_number";
const std::string file_keys = "schema, requires, name, revision, default, limits, cpu, cuda, log, audit, rule";

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Settings, Diagnostics,
    testing::Values(
        Case{"UnknownKey", "defualt = \"high\"",
             "p.toml:2:1: unknown key \"defualt\"; allowed: " + file_keys + "; did you mean \"default\"?"},
        Case{"UnknownKeyInASection", "[limits]\n  flor = \"fp32\"",
             "p.toml:3:3: unknown key \"flor\" in limits; allowed: floor, allow_bf16x9, except; did you mean "
             "\"floor\"?"},
        Case{"ExceptionIsNoTable", "[limits]\nexcept = \"alice\"",
             "p.toml:3:10: except: found \"alice\"; allowed: at most 100 tables that each begin with "
             "[[limits.except]]"},
        Case{"UnknownKeyInAnException", "[[limits.except]]\nuser = 1\ngruop = 2",
             "p.toml:4:1: unknown key \"gruop\" in limits.except; allowed: name, floor, allow_bf16x9, user, group, "
             "command, job, account; did you mean \"group\"?"},
        Case{"ExceptionWithoutCondition", "[[limits.except]]\nname = \"all\"\nfloor = \"tf32\"",
             "p.toml:2:1: exception \"all\" has no condition; add user, group, command, job or account"},
        Case{"ExceptionToAnUnknownFloor", "[[limits.except]]\nuser = 1\nfloor = \"tf23\"",
             "p.toml:4:9: floor: found \"tf23\"; allowed: none, fp16, bf16, tf32, bf16x9, fp32; did you mean "
             "\"tf32\"?"},
        Case{"ExceptionForNobody", "[[limits.except]]\nuser = []",
             "p.toml:3:8: user: found an empty list; omit the key instead"},
        Case{"ExceptionForANegativeNumber", "[[limits.except]]\ngroup = [\"a\", -1]",
             "p.toml:3:15: group: found -1; allowed: a name, a number, or a list of these"},
        Case{"ExceptionForNoName", "[[limits.except]]\naccount = \"\"",
             "p.toml:3:11: account: found \"\"; allowed: a name, a number, or a list of these"},
        Case{"ExceptionForANumberAsCommand", "[[limits.except]]\ncommand = 3",
             "p.toml:3:11: command: found 3; allowed: a glob such as \"libtorch_*\", or a list of them"},
        Case{"UnknownSection", "[gpu]",
             "p.toml:2:2: unknown key \"gpu\"; allowed: " + file_keys + "; did you mean \"cpu\"?"},
        Case{"UnknownPrecision", "default = \"hihg\"",
             "p.toml:2:11: default: found \"hihg\"; allowed: " + default_words + "; did you mean \"high\"?"},
        Case{"Bf16x9AsDefault", "default = \"BF16x9\"",
             "p.toml:2:11: default: found \"BF16x9\"; allowed: " + default_words + "; bf16x9 is for rules only"},
        Case{"Bfx9AsDefault", "default = \"bfx9\"",
             "p.toml:2:11: default: found \"bfx9\"; allowed: " + default_words + "; bf16x9 is for rules only"},
        Case{"Xf32AsDefault", "default = \"xf32\"",
             "p.toml:2:11: default: found \"xf32\"; allowed: " + default_words + "; xf32 is for rules only"},
        Case{"PrecisionOfAnotherType", "default = 32", "p.toml:2:11: default: found 32; allowed: " + default_words},
        Case{"NameOfAnotherType", "name = 7", "p.toml:2:8: name: found 7; allowed: a string that is not empty"},
        Case{"EmptyRevision", "revision = \"\"",
             "p.toml:2:12: revision: found \"\"; allowed: a string that is not empty"},
        Case{"ValueInsteadOfASection", "limits = \"fp32\"", "p.toml:2:10: limits: found \"fp32\"; allowed: a table"},
        Case{"UnknownFloor", "[limits]\nfloor = \"high\"",
             "p.toml:3:9: floor: found \"high\"; allowed: none, fp16, bf16, tf32, bf16x9, fp32; did you mean "
             "\"tf32\"?"},
        Case{"NoBoolean", "[limits]\nallow_bf16x9 = 1", "p.toml:3:16: allow_bf16x9: found 1; allowed: true, false"},
        Case{"UnknownCpuMode", "[cpu]\nmode = \"emulated\"",
             "p.toml:3:8: mode: found \"emulated\"; allowed: off, emulate, accelerate, reproducible; did you mean "
             "\"emulate\"?"},
        Case{"UnknownRounding", "cpu.tf32_rounding = \"zero\"",
             "p.toml:2:21: tf32_rounding: found \"zero\"; allowed: away, even, truncate, a100, hopper, mi300"},
        Case{"UnknownAccumulation", "cpu.accumulation = \"rtx4090\"",
             "p.toml:2:20: accumulation: found \"rtx4090\"; allowed: library, v100, a100, a2, ada, l40s, hopper, "
             "h100, h200, b200, b200_tcgen05"},
        Case{
            "ComputeCapabilityAsNumber", "[cuda]\nmin_compute_capability = 8.0",
            "p.toml:3:26: min_compute_capability: found 8.0; allowed: a string such as \"8.0\", the oldest GPUs with "
            "TF32, or higher"},
        Case{"ComputeCapabilityWithoutTf32", "[cuda]\nmin_compute_capability = \"7.5\"",
             "p.toml:3:26: min_compute_capability: found \"7.5\"; allowed: a string such as \"8.0\", the oldest GPUs "
             "with TF32, or higher"},
        Case{"PedanticAsString", "[cuda]\npedantic = \"yes\"",
             "p.toml:3:12: pedantic: found \"yes\"; allowed: true, false"},
        Case{"LogOfUnknownFormat", "[log]\npath = \"run.log\"",
             "p.toml:3:8: path: found \"run.log\"; allowed: stderr, NAME.jsonl, NAME.fp32rec"},
        Case{"LogLevel", "[log]\nlevel = \"call\"",
             "p.toml:3:9: level: found \"call\"; allowed: summary, calls; did you mean \"calls\"?"},
        Case{
            "LogMaxSize", "[log]\nmax_size = \"1 GiB\"",
            "p.toml:3:12: max_size: found \"1 GiB\"; allowed: bytes, at least 1 MiB, as a number or a string such as "
            "\"64MiB\", \"1GiB\""},
        Case{"NegativeLogMaxSize", "[log]\nmax_size = -1",
             "p.toml:3:12: max_size: found -1; allowed: bytes, at least 1 MiB, as a number or a string such as "
             "\"64MiB\", \"1GiB\""},
        Case{"LogGpuTimes", "[log]\ngpu_times = -1",
             "p.toml:3:13: gpu_times: found -1; allowed: a whole number from 0 to 1000000000"},
        Case{"LogWhere", "[log]\nwhere = [\"python\", \"lines\"]",
             "p.toml:3:20: where: found \"lines\"; allowed: none, python, nvtx, itt, torch, native, auto, native:N"},
        Case{"LogWhereWithATooLargeNumber", "[log]\nwhere = \"native:65\"",
             "p.toml:3:9: where: found \"native:65\"; allowed: native:2 to native:64, a number of callers"},
        Case{"LogWhereThatIsNoText", "[log]\nwhere = 8",
             "p.toml:3:9: where: found 8; allowed: none, python, nvtx, itt, torch, native, auto, native:N"},
        Case{"LogOnFull", "[log]\non_full = \"stop\"",
             "p.toml:3:11: on_full: found \"stop\"; allowed: drop, overwrite"},
        Case{"LogModeForOthersToWrite", "[log]\nmode = \"0666\"",
             "p.toml:3:8: mode: found \"0666\"; allowed: \"0600\", \"0640\", \"0604\", \"0644\"; only the owner may "
             "write"},
        Case{
            "LogModeAsNumber", "[log]\nmode = 0o600",
            "p.toml:3:8: mode: found 384; allowed: \"0600\", \"0640\", \"0604\", \"0644\"; only the owner may write"},
        Case{"LogGroup", "[log]\ngroup = 100", "p.toml:3:9: group: found 100; allowed: a string that is not empty"},
        Case{"SampleOutOfRange", "[audit]\nsample = 1.5",
             "p.toml:3:10: sample: found 1.5; allowed: a fraction from 0 to 1"},
        Case{"SampleNotANumber", "[audit]\nsample = nan",
             "p.toml:3:10: sample: found nan; allowed: a fraction from 0 to 1"},
        Case{"ToleranceOutOfRange", "[audit]\ntolerance = 0",
             "p.toml:3:13: tolerance: found 0; allowed: a number greater than 0"},
        Case{"InfiniteTolerance", "[audit]\ntolerance = inf",
             "p.toml:3:13: tolerance: found inf; allowed: a number greater than 0"},
        Case{"AuditSeed", "[audit]\nseed = -1", "p.toml:3:8: seed: found -1; allowed: a whole number from 0"},
        Case{"AuditAgainst", "[audit]\nagainst = \"fp32\"",
             "p.toml:3:11: against: found \"fp32\"; allowed: fp64, bf16x9, tf32x3, bf16x3, bf16x2, "
             "tf32, xf32, bf16, fp16, e4m3, e5m2, fp32_perturbed"},
        Case{"AuditMetric", "[audit]\nmetric = \"rows\"",
             "p.toml:3:10: metric: found \"rows\"; allowed: norm, max, mean, component, row; did you mean \"row\"?"},
        Case{"AuditAction", "[audit]\naction = \"stop\"", "p.toml:3:10: action: found \"stop\"; allowed: log, pin"},
        Case{"RequiresAVersion", "requires = 1",
             "p.toml:2:12: requires: found 1; allowed: a string such as \">=0.1\", \">=0.1 <2\""},
        Case{"RequiresAnOperator", "requires = \"0.1\"",
             "p.toml:2:12: requires: found \"0.1\"; allowed: a string such as \">=0.1\", \">=0.1 <2\""},
        Case{"Date", "name = 2026-11-21",
             "p.toml:2:8: name: found a date or time; allowed: a string that is not empty"}),
    name_of_case);

const std::string rule = "[[rule]]\nprecision = \"high\"\n";  // these are lines 2 and 3

INSTANTIATE_TEST_SUITE_P(
    Rules, Diagnostics,
    testing::Values(
        Case{
            "UnknownRuleKey", rule + "wehn = { m = 1 }",
            "p.toml:4:1: unknown key \"wehn\" in rule; allowed: name, precision, accumulate, mantissa_bits, split_k, "
            "reduction, assume_aligned, lower_guarded, when, unless; did you mean \"when\"?"},
        Case{"UnknownCondition", rule + "when = { max_dims = 1 }",
             "p.toml:4:10: unknown key \"max_dims\" in when; allowed: " + when_keys + "; did you mean \"max_dim\"?"},
        Case{"UnknownUnlessCondition", rule + "when = { m = 1 }\nunless = { size = 1 }",
             "p.toml:5:12: unknown key \"size\" in unless; allowed: " + when_keys},
        Case{"RulePrecision", "[[rule]]\nprecision = \"tf23\"",
             "p.toml:3:13: precision: found \"tf23\"; allowed: " + rule_words + "; did you mean \"tf32\"?"},
        Case{"NoPrecision", "[[rule]]\nname = \"x\"",
             "p.toml:2:1: rule \"x\" has no precision, accumulate, split_k or reduction; precisions: " + rule_words},
        Case{"OneRuleTable", "[rule]\nprecision = \"high\"",
             "p.toml:2:1: rule: found a table; allowed: tables that each begin with [[rule]]"},
        Case{"ListOfRuleNames", "rule = [\"a\"]",
             "p.toml:2:8: rule: found an array; allowed: tables that each begin with [[rule]]"},
        Case{"WhenIsNotATable", rule + "when = \"cuda\"", "p.toml:4:8: when: found \"cuda\"; allowed: a table"},
        Case{"AssumeAligned", rule + "assume_aligned = \"yes\"",
             "p.toml:4:18: assume_aligned: found \"yes\"; allowed: true, false"},
        Case{"GlobOfAnotherType", rule + "when = { caller = 3 }",
             "p.toml:4:19: caller: found 3; allowed: a glob such as \"libtorch_*\", or a list of them"},
        Case{"GlobInAList", rule + "when = { caller = [\"a\", true] }",
             "p.toml:4:25: caller: found true; allowed: a glob such as \"libtorch_*\", or a list of them"},
        Case{"UnclosedSet", rule + "when = { caller = \"lib[ab\" }",
             "p.toml:4:19: caller: found \"lib[ab\", in which a [ has no ]"},
        Case{"GlobOfCallSite", rule + "when = { call_site = \"lib!f[0\" }",
             "p.toml:4:22: call_site: found \"lib!f[0\", in which a [ has no ]"},
        Case{"GlobOfStack", rule + "when = { stack = [\"a\", 3] }",
             "p.toml:4:24: stack: found 3; allowed: a glob such as \"libtorch_*\", or a list of them"},
        Case{"EmptyList", rule + "when = { caller = [] }",
             "p.toml:4:19: caller: found an empty list; omit the key instead"},
        Case{"UnknownDevice", rule + "when = { device = \"gpu\" }",
             "p.toml:4:19: device: found \"gpu\"; allowed: cpu, cuda; did you mean \"cpu\"?"},
        Case{"UnknownDtype", rule + "when = { dtype = \"flaot32\" }",
             "p.toml:4:18: dtype: found \"flaot32\"; allowed: float32, complex64, float16, bfloat16, float64, "
             "complex128; did you mean \"float32\"?"},
        Case{"ObservedDtype", rule + "when = { dtype = [\"float32\", \"float8\"] }",
             "p.toml:4:30: dtype: found \"float8\"; allowed: float32, complex64, float16, bfloat16, float64, "
             "complex128; narrower products are observed, never altered"},
        Case{"HalfDtypeWithoutAccumulate", rule + "when = { dtype = [\"float32\", \"float16\"] }",
             "p.toml:4:18: dtype: found a half type, for which a rule needs accumulate, split_k or reduction; "
             "half products have no precision to choose"},
        Case{"AccumulateOfFloat32", rule + "accumulate = \"fp32\"\nwhen = { dtype = \"float32\" }",
             "p.toml:4:14: accumulate is for float16 and bfloat16, of which dtype names none"},
        Case{"AccumulateOnCpu", rule + "accumulate = \"fp32\"\nwhen = { device = \"cpu\" }",
             "p.toml:4:14: accumulate is for GPUs, but device is cpu"},
        Case{"SplitKOnCpu", rule + "split_k = 1\nwhen = { device = \"cpu\" }",
             "p.toml:4:11: split_k is for GPUs, but device is cpu"},
        Case{"ReductionOfFunctionsWithoutAlgorithms",
             rule + "reduction = \"compute_type\"\nwhen = { function = \"cublasSgemm*\" }",
             "p.toml:4:13: reduction is for cublasLtMatmul, which function does not match"},
        Case{"PrecisionOfHalf", rule + "accumulate = \"fp32\"\nwhen = { dtype = \"bfloat16\" }",
             "p.toml:3:13: precision is for float32 and float64, of which dtype names none"},
        Case{"CapabilityAsNumber", rule + "when = { compute_capability = 8.0 }",
             "p.toml:4:31: compute_capability: found 8.0; allowed: a string such as \">=8.0\", \"9.0\", or a list of "
             "these"},
        Case{"SizeWithoutANumber", rule + "when = { max_dim = \"small\" }",
             "p.toml:4:20: max_dim: found \"small\"; allowed: a whole number, a string such as \"<=128\", \">=64 "
             "<=256\", \"2G\", or a list of these"},
        Case{"NegativeSize", rule + "when = { m = -1 }",
             "p.toml:4:14: m: found -1; allowed: a whole number, a string such as \"<=128\", \">=64 <=256\", \"2G\", "
             "or "
             "a list of these"},
        Case{
            "FractionOfASize", rule + "when = { m = 1.0 }",
            "p.toml:4:14: m: found 1.0; allowed: a whole number, a string such as \"<=128\", \">=64 <=256\", \"2G\", "
            "or a list of these"},
        Case{"EmptyRange", rule + "when = { m = \">=10 <=5\" }",
             "p.toml:4:14: m: found \">=10 <=5\", which no number satisfies"},
        Case{"EmptyRangeInAList", rule + "when = { m = [1, \">5 <6\"] }",
             "p.toml:4:18: m: found \">5 <6\", which no number satisfies"},
        Case{"MinAboveMax", rule + "when = { min_dim = \">=200\", max_dim = \"<=100\" }",
             "p.toml:2:1: rule \"rule 1\" can never apply: min_dim and max_dim exclude each other"},
        Case{"SizeAboveMax", rule + "when = { k = [\">=200\", 150], max_dim = \"<=100\" }",
             "p.toml:2:1: rule \"rule 1\" can never apply: k and max_dim exclude each other"},
        Case{"SizeBelowMin", rule + "when = { n = \"<=20\", min_dim = \">=100\" }",
             "p.toml:2:1: rule \"rule 1\" can never apply: n and min_dim exclude each other"},
        Case{"CapabilityOfACpu", rule + "when = { device = \"cpu\", compute_capability = \">=8.0\" }",
             "p.toml:2:1: rule \"rule 1\" can never apply: device is cpu, which has no compute_capability"},
        Case{"WhenEqualsUnless", rule + "when = { m = 5 }\nunless = { m = \"5\" }",
             "p.toml:2:1: rule \"rule 1\" can never apply: unless is the same as when"},
        Case{"RuleWithoutWhen", rule + rule + "when = { m = 1 }",
             "p.toml:2:1: rule \"rule 1\" has no when; only the last rule may omit it"},
        Case{"RuleWithUnlessOnly", rule + "unless = { m = 1 }\n" + rule,
             "p.toml:2:1: rule \"rule 1\" has no when; only the last rule may omit it"},
        Case{"ShadowedRule", rule + "name = \"a\"\nwhen = { m = 1 }\n" + rule + "name = \"b\"\nwhen = { m = 1 }",
             "p.toml:6:1: rule \"b\" is never reached, because rule \"a\" on line 2 applies to the same calls"},
        Case{"RuleShadowedDespiteUnless", rule + "when = { m = 1 }\n" + rule + "when = { m = 1 }\nunless = { n = 1 }",
             "p.toml:5:1: rule \"rule 2\" is never reached, because rule \"rule 1\" on line 2 applies to the same "
             "calls"},
        Case{"RuleShadowedWithTheSameUnless",
             rule + "when = { m = 1 }\nunless = { n = 1 }\n" + rule + "when = { m = 1 }\nunless = { n = 1 }",
             "p.toml:6:1: rule \"rule 2\" is never reached, because rule \"rule 1\" on line 2 applies to the same "
             "calls"},
        Case{"RuleNameTwice", rule + "name = \"a\"\nwhen = { m = 1 }\n" + rule + "name = \"a\"\nwhen = { m = 2 }",
             "p.toml:8:8: name: found \"a\", which the rule on line 2 already has"}),
    name_of_case);

// The other parts of these messages come from toml++.
TEST(Diagnostics, PassOnWhatIsNotToml) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"schema = 1\ndefault = ", "p.toml:2:11: not valid TOML: "},
        {"schema = 1\nname = \"a\"\nname = \"b\"", "p.toml:3:8: not valid TOML: "},
        {"schema = 1\n[limits]\n[limits]", "p.toml:3:1: not valid TOML: "},
        {"schema = 1\nname = \"\xff\"", "p.toml:2:8: not valid TOML: "},
    };
    for (const auto& [text, beginning] : cases) {
        const auto messages = messages_of(text);
        ASSERT_EQ(messages.size(), 1u);
        EXPECT_TRUE(messages.front().starts_with(beginning)) << messages.front();
    }
}

TEST(Diagnostics, OfATextWithoutItsQuotesShowItWithThem) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"schema = 1\ndefault = high\n", "\"high\""},
        {"schema = 1\n[log]\npath = /tmp/x.fp32rec # here", "\"/tmp/x.fp32rec\""},
        {"schema = 1\n[[rule]]\nwhen = { m = 4, where = train.py }", "\"train.py\""},
        {"schema = 1\nname = a", "\"a\""},
    };
    for (const auto& [text, quoted] : cases) {
        const auto messages = messages_of(text);
        ASSERT_EQ(messages.size(), 1u);
        EXPECT_TRUE(messages.front().ends_with("; a text needs quotes: " + std::string(quoted))) << messages.front();
    }
    for (const std::string_view text : {"default = ", "m = 1_", "x y", "[limits", "a = [1 2]"})
        for (const std::string& message : messages_of("schema = 1\n" + std::string(text)))
            EXPECT_EQ(message.find("quotes: "), std::string::npos) << message;
}

TEST(Diagnostics, AskForTheSchema) {
    EXPECT_EQ(messages_of("default = \"high\"\n"),
              std::vector<std::string>{"p.toml:1:1: schema is missing; write schema = 1"});
    EXPECT_EQ(messages_of(""), std::vector<std::string>{"p.toml:1:1: schema is missing; write schema = 1"});
}

TEST(Diagnostics, OfANewerSchemaAreAboutNothingElse) {
    EXPECT_EQ(
        messages_of("schema = 2\nfuture = true\n"),
        std::vector<std::string>{"p.toml:1:10: schema: found 2; allowed: 1, the only one that fp32shim 0.1.0 reads"});
    EXPECT_EQ(messages_of("schema = \"1\""),
              std::vector<std::string>{
                  "p.toml:1:10: schema: found \"1\"; allowed: 1, the only one that fp32shim 0.1.0 reads"});
}

TEST(Diagnostics, OfANewerRequirementAreAboutNothingElse) {
    EXPECT_EQ(messages_of("schema = 2\nrequires = \">=0.3\"\nfuture = true\n"),
              std::vector<std::string>{"p.toml:2:12: the policy needs fp32shim >=0.3, but this is 0.1.0"});
    EXPECT_EQ(messages_of("schema = 1\nrequires = \">=0.1 <0.1\"\n"),
              std::vector<std::string>{"p.toml:2:12: the policy needs fp32shim >=0.1 <0.1, but this is 0.1.0"});
}

TEST(Diagnostics, AreAllCollectedInTheOrderOfTheFile) {
    const auto messages = messages_of(R"(schema = 1
zebra = 1
default = "hihg"

[cpu]
mode = 3

[[rule]]
precision = "low"
when = { m = ">=10 <=5", n = "x" }

[audit]
sample = 2
)");
    ASSERT_EQ(messages.size(), 7u);
    const char* positions[] = {"p.toml:2:1:",   "p.toml:3:11:",  "p.toml:6:8:",  "p.toml:9:13:",
                               "p.toml:10:14:", "p.toml:10:30:", "p.toml:13:10:"};
    for (std::size_t i = 0; i < messages.size(); ++i)
        EXPECT_TRUE(messages[i].starts_with(positions[i])) << messages[i];
}

TEST(Diagnostics, OfABrokenRuleDoNotLeadToOthers) {
    // The conditions of both rules could not be read. Unread conditions count neither as equal nor as absent.
    const auto messages =
        messages_of("schema = 1\n" + rule + "when = { m = \"x\" }\n" + rule + "when = { n = \"y\" }\n");
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_TRUE(messages[0].starts_with("p.toml:4:14: m: found")) << messages[0];
    EXPECT_TRUE(messages[1].starts_with("p.toml:7:14: n: found")) << messages[1];
}

TEST(Diagnostics, CountColumnsInCharacters) {
    EXPECT_EQ(messages_of("schema = 1\nrule = [{ name = \"Größe\", precision = 1, when = { m = 1 } }]").front(),
              "p.toml:2:39: precision: found 1; allowed: " + rule_words);
}

TEST(Diagnostics, StayPrintable) {
    EXPECT_EQ(messages_of("schema = 1\ndefault = \"a\\u001b[31m\\nb\"").front(),
              "p.toml:2:11: default: found \"a\\x1b[31m\\x0ab\"; allowed: " + default_words);
}

TEST(Diagnostics, LeaveNothingOfABrokenFile) {
    const LoadedPolicy loaded =
        read_policy("schema = 1\nname = \"x\"\ndefault = \"high\"\nlimits.floor = \"fp32\"\nbad = 1\n", "p.toml");
    EXPECT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.policy.name, "");
    EXPECT_EQ(loaded.policy.file, "");
    EXPECT_EQ(loaded.policy.default_precision, Precision::native);
    EXPECT_EQ(loaded.policy.default_source, Source::native);
    EXPECT_EQ(loaded.policy.floor, Floor::none);
}

}  // namespace
}  // namespace fp32shim::policy
