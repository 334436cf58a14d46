#include "cli/log/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/log/audit_entries.hpp"
#include "cli/log/source.hpp"
#include "cli/log/trace_paths.hpp"
#include "cli/output/field_value.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/columns.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "record/lines/event_lines.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

using record::RecordedAudit;
using record::RecordedCounters;
using record::RecordedEvent;
using record::RecordedRow;
using record::RecordingFacts;
using record::RecordingReader;

bool put(std::string_view text) {
    print(text);
    return std::ferror(stdout) == 0;
}

/// Returns a decision with the counters of one recording, in the form that reports use.
MergedRow row_with_counters(const RecordedRow& row, const RecordedCounters& counters) {
    MergedRow result = to_merged_row(row);
    result.counters = counters;
    result.processes = 1;
    return result;
}

/// Returns the text that FP32_MATMUL_LOG=stderr prints: `cblas_sgemm 128x128x128 … -> tf32 by rounding operands`.
std::string decision_words(const RecordedRow& row) {
    std::array<char, 1600> buffer;
    return row.is_overflow ? "(found no room)" : printable(record::format_decision_text(row.decision, buffer));
}

/// Has the same functions as record::JsonLine, but passes each key and value to `handle` instead of writing JSON.
template <class Handle>
struct FieldVisitor {
    Handle handle;

    FieldVisitor& visit(std::string_view key, const FieldValue& value) {
        handle(key, value);
        return *this;
    }
    FieldVisitor& code(std::string_view key, std::string_view value) { return string(key, value, 0); }
    FieldVisitor& string(std::string_view key, std::string_view value, std::size_t) {
        return visit(key, FieldValue::text_or_null(value));
    }
    FieldVisitor& integer(std::string_view key, std::int64_t value) { return visit(key, value); }
    FieldVisitor& size(std::string_view key, std::int64_t value) {
        return visit(key, FieldValue::size_or_null(value));
    }
    FieldVisitor& utc_time(std::string_view key, std::int64_t time_ns) {
        return visit(key, FieldValue::Time{time_ns});
    }
};

/// Passes to `handle` the keys and values with which every event begins. `thread` is -1 for calls of several threads.
template <class Handle>
void visit_common_fields(std::string_view event, const RecordingFacts& facts, std::int64_t time_ns,
                         std::int32_t thread, const Handle& handle) {
    FieldVisitor<const Handle&> visitor{handle};
    write_common_fields(visitor, event, facts.process, {time_ns, facts.process.pid, thread});
}

/// Caches values that are made from rows, because there are many calls but few rows.
template <class Made>
class PerRow {
  public:
    /// Returns the cached value of a row. If there is none, `make` makes it.
    template <class Make>
    const Made& of(const RecordingFacts& facts, const RecordedRow& row, const Make& make) {
        if (kept_.empty()) kept_.resize(4096);
        const std::size_t recording = reinterpret_cast<std::uintptr_t>(&facts) / alignof(RecordingFacts);
        Kept& kept = kept_[(row.id + recording * 31) % kept_.size()];
        if (kept.facts != &facts || kept.row != row.id) kept = {&facts, row.id, make()};
        return kept.made;
    }

  private:
    struct Kept {
        const RecordingFacts* facts = nullptr;
        std::uint32_t row = 0;
        Made made;
    };
    std::vector<Kept> kept_;
};

/// Returns `what` followed by the process's host and rank: `python3 on node7, rank 3`.
std::string with_host_and_rank(std::string_view what, const record::ProcessFacts& process) {
    std::string text = fmt::format("{} on {}", what, process.host);
    if (process.rank >= 0) text += fmt::format(", rank {}", process.rank);
    return text;
}

class TableWriter : public LogWriter {
  public:
    void begin(std::span<const LogSource> recordings) override {
        std::set<std::string> hosts;
        for (const LogSource& recording : recordings) {
            const record::ProcessFacts& process = recording.facts().process;
            hosts.insert(process.host);
            const std::string name = with_host_and_rank(fmt::format("process {}", process.pid), process);
            put(coloured(fmt::format("{}: {}", printable(name), printable(process.command)), Colour::bold) + "\n");
        }
        names_processes_ = recordings.size() > 1;
        names_hosts_ = hosts.size() > 1;
        for (const LogSource& recording : recordings)
            process_width_ = std::max(process_width_, process_text(recording.facts()).size());
    }
    bool event(const RecordingFacts& facts, const RecordedRow& row, const RecordedEvent& event) override {
        return put(fmt::format("{} {:>{}}{:>8} {:>10}  {}\n", time_of_day(event.end_ns), process_text(facts),
                               process_width_, event.thread,
                               duration_text(static_cast<double>(event.duration_ns), !event.is_timed),
                               decision_words(row)));
    }
    bool row(const RecordingFacts& facts, const RecordedRow& row, const RecordedCounters& counters) override {
        return put(
            fmt::format("{} {:>{}}{:>17} {:>10}  {}\n", time_of_day(counters.last_ns), process_text(facts),
                        process_width_, counted(counters.calls, "call"),
                        duration_text(static_cast<double>(counters.total_ns), counters.timed_calls < counters.calls),
                        decision_words(row)));
    }
    bool audit(const RecordingFacts& facts, const RecordedRow& row, const RecordedAudit& audit) override {
        return put(fmt::format("{} {:>{}}{:>19}  {}; {}\n", time_of_day(audit.end_ns), process_text(facts),
                               process_width_, event_of(audit), words_of(row, audit), decision_words(row)));
    }
    bool accepts_repeated_rows() const override { return true; }

