#include "cli/log_formats.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/json.hpp"
#include "cli/merged_calls.hpp"
#include "cli/moment.hpp"
#include "cli/report_formats.hpp"
#include "cli/terminal.hpp"

namespace fp32shim::cli {
namespace {

bool put(std::string_view text) {
    print(text);
    return std::ferror(stdout) == 0;
}

/// A decision with the counters of one recording, as the report has it.
MergedRow row_with_counters(const record::RecordedRow& row, const record::RecordedCounters& counters) {
    MergedRow result = to_merged_row(row);
    result.counters = counters;
    result.processes = 1;
    return result;
}

/// `cblas_sgemm 128x128x128 ... : high (environment) -> tf32 by rounding operands`, as FP32_MATMUL_LOG=stderr says
/// it.
std::string decision_words(const record::RecordedRow& row) {
    std::array<char, 1600> buffer;
    return row.is_overflow ? "(found no room)" : printable(record::format_decision_text(row.decision, buffer));
}

class TableWriter : public LogWriter {
  public:
    void begin(record::RecordingReader& recording) override {
        const record::RecordingFacts& facts = recording.facts();
        put(coloured(fmt::format("process {} on {}: {}", facts.process.pid, printable(facts.process.host),
                                 printable(facts.process.command)),
                     Colour::bold) +
            "\n");
    }
    bool event(record::RecordingReader&, const record::RecordedRow& row,
               const record::RecordedEvent& event) override {
        return put(fmt::format("{} {:>8} {:>10}  {}\n", time_of_day(event.end_ns), event.thread,
                               (event.is_timed ? "" : "~") + duration_text(static_cast<double>(event.duration_ns)),
                               decision_words(row)));
    }
    bool row(record::RecordingReader&, const record::RecordedRow& row,
             const record::RecordedCounters& counters) override {
        return put(fmt::format("{:>12} {:>10}  {}\n", count_text(counters.calls),
                               duration_text(static_cast<double>(counters.total_ns)), decision_words(row)));
    }
};

/// Calls in the words of docs/log-format.md; distinct decisions as events called `row`, with the keys of the report.
/// One object a line, or all of them as an array.
class JsonWriter : public LogWriter {
  public:
    explicit JsonWriter(bool is_array) : is_array_(is_array) {}

    void end() override {
        if (is_array_) put(has_entries_ ? "\n]\n" : "[]\n");
    }
    void begin(record::RecordingReader& recording) override {
        const record::RecordingFacts& facts = recording.facts();
        put_object(line(record::format_start(facts.start, facts.process,
                                             {facts.opened_ns, facts.process.pid, facts.process.pid}, buffer_)));
    }
    bool event(record::RecordingReader& recording, const record::RecordedRow& row,
               const record::RecordedEvent& event) override {
        record::DecisionEvent decision = row.decision;
        if (event.is_timed) decision.host_ns = static_cast<std::int64_t>(event.duration_ns);
        const record::ProcessFacts& process = recording.facts().process;
        return put_object(
            line(record::format_decision(decision, process, {event.end_ns, process.pid, event.thread}, buffer_)));
    }
    bool row(record::RecordingReader& recording, const record::RecordedRow& row,
             const record::RecordedCounters& counters) override {
        const record::ProcessFacts& process = recording.facts().process;
        Json json = {{"event", "row"},
                     {"schema", record::log_schema},
                     {"host", text_or_null(process.host)},
                     {"rank", process.rank < 0 ? Json() : Json(process.rank)},
                     {"pid", process.pid},
                     {"executable", text_or_null(process.executable)}};
        json.update(json_of(row_with_counters(row, counters)));
        return put_object(json_line(json));
    }

  private:
    /// `object` ends in a line feed.
    bool put_object(std::string_view object) {
        if (!is_array_) return put(object);
        object.remove_suffix(1);
        return put(std::exchange(has_entries_, true) ? ",\n" : "[\n") && put(object);
    }
    std::string_view line(std::size_t size) const { return {buffer_.data(), size}; }

    std::array<char, record::line_limit> buffer_{};
    bool is_array_;
    bool has_entries_ = false;
};

class CsvWriter : public LogWriter {
  public:
    void begin(record::RecordingReader&) override {}
    bool event(record::RecordingReader& recording, const record::RecordedRow& row,
               const record::RecordedEvent& event) override {
        const record::ProcessFacts& process = recording.facts().process;
        if (!std::exchange(has_title_, true)) put("time,duration_ns,host,pid,thread," + decision_title() + "\r\n");
        const std::string duration = event.is_timed ? fmt::format("{}", event.duration_ns) : "";
        return put(fmt::format("{},{},{},{},{},{}\r\n", timestamp(event.end_ns), duration, csv_field(process.host),
                               process.pid, event.thread, decision_fields(row)));
    }
    bool row(record::RecordingReader& recording, const record::RecordedRow& row,
             const record::RecordedCounters& counters) override {
        const record::ProcessFacts& process = recording.facts().process;
        if (!std::exchange(has_title_, true)) put("calls,host_ns,host,pid," + decision_title() + "\r\n");
        return put(fmt::format("{},{},{},{},{}\r\n", counters.calls, counters.total_ns, csv_field(process.host),
                               process.pid, decision_fields(row)));
    }

