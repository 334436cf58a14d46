// Compares lines of a log with the golden files of schema 1, and tests their limits: record/lines/event_lines.hpp.
#include "record/lines/event_lines.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "flat_json.hpp"

namespace fp32shim::record {
namespace {

using test::FlatJson;
using test::read_flat_json;

std::string golden(const std::string& name) {
    std::ifstream file(std::string(FP32SHIM_GOLDEN_DIR) + "/" + name);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

const TimeAndThread moment{1'795'250'520'123'456'789, 4711, 4712};

ProcessFacts batch_job() {
    ProcessFacts facts;
    facts.pid = 4711;
    facts.host = "node17";
    facts.job_id = "99.head";
    facts.job_id_from = "PBS_JOBID";
    facts.rank = 0;
    facts.rank_from = "OMPI_COMM_WORLD_RANK";
    facts.executable = "/usr/bin/python3.11";
    facts.command = "python3 train.py --name \"a b\"";
    return facts;
}

StartEvent start_with_policy() {
    policy::Policy policy;
    policy.name = "prod-a100";
    policy.revision = "2026-11-21.3";
    policy.sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    policy.default_precision = policy::Precision::high;
    policy.floor = policy::Floor::tf32;
    policy.cpu_mode = policy::CpuMode::emulate;
    policy.tf32_rounding = policy::Tf32Rounding::even;
    policy.log_level = policy::LogLevel::summary;
    return make_start_event("0.1.0", policy);
}

DecisionEvent emulated_on_the_cpu() {
    DecisionEvent event;
    event.call.function = "cblas_sgemm";
    event.call.caller = "libfoo.so";
    event.call.trans_a = 'N';
    event.call.trans_b = 'T';
    event.call.m = event.call.n = event.call.k = 128;
    event.provider = "libopenblas.so.0";
    event.requested = policy::Precision::high;
    event.source = policy::Source::environment;
    event.applied = policy::AppliedFormat::tf32;
    event.how = How::round_operands;
    event.host_ns = 61'250;
    return event;
}

DecisionEvent on_a_gpu_by_a_rule() {
    DecisionEvent event;
    event.call.function = "cublasLtMatmul";
    event.call.caller = "libtorch_cuda.so";
    event.call.scope = "train/attention";
    event.call.device = policy::Device::cuda;
    event.call.device_index = 1;
    event.call.compute_capability = 75;
    event.call.trans_a = 'T';
    event.call.trans_b = 'N';
    event.call.m = 4096;
    event.call.n = 4096;
    event.call.k = 1024;
    event.call.batch = 16;
    event.provider = "libcublasLt.so.13";
    event.requested = policy::Precision::automatic;
    event.source = policy::Source::rule;
    event.rule = "attention may be \"fast\"";
    event.applied = policy::AppliedFormat::fp32;
    event.actual = policy::AppliedFormat::tf32;
    event.reason = policy::Reason::compute_capability;
    event.detail = "no algorithm fits";
    event.host_ns = 5'000;
    event.status = 0;
    return event;
}

DecisionEvent unknown() {
    DecisionEvent event;
    event.call.function = "ssyrk_";
    event.call.trans_a = 'T';
    event.call.n = 5;
    event.call.k = 7;
    event.reason = policy::Reason::width_unknown;
    return event;
}

ErrorEvent lines_dropped() { return {ErrorCode::lines_dropped, "no space left on device", 12}; }
ErrorEvent bad_setting() { return {ErrorCode::bad_setting, "FP32_MATMUL_PRECISION: found `hihg`, …", -1}; }

template <class Event, class Format>
std::string line(const Event& event, const ProcessFacts& facts, Format format) {
    std::array<char, line_limit> buffer;
    const std::size_t size = format(event, facts, moment, buffer);
    EXPECT_GT(size, 0U);
    return {buffer.data(), size};
}

FlatJson parse(const std::string& text) {
    EXPECT_EQ(text.back(), '\n');
    const auto object = read_flat_json(std::string_view(text).substr(0, text.size() - 1));
    EXPECT_TRUE(object) << text;
    return object.value_or(FlatJson{});
}

TEST(Lines, AreThoseOfTheGoldenFileOfSchema1) {
    StartEvent child;
    child.version = "0.1.0";
    ProcessFacts of_child;
    of_child.forked_from = 4000;
    const std::string lines =
        line(start_with_policy(), batch_job(), format_start) + line(child, of_child, format_start) +
        line(emulated_on_the_cpu(), ProcessFacts{}, format_decision) +
        line(on_a_gpu_by_a_rule(), batch_job(), format_decision) + line(unknown(), ProcessFacts{}, format_decision) +
        line(lines_dropped(), batch_job(), format_error) + line(bad_setting(), ProcessFacts{}, format_error);
    EXPECT_EQ(lines, golden("decision_log_schema1.jsonl"));
}

TEST(Lines, ForPeopleAreThoseOfTheGoldenFile) {
    std::array<char, 2048> buffer;
    std::string lines;
    DecisionEvent untouched = emulated_on_the_cpu();
    untouched.applied = policy::AppliedFormat::unchanged;
    untouched.how = How::forward;
    untouched.reason = policy::Reason::cpu_mode_off;
    DecisionEvent loop = emulated_on_the_cpu();
    loop.call.function = "cblas_sgemm_batch";
    loop.call.batch = 32;
    loop.how = How::one_by_one;
    for (const DecisionEvent& event : {emulated_on_the_cpu(), untouched, loop, on_a_gpu_by_a_rule(), unknown()})
        lines += std::string(format_decision_text(event, buffer)) + "\n";
    EXPECT_EQ(lines, golden("decision_text.txt"));
}

TEST(Decisions, HaveEveryKeyInOrderWhateverIsKnown) {
    const std::vector<std::string> keys = {"event",
                                           "schema",
                                           "time",
                                           "time_ns",
                                           "host",
                                           "job_id",
                                           "rank",
                                           "pid",
                                           "tid",
                                           "executable",
                                           "function",
                                           "dtype",
                                           "device",
                                           "device_index",
                                           "compute_capability",
                                           "trans_a",
                                           "trans_b",
                                           "m",
                                           "n",
                                           "k",
                                           "batch",
                                           "caller",
                                           "scope",
                                           "where",
                                           "provider",
                                           "requested",
                                           "source",
                                           "rule",
                                           "applied",
                                           "actual",
                                           "how",
                                           "reason",
                                           "detail",
                                           "host_ns",
                                           "status",
                                           "accumulator_as_called",
                                           "accumulator",
                                           "mantissa_bits",
                                           "algorithm"};
    EXPECT_EQ(parse(line(unknown(), ProcessFacts{}, format_decision)).keys(), keys);
    EXPECT_EQ(parse(line(on_a_gpu_by_a_rule(), batch_job(), format_decision)).keys(), keys);
}

TEST(Decisions, SayNullForWhatIsUnknown) {
    const FlatJson object = parse(line(unknown(), ProcessFacts{}, format_decision));
    for (const char* key : {"host",         "job_id",
                            "rank",         "executable",
                            "device_index", "compute_capability",
                            "trans_b",      "m",
                            "caller",       "scope",
                            "where",        "provider",
                            "rule",         "actual",
                            "detail",       "host_ns",
                            "status",       "accumulator_as_called",
                            "accumulator",  "mantissa_bits",
                            "algorithm"})
        EXPECT_EQ(object[key], "null") << key;
    EXPECT_EQ(object["rank"], "null");
}

TEST(Decisions, DistinguishZeroFromUnknown) {
    DecisionEvent event = unknown();
    event.call.m = event.call.k = 0;
    event.call.batch = 0;
    event.call.device_index = 0;
    event.host_ns = 0;
    event.status = 0;
    ProcessFacts facts;
    facts.rank = 0;
    const FlatJson object = parse(line(event, facts, format_decision));
    for (const char* key : {"m", "k", "batch", "device_index", "host_ns", "status", "rank"})
        EXPECT_EQ(object[key], "0") << key;
}

TEST(Decisions, KeepReasonsHowsAndErrorCodesApart) {
    std::set<std::string> reasons;
    for (std::size_t i = 0; i < policy::reason_count; ++i) {
        DecisionEvent event = unknown();
        event.reason = static_cast<policy::Reason>(i);
        reasons.insert(parse(line(event, ProcessFacts{}, format_decision))["reason"]);
        std::array<char, 2048> buffer;
        const std::string text(format_decision_text(event, buffer));
        EXPECT_EQ(text.find("because  ["), std::string::npos) << text;
    }
    EXPECT_EQ(reasons.size(), policy::reason_count);
    EXPECT_EQ(reasons.count("null"), 0U);
    EXPECT_EQ(to_string(How::one_by_one), "one_by_one");
    EXPECT_EQ(to_string(How::compute_type), "compute_type");
    EXPECT_EQ(to_string(How::math_mode), "math_mode");
    EXPECT_EQ(to_string(ErrorCode::provider), "provider");
}

TEST(Decisions, SurviveArgumentsThatAreGarbage) {
    DecisionEvent event = unknown();
    event.call.trans_a = '"';
    event.call.trans_b = static_cast<char>(0xFF);
    event.call.m = std::numeric_limits<std::int64_t>::min();
    const FlatJson object = parse(line(event, ProcessFacts{}, format_decision));
    EXPECT_EQ(object["trans_a"], R"("\"")");
    EXPECT_EQ(object["trans_b"], "\"\xEF\xBF\xBD\"");
    EXPECT_EQ(object["m"], "-9223372036854775808");
}

/// Facts and events whose values are all far too long, or as long as possible.
struct Extreme {
    std::string text;
    ProcessFacts facts;
    StartEvent start;
    DecisionEvent decision;
    ErrorEvent error;

    explicit Extreme(std::string_view unit) {
        for (int i = 0; i < 10'000; ++i) text += unit;
        facts.host = facts.job_id = facts.executable = facts.command = text;
        facts.job_id_from = "SLURM_JOB_ID";
        facts.rank_from = "OMPI_COMM_WORLD_RANK";
        facts.rank = std::numeric_limits<std::int32_t>::max();
        start = start_with_policy();
        start.version = start.policy_name = start.policy_revision = start.policy_sha256 = text;
        start.default_precision = policy::Precision::highest;
        start.cpu_mode = policy::CpuMode::accelerate;
        facts.forked_from = std::numeric_limits<std::int32_t>::min();
        decision = on_a_gpu_by_a_rule();
        constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
        decision.call = {text,
                         text,
                         text,
                         policy::Dtype::complex64,
                         policy::Device::cuda,
                         std::numeric_limits<std::int32_t>::min(),
                         std::numeric_limits<std::int32_t>::max(),
                         '\x01',
                         '\x01',
                         lowest,
                         lowest,
                         lowest,
                         lowest};
        decision.call.where = text;
        decision.provider = decision.rule = decision.detail = decision.algorithm = text;
        decision.accumulator_as_called = decision.accumulator = policy::Accumulator::fp32_reduced;
        decision.mantissa_bits = std::numeric_limits<int>::min();
        decision.source = policy::Source::environment;
        decision.applied = policy::AppliedFormat::unchanged;
        decision.actual = policy::AppliedFormat::unchanged;
        decision.how = How::round_operands;
        decision.reason = policy::Reason::cpu_accelerate_not_built;
        decision.host_ns = lowest;
        decision.status = std::numeric_limits<int>::min();
        error = {ErrorCode::lines_dropped, text, lowest};
    }
};

TEST(LongValues, AreCutSoThatEveryLineFitsAndIsValid) {
    const TimeAndThread longest{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int32_t>::min(),
                                std::numeric_limits<std::int32_t>::min()};
    for (const std::string_view unit : {"x", "\x01", "\"", "\xFF", "ü", "計", "\xF0\x9F\x98\x80", "ab\x02"}) {
        const Extreme extreme(unit);
        std::array<char, line_limit> buffer;
        for (const std::size_t size : {format_start(extreme.start, extreme.facts, longest, buffer),
                                       format_decision(extreme.decision, extreme.facts, longest, buffer),
                                       format_error(extreme.error, extreme.facts, longest, buffer)}) {
            EXPECT_GT(size, 2000U);
            EXPECT_LE(size, line_limit);
        }
        const FlatJson start = parse(line(extreme.start, extreme.facts, format_start));
        EXPECT_TRUE(start["command"].ends_with("…\""));
        const FlatJson decision = parse(line(extreme.decision, extreme.facts, format_decision));
        EXPECT_EQ(decision.members.size(), 39U);
        for (const char* key :
             {"function", "caller", "scope", "provider", "rule", "detail", "host", "executable", "algorithm"})
            EXPECT_TRUE(decision[key].ends_with("…\"")) << key;
        parse(line(extreme.error, extreme.facts, format_error));
    }
}

TEST(LongValues, AreCutInLinesForPeople) {
    const Extreme extreme("\x01");
    std::array<char, 2048> buffer;
    const std::string_view text = format_decision_text(extreme.decision, buffer);
    EXPECT_LE(text.size(), 1600U);
    EXPECT_EQ(text.find('\x01'), std::string_view::npos);
}

TEST(SmallBuffers, AreReportedInsteadOfWrittenPast) {
    std::array<char, 300> buffer;
    EXPECT_EQ(format_decision(unknown(), ProcessFacts{}, moment, buffer), 0U);
}

TEST(Moments, AreOfThisProcessAndRunForward) {
    const TimeAndThread first = current_time_and_thread();
    const TimeAndThread second = current_time_and_thread();
    EXPECT_EQ(first.pid, first.tid);
    EXPECT_LE(first.time_ns, second.time_ns);
}

TEST(LineInWords, HasTheFileTheLineAndTheFunction) {
    char buffer[512];
    EXPECT_EQ(frame_text({"/home/me/train.py", "Model.forward", 41, 0}, buffer), "train.py:41 Model.forward");
    EXPECT_EQ(frame_text({"<string>", "<module>", 0, 0}, buffer), "<string>:0 <module>");
    EXPECT_EQ(frame_text({"train.py", "", 41, 0}, buffer), "train.py:41");
    EXPECT_EQ(frame_text({"", "(outer frames left out)", 0, 0}, buffer), "(outer frames left out)");
    EXPECT_EQ(frame_text({"/usr/lib/libphysics.so", "", 0, 0x1c4}, buffer), "") << "a place in compiled code";
}

TEST(LineInWords, CutsALongNameBetweenTwoCharacters) {
    char buffer[512];
    std::string name;
    for (int i = 0; i < 100; ++i) name += "\xC3\xA9";  // UTF-8 of é
    EXPECT_EQ(frame_text({"a.py", name, 1, 0}, buffer), "a.py:1 " + name.substr(0, 156) + "…");
    EXPECT_EQ(frame_text({"a.py", "x" + name, 1, 0}, buffer), "a.py:1 x" + name.substr(0, 156) + "…");
}

}  // namespace
}  // namespace fp32shim::record