  private:
    /// Returns the name of an entry's process, followed by a blank; empty if there is only one recording.
    std::string process_text(const RecordingFacts& facts) const {
        if (!names_processes_) return {};
        return fmt::format("{}{}{} ", names_hosts_ ? printable(facts.process.host) : "", names_hosts_ ? ":" : "",
                           facts.process.pid);
    }

    bool names_processes_ = false, names_hosts_ = false;
    std::size_t process_width_ = 0;
};

/// Writes the events of docs/log-format.md, one per line or all in an array.
class JsonWriter : public LogWriter {
  public:
    explicit JsonWriter(bool is_array) : is_array_(is_array) {}

    void begin(std::span<const LogSource> recordings) override {
        for (const LogSource& recording : recordings) {
            const RecordingFacts& facts = recording.facts();
            put_object(line(record::format_start(facts.start, facts.process,
                                                 {facts.opened_ns, facts.process.pid, facts.process.pid}, buffer_)));
        }
    }
    bool event(const RecordingFacts& facts, const RecordedRow& row, const RecordedEvent& event) override {
        const DecisionMembers& decision = decisions_.of(facts, row, [&] { return members_of(row); });
        record::JsonLine line(buffer_);
        write_common_fields(line, "decision", facts.process, {event.end_ns, facts.process.pid, event.thread});
        line.members(decision.before_time);
        if (event.is_timed)
            line.integer("host_ns", event.duration_ns);
        else
            line.integer("host_ns", std::nullopt);
        line.members(decision.behind_time);
        return put_object(this->line(line.finish()));
    }
    bool row(const RecordingFacts& facts, const RecordedRow& row, const RecordedCounters& counters) override {
        std::string line;
        JsonText json(line);
        append_common_members(json.open('{'), "row", facts, counters.last_ns);
        json.members(row_columns(), row_with_counters(row, counters)).close('}');
        return put_object(line += '\n');
    }
    bool audit(const RecordingFacts& facts, const RecordedRow& row, const RecordedAudit& audit) override {
        std::string line;
        JsonText json(line);
        append_common_members(json.open('{'), event_of(audit), facts, audit.end_ns);
        json.members(decision_columns(), to_merged_row(row)).members(columns_of(audit), audit).close('}');
        return put_object(line += '\n');
    }
    void end() override {
        if (is_array_) put(has_entries_ ? "\n]\n" : "[]\n");
    }

  private:
    /// Members in the line of a call that come from its decision.
    struct DecisionMembers {
        std::string before_time, behind_time;
    };

    DecisionMembers members_of(const RecordedRow& row) {
        DecisionMembers members;
        record::JsonLine line(buffer_);
        write_decision_fields(line, row.decision, [&](std::string_view, std::int64_t) {
            members.before_time = line.view();
            line = record::JsonLine(buffer_);
        });
        members.behind_time = line.view();
        return members;
    }
    /// Appends the keys and values with which an entry begins that belongs to no single thread.
    static void append_common_members(JsonText& json, std::string_view event, const RecordingFacts& facts,
                                      std::int64_t time_ns) {
        visit_common_fields(event, facts, time_ns, -1,
                            [&](std::string_view key, const FieldValue& value) { json.member(key, value); });
    }
    /// Writes an object. Its text must end with a line feed.
    bool put_object(std::string_view object) {
        if (!is_array_) return put(object);
        object.remove_suffix(1);
        return put(std::exchange(has_entries_, true) ? ",\n" : "[\n") && put(object);
    }
    std::string_view line(std::size_t size) const { return {buffer_.data(), size}; }

    std::array<char, record::line_limit> buffer_{};
    PerRow<DecisionMembers> decisions_;
    bool is_array_;
    bool has_entries_ = false;
};