  private:
    static std::string decision_title() {
        return "function,dtype,device,m,n,k,batch,caller,scope,provider,requested,source,rule,applied,actual,how,"
               "reason";
    }
    static std::string decision_fields(const record::RecordedRow& recorded) {
        const MergedRow row = to_merged_row(recorded);
        const auto size = [](std::int64_t value) { return value < 0 ? std::string() : fmt::format("{}", value); };
        std::string text;
        for (const std::string& field : {row.function, row.dtype, row.device, size(row.m), size(row.n), size(row.k),
                                         size(row.batch), row.caller, row.scope, row.provider, row.requested,
                                         row.source, row.rule, row.applied, row.actual, row.how, row.reason}) {
            text += csv_field(field) + ',';
        }
        text.pop_back();
        return text;
    }

    bool has_title_ = false;
};

/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events, in microseconds.
/// Times count from the begin of the first recording, since a double has no room for nanoseconds since 1970.
class ChromeWriter : public LogWriter {
  public:
    void begin(record::RecordingReader& recording) override {
        const record::RecordingFacts& facts = recording.facts();
        if (zero_ns_ == 0) zero_ns_ = facts.opened_ns;
        entry(
            {{"name", "process_name"},
             {"ph", "M"},
             {"pid", facts.process.pid},
             {"args",
              {{"name", fmt::format("{} on {}", record::base_name(facts.process.executable), facts.process.host)}}}});
    }
    bool event(record::RecordingReader& recording, const record::RecordedRow& recorded,
               const record::RecordedEvent& event) override {
        const MergedRow row = to_merged_row(recorded);
        Json args = arguments(row);
        if (!event.is_timed) args["duration"] = "the mean of such calls: this one was not timed";
        return entry({{"name", row.function + " " + row.size_text()},
                      {"cat", row.ran_at()},
                      {"ph", "X"},
                      {"ts", static_cast<double>(event.begin_ns() - zero_ns_) / 1e3},
                      {"dur", static_cast<double>(event.duration_ns) / 1e3},
                      {"pid", recording.facts().process.pid},
                      {"tid", event.thread != 0 ? Json(event.thread) : Json(event.lane)},
                      {"args", args}});
    }
    /// A decision without its calls: the time from its first call to its last.
    bool row(record::RecordingReader& recording, const record::RecordedRow& recorded,
             const record::RecordedCounters& counters) override {
        const MergedRow row = to_merged_row(recorded);
        Json args = arguments(row);
        args["calls"] = counters.calls;
        args["host_ns"] = counters.total_ns;
        return entry({{"name", row.function + " " + row.size_text()},
                      {"cat", row.ran_at()},
                      {"ph", "X"},
                      {"ts", static_cast<double>(counters.first_ns - zero_ns_) / 1e3},
                      {"dur", static_cast<double>(counters.last_ns - counters.first_ns) / 1e3},
                      {"pid", recording.facts().process.pid},
                      {"tid", recorded.id},
                      {"args", args}});
    }
    void end() override { put(has_entries_ ? "\n]}\n" : "{\"traceEvents\": []}\n"); }

  private:
    static Json arguments(const MergedRow& row) {
        return {{"caller", text_or_null(row.caller)},   {"provider", text_or_null(row.provider)},
                {"scope", text_or_null(row.scope)},     {"requested", text_or_null(row.requested)},
                {"source", text_or_null(row.source)},   {"rule", text_or_null(row.rule)},
                {"applied", text_or_null(row.applied)}, {"reason", text_or_null(row.reason)}};
    }
    bool entry(const Json& json) {
        std::string line = json_line(json);
        line.pop_back();
        return put((std::exchange(has_entries_, true) ? ",\n" : "{\"traceEvents\": [\n") + line);
    }

    bool has_entries_ = false;
    std::int64_t zero_ns_ = 0;
};

}  // namespace

std::unique_ptr<LogWriter> make_log_writer(std::string_view format) {
    if (format == "json" || format == "jsonl") return std::make_unique<JsonWriter>(format == "json");
    if (format == "csv") return std::make_unique<CsvWriter>();
    if (format == "chrome") return std::make_unique<ChromeWriter>();
    return std::make_unique<TableWriter>();
}

}  // namespace fp32shim::cli
