#include "record/lines/event_lines.hpp"

namespace fp32shim::record {

// Numbers in the calls below limit the values, in bytes between the quotes. They keep the longest line within
// line_limit. The tests fill every value to its limit.

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
        .string("floor_exception", event.floor_exception, 128)
        .code("cpu_mode", event.cpu_mode)
        .code("tf32_rounding", event.rounds_at_random ? std::string_view("random") : to_string(event.tf32_rounding))
        .code("accumulation", event.accumulation)
        .code("log_level", event.log_level)
        .string("where", to_string(event.where), 64)
        .code("job_id_from", std::string_view(facts.job_id_from))
        .code("rank_from", std::string_view(facts.rank_from))
        .integer("forked_from", facts.forked_from == 0 ? std::nullopt : std::optional(facts.forked_from))
        .string("command", facts.command, 2048);
    return line.finish();
}

std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const Moment& moment,
                            std::span<char> out) {
    JsonLine line(out);
    write_common_fields(line, "decision", facts, moment);
    write_decision_fields(line, event, [&](std::string_view key, std::int64_t value) { line.size(key, value); });
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