/// Writes the events of docs/log-format.md, except `start`, as CSV. The columns are the keys of `row`. In the line of
/// a call, some are empty.
class CsvWriter : public LogWriter {
  public:
    void begin(std::span<const LogSource>) override {
        std::string names;
        visit_common_fields("", {}, 0, 0, [&](std::string_view key, const FieldValue&) { names.append(key) += ','; });
        put(names + csv_names(row_columns()) + "\r\n");
    }
    bool event(const RecordingFacts& facts, const RecordedRow& row, const RecordedEvent& event) override {
        begin_line("decision", facts, event.end_ns, event.thread);
        line_ += decisions_.of(facts, row, [&] {
            std::string text;
            append_csv(text, decision_columns(), to_merged_row(row));
            return text;
        });
        for (const RowColumn& column : row_columns().subspan(decision_columns().size())) {
            line_ += ',';
            if (column.name == "host_ns" && event.is_timed) FieldValue(event.duration_ns).append_csv(line_);
        }
        return put(line_ += "\r\n");
    }
    bool row(const RecordingFacts& facts, const RecordedRow& recorded, const RecordedCounters& counters) override {
        begin_line("row", facts, counters.last_ns);
        append_csv(line_, row_columns(), row_with_counters(recorded, counters));
        return put(line_ += "\r\n");
    }

  private:
    void begin_line(std::string_view event, const RecordingFacts& facts, std::int64_t time_ns,
                    std::int32_t thread = -1) {
        line_.clear();
        visit_common_fields(event, facts, time_ns, thread, [&](std::string_view, const FieldValue& value) {
            value.append_csv(line_);
            line_ += ',';
        });
    }

    PerRow<std::string> decisions_;
    std::string line_;
};

/// Writes Chrome's trace format (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU)
/// with complete events. Times are microseconds since the start of the first recording, because a double cannot hold
/// nanoseconds since 1970.
class ChromeWriter : public LogWriter {
  public:
    explicit ChromeWriter(NativeLocations& locations) : paths_(locations) {}

    void begin(std::span<const LogSource> recordings) override {
        number_processes(recordings);
        json_.open('{').key("traceEvents").open('[');
        for (const LogSource& recording : recordings) {
            const RecordingFacts& facts = recording.facts();
            const std::int64_t number = tracks_[&facts].number;
            zero_ns_ = std::min(zero_ns_, facts.opened_ns);
            std::string name(system::base_name(facts.process.executable));
            if (number != facts.process.pid) name += fmt::format(", process {}", facts.process.pid);
            name = with_host_and_rank(name, facts.process);
            json_.open('{').member("name", text("process_name")).member("ph", text("M")).member("pid", number);
            json_.key("args").open('{').member("name", text(name)).close('}').close('}');
            flush();
        }
    }
    bool event(const RecordingFacts& facts, const RecordedRow& row, const RecordedEvent& event) override {
        constexpr std::string_view mean = "the mean of such calls, because this one was not timed";
        return write_complete_event(facts, row, event.begin_ns(), event.end_ns,
                                    event.thread != 0 ? std::int64_t{event.thread} : event.slot, "",
                                    event.is_timed ? std::string_view() : mean);
    }
    /// Writes a decision without its calls, as one span from the start of its first call to the end of its last.
    bool row(const RecordingFacts& facts, const RecordedRow& row, const RecordedCounters& counters) override {
        // A recording has only the return of the first call, so its start is estimated from the mean duration.
        const auto mean_ns = counters.total_ns / std::max<std::uint64_t>(counters.calls, 1);
        const RecordedEvent first{.end_ns = counters.first_ns, .duration_ns = mean_ns};
        std::string counts;
        JsonText(counts)
            .member("calls", counters.calls)
            .member("host_ns", counters.total_ns)
            .member("timed_calls", counters.timed_calls);
        return write_complete_event(facts, row, first.begin_ns(), counters.last_ns, row.id, counts,
                                    "from the first such call to the last; single calls were not recorded");
    }
    void end() override {
        json_.close(']');
        paths_.write_frames(json_, [this] { return flush(); });
        json_.close('}');
        line_ += '\n';
        flush();
    }

  private:
    /// Numbers the processes, since viewers identify them only by number. The number is the process id. If another
    /// process has the same id, on another machine or at another time, it gets a number above the highest id.
    /// Recordings of one process share its number.
    void number_processes(std::span<const LogSource> recordings) {
        std::int64_t last = 0;
        for (const LogSource& recording : recordings)
            last = std::max<std::int64_t>(last, recording.facts().process.pid);
        std::map<std::int32_t, std::vector<const RecordingFacts*>> of_id;  // one recording of each process, by
                                                                           // process id
        for (const LogSource& recording : recordings) {
            const RecordingFacts& facts = recording.facts();
            Track& track = tracks_[&facts];
            track.recording = &recording.recording();
            auto& processes = of_id[facts.process.pid];
            const auto known = std::find_if(processes.begin(), processes.end(), [&](const RecordingFacts* other) {
                return other->identity == facts.identity && other->process.host == facts.process.host;
            });
            if (known != processes.end()) {
                track.number = tracks_[*known].number;
                continue;
            }
            track.number = processes.empty() ? facts.process.pid : ++last;
            processes.push_back(&facts);
        }
    }
    static FieldValue text(std::string_view text) { return text; }
    bool flush() {
        const bool is_open = put(line_);
        line_.clear();
        return is_open;
    }

