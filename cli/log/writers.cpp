#include "cli/log/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "cli/log/source.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "record/lines/event_lines.hpp"

namespace fp32shim::cli {
namespace {

/// The keys with which every event begins.
constexpr Column<LogEntry> common_columns[] = {
    {"event", [](const LogEntry& entry) { return FieldValue(entry.event_name()); }},
    {"schema", [](const LogEntry&) { return FieldValue(std::int64_t{record::log_schema}); }},
    {"time", [](const LogEntry& entry) { return FieldValue(FieldValue::Time{entry.time_ns()}); }},
    {"time_ns", [](const LogEntry& entry) { return FieldValue(entry.time_ns()); }},
    {"host", [](const LogEntry& entry) { return FieldValue::text_or_null(entry.facts.process.host); }},
    {"job_id", [](const LogEntry& entry) { return FieldValue::text_or_null(entry.facts.process.job_id); }},
    {"rank", [](const LogEntry& entry) { return FieldValue::size_or_null(entry.facts.process.rank); }},
    {"pid", [](const LogEntry& entry) { return FieldValue(std::int64_t{entry.facts.process.pid}); }},
    {"tid",
     [](const LogEntry& entry) {
         return entry.call == nullptr ? FieldValue() : FieldValue::size_or_null(entry.call->thread);
     }},
    {"executable", [](const LogEntry& entry) { return FieldValue::text_or_null(entry.facts.process.executable); }},
};

/// The position of each field in the event of a call. The field `host_ns` belongs to the call, and all other fields
/// belong to its decision.
enum FieldPlace : std::size_t {
#define DECISION_FIELD(key, ...) place_of_##key,
#define CALL_FIELD(key, ...) place_of_##key,
#include "record/decision_fields.def"
};

FieldValue duration_of(const record::RecordedEvent& call) {
    return call.is_timed ? FieldValue(call.duration_ns) : FieldValue();
}

/// Returns the decision of an entry as a row of reports. Its counters are set only if the entry has counters.
MergedRow row_of(const LogEntry& entry) {
    MergedRow row = to_merged_row(entry.row);
    if (entry.counters == nullptr) return row;
    row.counters = *entry.counters;
    row.processes = 1;
    return row;
}

/// Returns the text that FP32_MATMUL_LOG=stderr prints: `cblas_sgemm 128x128x128 … -> tf32 by rounding operands`.
std::string decision_words(const record::RecordedRow& row) {
    std::array<char, 1600> buffer;
    return row.is_overflow ? "(found no room)" : printable(record::format_decision_text(row.decision, buffer));
}

class TableWriter : public LogWriter {
  public:
    void write_beginning(std::span<const LogEntryReader> recordings) override {
        std::set<std::string> hosts;
        for (const LogEntryReader& recording : recordings) {
            const record::ProcessFacts& process = recording.facts().process;
            hosts.insert(process.host);
            const std::string name = with_host_and_rank(fmt::format("process {}", process.pid), process);
            write_to_stdout(wrapped(
                coloured(fmt::format("{}: {}", printable(name), printable(process.command)), Colour::bold) + "\n"));
        }
        names_processes_ = recordings.size() > 1;
        names_hosts_ = hosts.size() > 1;
        for (const LogEntryReader& recording : recordings)
            process_width_ = std::max(process_width_, process_text(recording.facts()).size());
    }
    bool write_entry(const LogEntry& entry) override {
        std::string line =
            fmt::format("{} {:>{}}", time_of_day(entry.time_ns()), process_text(entry.facts), process_width_);
        const auto duration = [](std::uint64_t ns, bool is_estimate) {
            return duration_text(static_cast<double>(ns), is_estimate);
        };
        if (entry.call != nullptr)
            line += fmt::format("{:>8} {:>10}  ", entry.call->thread,
                                duration(entry.call->duration_ns, !entry.call->is_timed));
        else if (entry.counters != nullptr)
            line +=
                fmt::format("{:>17} {:>10}  ", counted(entry.counters->calls, "call"),
                            duration(entry.counters->total_ns, entry.counters->timed_calls < entry.counters->calls));
        else
            line += fmt::format("{:>19}  {}; ", entry.event_name(), audit_event_text(entry.row, *entry.audit));
        return write_to_stdout(wrapped(line + decision_words(entry.row) + "\n"));
    }
    bool accepts_repeated_rows() const override { return true; }

  private:
    /// Returns the name of an entry's process, followed by a blank; empty if there is only one recording.
    std::string process_text(const record::RecordingFacts& facts) const {
        if (!names_processes_) return {};
        return fmt::format("{}{}{} ", names_hosts_ ? printable(facts.process.host) : "", names_hosts_ ? ":" : "",
                           facts.process.pid);
    }

