// Tests valid policy files: every key sets the value that it should.
#include <gtest/gtest.h>

#include <limits>

#include "policy/load.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::string_view every_key = R"(schema   = 1
requires = ">=0.1"
name     = "prod-a100"
revision = "2026-11-21.3"
default  = "high"

[limits]
floor = "tf32"
allow_bf16x9 = true

[cpu]
mode = "emulate"
tf32_rounding = "even"

[cuda]
min_compute_capability = "8.6"
pedantic = true

[log]
path = "/var/log/fp32shim/%h.%p.fp32rec"
level = "calls"
max_size = "2GiB"
on_full = "overwrite"
where = ["python", "nvtx"]
mode = "0640"
group = "auditors"
gpu_times = 100

[audit]
sample = 0.001
seed = 42
against = "bf16"
metric = "norm"
tolerance = 5e-3
action = "pin"
fingerprint = true
nonfinite = true

[[rule]]
name = "preconditioners stay exact"
precision = "highest"
when = { max_dim = "<=128", caller = "libtorch_*", device = "cuda" }
unless = { scope = "inference.*", call_site = "libphysics.so!*", stack = ["* main", "* run"] }

[[rule]]
precision = "bf16x9"
assume_aligned = true

[rule.when]
function = ["cublasSgemm*", "cublasGemm*"]
executable = "python3*"
command = "*train.py*"
host = "node*"
dtype = ["float32", "complex64"]
where = "train.py:41 forward"
text = "return a @ b"
compute_capability = ">=10.0"
m = 128
n = [1, "<=4"]
k = ">=64 <=256"
batch = "<10"
min_dim = 1
flops = ">=2G"
call_number = ">=3 <=5"

[[rule]]
name = "the rest"
precision = { tolerance = 3e-3, metric = "norm" }
lower_guarded = true
)";

Policy read(std::string_view text) {
    const LoadedPolicy loaded = read_policy(text, "prod.toml");
    for (const auto& error : loaded.errors) ADD_FAILURE() << error.text();
    EXPECT_TRUE(loaded.warnings.empty());
    return loaded.policy;
}

TEST(ReadPolicy, ReadsEverySetting) {
    const Policy policy = read(every_key);
    EXPECT_EQ(policy.name, "prod-a100");
    EXPECT_EQ(policy.revision, "2026-11-21.3");
    EXPECT_EQ(policy.file, "prod.toml");
    EXPECT_EQ(policy.sha256, sha256(every_key));
    EXPECT_EQ(policy.default_precision, Precision::high);
    EXPECT_EQ(policy.default_source, Source::file);
    EXPECT_EQ(policy.floor, Floor::tf32);
    EXPECT_TRUE(policy.allow_bf16x9);
    EXPECT_EQ(policy.cpu_mode, CpuMode::emulate);
    EXPECT_EQ(policy.tf32_rounding, Tf32Rounding::even);
    EXPECT_EQ(policy.min_compute_capability, 86);
    EXPECT_TRUE(policy.pedantic);
    EXPECT_EQ(policy.log_path, "/var/log/fp32shim/%h.%p.fp32rec");
    EXPECT_EQ(policy.log_level, LogLevel::calls);
    EXPECT_EQ(policy.log_max_size, std::uint64_t{2} << 30);
    EXPECT_EQ(policy.log_on_full, OnFull::overwrite);
    EXPECT_EQ(to_string(policy.log_where), "python,nvtx");
    EXPECT_EQ(policy.log_mode, 0640u);
    EXPECT_EQ(policy.log_group, "auditors");
    EXPECT_EQ(policy.log_gpu_times, 100u);
    EXPECT_EQ(policy.audit_sample, 0.001);
    EXPECT_EQ(policy.audit_seed, 42u);
    EXPECT_EQ(policy.audit_against, AuditFormat::bf16);
    EXPECT_EQ(policy.audit_metric, ErrorMetric::norm);
    EXPECT_EQ(policy.audit_tolerance, 5e-3);
    EXPECT_EQ(policy.audit_action, AuditAction::pin);
    EXPECT_TRUE(policy.audit_fingerprint);
    EXPECT_TRUE(policy.audit_nonfinite);
    EXPECT_FALSE(policy.disabled);
}

