#include "record/lines/event_lines.hpp"

#include <optional>

#include "system/line_writer.hpp"

namespace fp32shim::record {
namespace {

/// Writes one flat JSON object on one line. Every key is always written; an absent value becomes null. The member
/// functions are named like the kinds of fields in decision_fields.def, which says for each kind what counts as
/// absent.
class JsonLine {
  public:
    JsonLine(std::span<char> out, std::string_view event, const ProcessFacts& facts, const TimeAndThread& moment)
        : writer_(out) {
        writer_.text("{");
        code("event", event);
        integer("schema", log_schema);
        begin_member("time").texts("\"").utc_time(moment.time_ns).texts("\"");
        integer("time_ns", moment.time_ns);
        string("host", facts.host, 128);
        string("job_id", facts.job_id, 128);
        size("rank", facts.rank);
        integer("pid", moment.pid);
        size("tid", moment.tid);
        string("executable", facts.executable, 512);
    }

    /// Writes a text, in which characters are escaped as JSON needs it. At most `limit` bytes are written
    /// (LineWriter::escaped()).
    void string(std::string_view key, std::string_view value, std::size_t limit) {
        if (value.empty()) return null(key);
        begin_member(key).texts("\"").escaped(value, limit).texts("\"");
    }
    /// Writes a string that needs no escaping or truncation.
    void code(std::string_view key, std::string_view value) {
        if (value.empty()) return null(key);
        begin_member(key).texts("\"", value, "\"");
    }
    template <class Enumeration>
    void code(std::string_view key, Enumeration value) {
        code(key, to_string(value));
    }
    template <class Enumeration>
    void code(std::string_view key, std::optional<Enumeration> value) {
        code(key, value ? to_string(*value) : std::string_view());
    }
    void letter(std::string_view key, char value) { string(key, std::string_view(&value, value == '\0' ? 0 : 1), 6); }
    void integer(std::string_view key, std::optional<std::int64_t> value) {
        if (!value) return null(key);
        begin_member(key).number(*value);
    }
    void positive(std::string_view key, std::int64_t value) {
        integer(key, value == 0 ? std::nullopt : std::optional(value));
    }
    void size(std::string_view key, std::int64_t value) {
        integer(key, value == -1 ? std::nullopt : std::optional(value));
    }
    void compute_capability(std::string_view key, std::int32_t value) {
        if (value == 0) return null(key);
        begin_member(key).text("\"").number(value / 10).text(".").number(value % 10).text("\"");
    }
    /// Closes the object and ends the line. Returns the line's size, or 0 if the buffer was too small for it.
    std::size_t finish() {
        writer_.text("}\n");
        return writer_.overflowed() ? 0 : writer_.size();
    }

  private:
    system::LineWriter& begin_member(std::string_view key) {
        return writer_.texts(writer_.size() > 1 ? ",\"" : "\"", key, "\":");
    }
    void null(std::string_view key) { begin_member(key).texts("null"); }

    system::LineWriter writer_;
};

}  // namespace

// The number in each call of string() is the largest size of the value, in bytes between the quotes. The numbers keep
// the longest line within line_limit. Tests check this with values as long as their limits.

std::size_t format_start(const StartEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out) {
    JsonLine line(out, "start", facts, moment);
    line.string("version", event.version, 64);
    line.string("policy_name", event.policy_name, 256);
    line.string("policy_revision", event.policy_revision, 128);
    line.string("policy_sha256", event.policy_sha256, 64);
    line.code("default_precision", event.default_precision);
    line.code("floor", event.floor);
    line.string("floor_exception", event.floor_exception, 128);
    line.code("cpu_mode", event.cpu_mode);
    line.code("tf32_rounding", event.rounds_at_random ? std::string_view("random") : to_string(event.tf32_rounding));
    line.code("accumulation", event.accumulation);
    line.code("log_level", event.log_level);
    line.string("where", to_string(event.where), 64);
    line.code("job_id_from", std::string_view(facts.job_id_from));
    line.code("rank_from", std::string_view(facts.rank_from));
    line.integer("forked_from", facts.forked_from == 0 ? std::nullopt : std::optional(facts.forked_from));
    line.string("command", facts.command, 2048);
    return line.finish();
}

std::size_t format_decision(const DecisionEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                            std::span<char> out) {
    JsonLine line(out, "decision", facts, moment);
#define DECISION_FIELD(key, member, kind, ...) line.kind(#key, event.member __VA_OPT__(, ) __VA_ARGS__);
#define CALL_FIELD DECISION_FIELD
#include "record/decision_fields.def"
    return line.finish();
}

std::size_t format_error(const ErrorEvent& event, const ProcessFacts& facts, const TimeAndThread& moment,
                         std::span<char> out) {
    JsonLine line(out, "error", facts, moment);
    line.code("code", event.code);
    line.string("detail", event.detail, 2048);
    line.size("dropped", event.dropped);
    return line.finish();
}

}  // namespace fp32shim::record