    /// Returns the members with which the spans of a row begin.
    std::string head_of(const RecordedRow& recorded, const RecordingReader& recording) {
        const MergedRow row = to_merged_row(recorded);
        const std::string name = row.function + " " + row.size_text();
        std::string head;
        JsonText json(head);
        json.member("name", text(name)).member("cat", text(row.ran_at()));
        if (const std::uint32_t frame = paths_.frame_of(recording, recorded); frame != 0) json.member("sf", frame);
        json.member("ph", text("X"));
        return head;
    }
    /// Returns the arguments of spans of a row.
    std::string arguments_of(const RecordedRow& recorded, const RecordingReader& recording) {
        constexpr std::string_view names[] = {"caller", "provider", "scope",   "where", "requested",
                                              "source", "rule",     "applied", "reason"};
        const MergedRow row = to_merged_row(recorded);
        const auto columns = decision_columns();
        std::string arguments;
        JsonText json(arguments);
        for (const std::string_view name : names)
            json.member(name, std::ranges::find(columns, name, &RowColumn::name)->value(row));
        // Perfetto shows arguments but does not read `sf`, the member for stack frames.
        paths_.write_stack(json.key("stack"), paths_.frame_of(recording, recorded));
        return arguments;
    }
    /// Converts nanoseconds to microseconds, as the shortest JSON number with a point.
    static std::string microseconds(std::int64_t nanoseconds) {
        const fmt::format_int whole(nanoseconds / 1000), fraction(1000 + nanoseconds % 1000);
        std::string number(whole.data(), whole.size());
        number.append(".").append(fraction.data() + 1, 3);
        number.resize(number.find_last_not_of('0') + 1);
        if (number.back() == '.') number += '0';
        return number;
    }
    /// Writes a span in the viewer's line `thread`. `more` has further arguments, as JSON. `about_duration` is a
    /// remark on the duration, or empty. Returns false if stdout cannot be written.
    bool write_complete_event(const RecordingFacts& facts, const RecordedRow& row, std::int64_t begin_ns,
                              std::int64_t end_ns, std::int64_t thread, std::string_view more,
                              std::string_view about_duration) {
        const Track& track = tracks_.find(&facts)->second;
        json_.open('{').raw(heads_.of(facts, row, [&] { return head_of(row, *track.recording); }));
        json_.key("ts").raw(microseconds(std::max(begin_ns, zero_ns_) - zero_ns_));
        json_.key("dur").raw(microseconds(std::max<std::int64_t>(end_ns - begin_ns, 1)));
        json_.member("pid", track.number).member("tid", thread).key("args").open('{');
        json_.raw(arguments_.of(facts, row, [&] { return arguments_of(row, *track.recording); }));
        if (!more.empty()) json_.raw(more);
        if (end_ns - begin_ns < 1) about_duration = "unknown; drawn as 1 ns to make it visible";
        if (!about_duration.empty()) json_.member("duration", about_duration);
        json_.close('}').close('}');
        return flush();
    }

    PerRow<std::string> heads_, arguments_;
    std::string line_;
    JsonText json_{line_, {.levels = 2}};
    struct Track {
        std::int64_t number = 0;  ///< number of the process in the trace
        const RecordingReader* recording = nullptr;
    };
    std::unordered_map<const RecordingFacts*, Track> tracks_;  ///< tracks by recording
    TracePaths paths_;
    std::int64_t zero_ns_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

std::span<const LogFormat> log_formats() {
    using Writer = std::unique_ptr<LogWriter>;
    static constexpr LogFormat formats[] = {
        {"table", [](NativeLocations&) -> Writer { return std::make_unique<TableWriter>(); }},
        {"json", [](NativeLocations&) -> Writer { return std::make_unique<JsonWriter>(true); }},
        {"jsonl", [](NativeLocations&) -> Writer { return std::make_unique<JsonWriter>(false); }},
        {"csv", [](NativeLocations&) -> Writer { return std::make_unique<CsvWriter>(); }},
        {"chrome", [](NativeLocations& locations) -> Writer { return std::make_unique<ChromeWriter>(locations); }},
    };
    return formats;
}

}  // namespace fp32shim::cli
