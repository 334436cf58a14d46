#include "record/events.hpp"

#include "policy/words.hpp"
#include "record/lines/event_fields.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace {

constexpr policy::Word<How> how_words[] = {
    {"forward", How::forward},           {"round_operands", How::round_operands}, {"one_by_one", How::one_by_one},
    {"compute_type", How::compute_type}, {"math_mode", How::math_mode},
};
constexpr policy::Word<ErrorCode> error_code_words[] = {
    {"bad_setting", ErrorCode::bad_setting},
    {"provider", ErrorCode::provider},
    {"lines_dropped", ErrorCode::lines_dropped},
};

}  // namespace

std::string_view to_string(How how) { return policy::name_of(how_words, how); }
std::string_view to_string(ErrorCode code) { return policy::name_of(error_code_words, code); }

std::string_view line_in_words(const StackFrame& frame, std::span<char, 512> buffer) {
    constexpr std::size_t longest_function = 160;  // `where` has room for 256 in all
    std::string_view function = frame.function;
    if (function.size() > longest_function) {
        std::size_t end = longest_function;
        while (end > 0 && (static_cast<unsigned char>(function[end]) & 0xC0U) == 0x80) --end;  // within a character
        function = function.substr(0, end);
    }
    if (function.empty() && frame.line == 0) return {};
    system::LineWriter text(buffer);
    if (!frame.file.empty()) text.text(system::base_name(frame.file)).text(":").number(frame.line);
    if (!frame.file.empty() && !function.empty()) text.text(" ");
    text.text(function);
    return text.view();
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
    event.where = policy.log_where;
    if (policy.log_level != policy::LogLevel::unset) event.log_level = policy.log_level;
    return event;
}

// The numbers below bound the values, in bytes between the quotes. The longest line stays within line_limit: the
// tests fill every value.

std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out) {
    JsonLine line(out);
    write_common_fields(line, "start", facts, moment);
    line.string("version", event.version, 64)
        .string("policy_name", event.policy_name, 256)
        .string("policy_revision", event.policy_revision, 128)
        .string("policy_sha256", event.policy_sha256, 64)
        .code("default_precision", event.default_precision)
        .code("floor", event.floor)
        .code("cpu_mode", event.cpu_mode)
        .code("tf32_rounding", event.tf32_rounding)
        .code("log_level", event.log_level)
        .string("where", to_string(event.where), 64)
        .code("job_id_from", std::string_view(facts.job_id_from))
        .code("rank_from", std::string_view(facts.rank_from))
        .integer("forked_from", facts.forked_from == 0 ? std::nullopt : std::optional(facts.forked_from))
        .string("command", facts.command, 2048);
    return line.finish();
}

void write_decision_fields(JsonLine& line, const DecisionEvent& event) {
#define DECISION_FIELD(key, member, kind, ...) line.kind(#key, event.member __VA_OPT__(, ) __VA_ARGS__);
#define CALL_FIELD DECISION_FIELD
#include "record/decision_fields.def"
}

std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const Moment& moment,
                            std::span<char> out) {
    JsonLine line(out);
    write_common_fields(line, "decision", facts, moment);
    write_decision_fields(line, event);
    return line.finish();
}

std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const Moment& moment,
                         std::span<char> out) {
    JsonLine line(out);
    write_common_fields(line, "error", facts, moment);
    line.code("code", event.code).string("detail", event.detail, 2048).size("dropped", event.dropped);
    return line.finish();
}

}  // namespace fp32shim::record