TEST(ReadPolicy, ReadsEveryPartOfARule) {
    const Policy policy = read(every_key);
    ASSERT_EQ(policy.rules.size(), 3u);
    const Rule& first = policy.rules[0];
    EXPECT_EQ(first.name, "preconditioners stay exact");
    EXPECT_EQ(first.precision, Precision::highest);
    EXPECT_FALSE(first.assume_aligned);
    EXPECT_EQ(first.file, "prod.toml");
    EXPECT_EQ(first.line, 39);
    EXPECT_EQ(first.when.max_dim, (std::vector<NumberRange>{{0, 128}}));
    EXPECT_EQ(first.when.caller, std::vector<std::string>{"libtorch_*"});
    EXPECT_EQ(first.when.device, std::vector{Device::cuda});
    EXPECT_EQ(first.unless.scope, std::vector<std::string>{"inference.*"});
    EXPECT_EQ(first.unless.call_site, std::vector<std::string>{"libphysics.so!*"});
    EXPECT_EQ(first.unless.stack, (std::vector<std::string>{"* main", "* run"}));

    const Rule& second = policy.rules[1];
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(second.name, "rule 2");
    EXPECT_EQ(second.precision, Precision::bf16x9);
    EXPECT_TRUE(second.assume_aligned);
    EXPECT_EQ(second.line, 45);
    EXPECT_EQ(second.when.function, (std::vector<std::string>{"cublasSgemm*", "cublasGemm*"}));
    EXPECT_EQ(second.when.executable, std::vector<std::string>{"python3*"});
    EXPECT_EQ(second.when.command, std::vector<std::string>{"*train.py*"});
    EXPECT_EQ(second.when.host, std::vector<std::string>{"node*"});
    EXPECT_EQ(second.when.dtype, (std::vector{Dtype::float32, Dtype::complex64}));
    EXPECT_EQ(second.when.where, std::vector<std::string>{"train.py:41 forward"});
    EXPECT_EQ(second.when.text, std::vector<std::string>{"return a @ b"});
    EXPECT_EQ(second.when.compute_capability, (std::vector<NumberRange>{{100, infinity}}));
    EXPECT_EQ(second.when.m, (std::vector<NumberRange>{{128, 128}}));
    EXPECT_EQ(second.when.n, (std::vector<NumberRange>{{1, 1}, {0, 4}}));
    EXPECT_EQ(second.when.k, (std::vector<NumberRange>{{64, 256}}));
    EXPECT_EQ(second.when.batch, (std::vector<NumberRange>{{0, 9}}));
    EXPECT_EQ(second.when.min_dim, (std::vector<NumberRange>{{1, 1}}));
    EXPECT_EQ(second.when.flops, (std::vector<NumberRange>{{2e9, infinity}}));
    EXPECT_EQ(second.when.call_number, (std::vector<NumberRange>{{3, 5}}));

    EXPECT_FALSE(second.tolerance || second.lower_guarded);

    EXPECT_EQ(policy.rules[2].name, "the rest");
    EXPECT_EQ(policy.rules[2].precision, Precision::medium);
    EXPECT_EQ(policy.rules[2].tolerance, (Tolerance{3e-3, ErrorMetric::norm}));
    EXPECT_TRUE(policy.rules[2].lower_guarded);
    EXPECT_TRUE(policy.rules[2].when.empty());
}

