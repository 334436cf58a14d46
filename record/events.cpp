#include "record/events.hpp"

#include "record/lines/json_line.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace {

// The longest that each value may become, in bytes between its quotes. Their sum and the fixed part of a line stay
// within line_limit: the tests fill every value and look.
namespace limit {
constexpr std::size_t host = 128;
constexpr std::size_t job_id = 128;
constexpr std::size_t executable = 512;
constexpr std::size_t function = 128;
constexpr std::size_t object = 256;  // caller, provider
constexpr std::size_t scope = 512;
constexpr std::size_t rule = 256;
constexpr std::size_t detail = 768;
constexpr std::size_t version = 64;
constexpr std::size_t policy_name = 256;
constexpr std::size_t policy_revision = 128;
constexpr std::size_t command = 2048;
constexpr std::size_t error_detail = 2048;
}  // namespace limit

/// The keys that every event begins with.
void begin(JsonLine& line, std::string_view event, const ProcessFacts& facts, const Moment& moment) {
    line.code("event", event)
        .integer("schema", log_schema)
        .utc_time("time", moment.time_ns)
        .integer("time_ns", moment.time_ns)
        .string("host", facts.host, limit::host)
        .string("job_id", facts.job_id, limit::job_id)
        .integer_or_null("rank", facts.rank, -1)
        .integer("pid", moment.pid)
        .integer("tid", moment.tid)
        .string("executable", facts.executable, limit::executable);
}

}  // namespace

std::string_view to_string(How how) {
    switch (how) {
        case How::forward:
            return "forward";
        case How::round_operands:
            return "round_operands";
        case How::one_by_one:
            return "one_by_one";
        case How::compute_type:
            return "compute_type";
        case How::math_mode:
            return "math_mode";
    }
    return {};
}

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_setting:
            return "bad_setting";
        case ErrorCode::provider:
            return "provider";
        case ErrorCode::lines_dropped:
            return "lines_dropped";
    }
    return {};
}

Moment this_moment() { return {system::raw::realtime_ns(), system::raw::getpid(), system::raw::gettid()}; }

StartEvent make_start_event(std::string_view version, const policy::Policy& policy) {
    StartEvent event;
    event.version = version;
    event.policy_name = policy.name;
    event.policy_revision = policy.revision;
    event.policy_sha256 = policy.sha256;
    event.default_precision = policy.default_precision;
    event.floor = policy.floor;
    event.cpu_mode = policy.cpu_mode;
    event.tf32_rounding = policy.tf32_rounding;
    if (policy.log_level != policy::LogLevel::unset) event.log_level = policy.log_level;
    return event;
}

std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out) {
    JsonLine line(out);
    begin(line, "start", facts, moment);
    line.string("version", event.version, limit::version)
        .string("policy_name", event.policy_name, limit::policy_name)
        .string("policy_revision", event.policy_revision, limit::policy_revision)
        .string("policy_sha256", event.policy_sha256, 64)
        .code("default_precision", to_string(event.default_precision))
        .code("floor", to_string(event.floor))
        .code("cpu_mode", to_string(event.cpu_mode))
        .code("tf32_rounding", to_string(event.tf32_rounding))
        .code("log_level", to_string(event.log_level))
        .code("job_id_from", facts.job_id_from)
        .code("rank_from", facts.rank_from)
        .integer_or_null("forked_from", facts.forked_from, 0)
        .string("command", facts.command, limit::command);
    return line.finish();
}

std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const Moment& moment,
                            std::span<char> out) {
    const policy::MatmulCall& call = event.call;
    JsonLine line(out);
    begin(line, "decision", facts, moment);
    line.string("function", call.function, limit::function)
        .code("dtype", to_string(call.dtype))
        .code("device", to_string(call.device))
        .integer_or_null("device_index", call.device_index, -1)
        .compute_capability("compute_capability", call.compute_capability)
        .letter("trans_a", call.trans_a)
        .letter("trans_b", call.trans_b)
        .integer_or_null("m", call.m, -1)
        .integer_or_null("n", call.n, -1)
        .integer_or_null("k", call.k, -1)
        .integer("batch", call.batch)
        .string("caller", call.caller, limit::object)
        .string("scope", call.scope, limit::scope)
        .string("provider", event.provider, limit::object)
        .code("requested", to_string(event.requested))
        .code("source", to_string(event.source))
        .string("rule", event.rule, limit::rule)
        .code("applied", to_string(event.applied))
        .code("actual", event.actual ? to_string(*event.actual) : std::string_view{})
        .code("how", to_string(event.how))
        .code("reason", to_string(event.reason))
        .string("detail", event.detail, limit::detail)
        .integer_or_null("host_ns", event.host_ns, -1);
    if (event.status) {
        line.integer("status", *event.status);
    } else {
        line.null("status");
    }
    return line.finish();
}

std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out) {
    JsonLine line(out);
    begin(line, "error", facts, moment);
    line.code("code", to_string(event.code))
        .string("detail", event.detail, limit::error_detail)
        .integer_or_null("dropped", event.dropped, -1);
    return line.finish();
}

}  // namespace fp32shim::record