    bool names_processes_ = false, names_hosts_ = false;
    std::size_t process_width_ = 0;
};

/// Writes the events of docs/schema.md as JSON, one event per line or all events in one array.
class JsonLogWriter : public LogWriter {
  public:
    explicit JsonLogWriter(bool is_array) : is_array_(is_array) {}

    void write_beginning(std::span<const LogEntryReader> recordings) override {
        std::array<char, record::line_limit> line;
        for (const LogEntryReader& recording : recordings) {
            const record::RecordingFacts& facts = recording.facts();
            const std::size_t size = record::format_start(
                facts.start, facts.process, {facts.opened_ns, facts.process.pid, facts.process.pid}, line);
            put_object({line.data(), size});
        }
    }
    bool write_entry(const LogEntry& entry) override {
        json_.open('{').members<LogEntry>(common_columns, entry);
        if (entry.call != nullptr) {
            const auto& [before, behind] = decisions_.value_of(entry, [&] { return members_around_duration(entry); });
            json_.raw(before).member("host_ns", duration_of(*entry.call)).raw(behind);
        } else if (entry.counters != nullptr) {
            json_.members(row_columns(), row_of(entry));
        } else {
            json_.members(decision_columns(), row_of(entry)).members(audit_event_columns(*entry.audit), *entry.audit);
        }
        return put_object(json_.finish_line('}').take_text());
    }
    void write_ending() override {
        if (is_array_) write_to_stdout(has_entries_ ? "\n]\n" : "[]\n");
    }

  private:
    /// Returns the JSON members of a decision that precede the duration of its call, and those that follow the
    /// duration.
    static std::pair<std::string, std::string> members_around_duration(const LogEntry& entry) {
        const MergedRow row = row_of(entry);
        JsonWriter before, behind;
        before.members(decision_columns().first(place_of_host_ns), row);
        behind.members(decision_columns().subspan(place_of_host_ns), row);
        return {before.take_text(), behind.take_text()};
    }
    /// Writes a JSON object, whose text must end with a line feed.
    bool put_object(std::string_view object) {
        if (!is_array_) return write_to_stdout(object);
        object.remove_suffix(1);
        return write_to_stdout(std::exchange(has_entries_, true) ? ",\n" : "[\n") && write_to_stdout(object);
    }

    JsonWriter json_;
    RowValueCache<std::pair<std::string, std::string>> decisions_;
    bool is_array_;
    bool has_entries_ = false;
};

/// Writes the events of docs/schema.md, except `start` and audits, as CSV. The columns are the keys of the event
/// `row`. The counts are empty in the line of a call.
class CsvWriter : public LogWriter {
  public:
    void write_beginning(std::span<const LogEntryReader>) override {
        write_to_stdout(csv_header<LogEntry>(common_columns) + ',' + csv_header(row_columns()) + "\r\n");
    }
    bool write_entry(const LogEntry& entry) override {
        if (entry.audit != nullptr) return true;
        std::string line;
        append_csv_row<LogEntry>(line, common_columns, entry);
        line += ',';
        if (entry.counters != nullptr) {
            append_csv_row(line, row_columns(), row_of(entry));
            return write_to_stdout(line += "\r\n");
        }
        line += decisions_.value_of(entry, [&] {
            std::string text;
            append_csv_row(text, decision_columns(), row_of(entry));
            return text;
        });
        for (const RowColumn& column : row_columns().subspan(decision_columns().size())) {
            line += ',';
            if (column.name == "host_ns") duration_of(*entry.call).append_csv(line);
        }
        return write_to_stdout(line += "\r\n");
    }

  private:
    RowValueCache<std::string> decisions_;
};

}  // namespace

std::string_view LogEntry::event_name() const {
    if (audit != nullptr) return event_name_of(*audit);
    return call != nullptr ? "decision" : "row";
}

std::int64_t LogEntry::time_ns() const {
    if (audit != nullptr) return audit->end_ns;
    return call != nullptr ? call->end_ns : counters->last_ns;
}

bool write_to_stdout(std::string_view text) {
    print(text);
    return std::ferror(stdout) == 0;
}

std::string with_host_and_rank(std::string_view what, const record::ProcessFacts& process) {
    std::string text = fmt::format("{} on {}", what, process.host);
    if (process.rank >= 0) text += fmt::format(", rank {}", process.rank);
    return text;
}

std::span<const LogFormat> log_formats() {
    using Writer = std::unique_ptr<LogWriter>;
    static constexpr LogFormat formats[] = {
        {"table", [](NativeLocator&) -> Writer { return std::make_unique<TableWriter>(); }},
        {"json", [](NativeLocator&) -> Writer { return std::make_unique<JsonLogWriter>(true); }},
        {"jsonl", [](NativeLocator&) -> Writer { return std::make_unique<JsonLogWriter>(false); }},
        {"csv", [](NativeLocator&) -> Writer { return std::make_unique<CsvWriter>(); }},
        {"chrome", chrome_writer},
    };
    return formats;
}

}  // namespace fp32shim::cli