TEST(ReadPolicy, KeepsTheDefaultsOfWhatIsNotWritten) {
    const Policy policy = read("schema = 1\n");
    const Policy untouched;
    EXPECT_EQ(policy.default_precision, Precision::native);
    EXPECT_EQ(policy.default_source, Source::native);
    EXPECT_EQ(policy.floor, Floor::none);
    EXPECT_EQ(policy.cpu_mode, CpuMode::off);
    EXPECT_EQ(policy.min_compute_capability, 80);
    EXPECT_EQ(policy.log_path, "");
    EXPECT_EQ(policy.log_level, LogLevel::unset);
    EXPECT_EQ(policy.log_max_size, untouched.log_max_size);
    EXPECT_EQ(policy.log_mode, 0600u);
    EXPECT_EQ(policy.log_gpu_times, 64u);
    EXPECT_EQ(policy.audit_sample, 0);
    EXPECT_FALSE(policy.audit_fingerprint);
    EXPECT_FALSE(policy.audit_nonfinite);
    EXPECT_TRUE(policy.rules.empty());
}

TEST(ReadPolicy, TakesWholeNumbersForFractionsAndBytes) {
    const Policy policy = read("schema = 1\nlog.max_size = 1048576\naudit = { sample = 1, tolerance = 2 }\n");
    EXPECT_EQ(policy.log_max_size, 1048576u);
    EXPECT_EQ(policy.audit_sample, 1);
    EXPECT_EQ(policy.audit_tolerance, 2);
}

TEST(ReadPolicy, AcceptsAByteOrderMarkAndWindowsLineEnds) {
    EXPECT_EQ(read("\xef\xbb\xbfschema = 1\r\ndefault = \"high\"\r\n").default_precision, Precision::high);
}

TEST(ReadPolicy, AllowsRulesThatOnlyLookAlike) {
    const Policy policy = read(R"(schema = 1
[[rule]]
precision = "high"
when = { max_dim = "<=128" }
unless = { caller = "a" }
[[rule]]
precision = "highest"
when = { max_dim = "<=128" }
[[rule]]
precision = "medium"
when = { min_dim = ">=128", max_dim = "<=128", m = 128 }
[[rule]]
precision = "native"
when = { device = ["cpu", "cuda"], compute_capability = "9.0" }
[[rule]]
precision = "native"
unless = { caller = "b" }
)");
    EXPECT_EQ(policy.rules.size(), 5u);
}

TEST(ReadPolicy, TakesEveryPrecisionInARule) {
    for (const std::string word : {"native", "highest", "high", "medium", "auto", "bf16x9", "bf16x3", "bf16x2",
                                   "tf32x3", "xf32", "fp16", "e4m3", "e5m2", "IEEE", "fp32", "tf32", "BF16"}) {
        const Policy policy = read("schema = 1\n[[rule]]\nprecision = \"" + word + "\"\n");
        ASSERT_EQ(policy.rules.size(), 1u);
        EXPECT_EQ(policy.rules[0].precision, parse_precision(word));
    }
}

LoadedPolicy read_fixed(const std::string& word) {
    return read_policy("schema = 1\n[[rule]]\nwhen.dtype = \"float64\"\nprecision = \"" + word + "\"\n", "p.toml");
}

TEST(ReadPolicy, TakesFixedPointNumbersOf8To53Bits) {
    for (const int bits : {8, 9, 40, 53}) {
        const LoadedPolicy loaded = read_fixed("fixed:" + std::to_string(bits));
        ASSERT_EQ(loaded.policy.rules.size(), 1u) << bits;
        EXPECT_EQ(loaded.policy.rules[0].precision, Precision::fixed);
        EXPECT_EQ(loaded.policy.rules[0].fixed_point_bits, bits);
    }
    for (const std::string word :
         {"fixed", "fixed:", "fixed:7", "fixed:54", "fixed:040", "fixed:4a", "fixed:a", "fixed=40"}) {
        const LoadedPolicy loaded = read_fixed(word);
        ASSERT_EQ(loaded.errors.size(), 1u) << word;
        EXPECT_EQ(loaded.errors[0].text(), "p.toml:4:13: precision: found \"" + word +
                                               "\"; allowed: fixed:N with N bits, from 8 to 53, as in \"fixed:40\"");
    }
}

}  // namespace
}  // namespace fp32shim::policy
