// Writes Chrome's trace format, which Perfetto and chrome://tracing open (`log --format chrome`).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "cli/log/source.hpp"
#include "cli/log/writers.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

using record::RecordedRow;
using record::RecordingFacts;
using record::RecordingReader;

/// The call paths of the events in a trace. Numbers the frames of all recordings; equal paths share their numbers.
/// Takes some 110 bytes for each distinct decision and 100 for each distinct frame, however many calls there are.
class TraceCallPaths {
  public:
    /// Keeps a pointer to `locations`, which must outlive this object.
    explicit TraceCallPaths(NativeLocator& locations) : paths_(&locations) {}

    /// Returns the number of the innermost frame of a row's call path; 0 if the row has no call path.
    std::uint32_t frame_of(const RecordingReader& recording, const RecordedRow& row) {
        if (row.stack == 0 || row.is_overflow) return 0;
        std::vector<std::uint32_t>& frames = frames_[&recording];
        if (row.id >= frames.size()) frames.resize(row.id + 1, unread);
        std::uint32_t& frame = frames[row.id];
        if (frame != unread) return frame;
        if (std::exchange(last_, &recording) != &recording) paths_.begin_recording();
        paths_.add(recording, &row, 0, {});
        return frame = paths_.nodes()[paths_.calls().back().node].parent;
    }
    /// Writes the frames of a path as an array of texts, innermost first. A deep path is cut after the innermost
    /// frames, because each event of a trace repeats its path.
    void write_stack(JsonWriter& json, std::uint32_t frame) const {
        constexpr int most_frames = 32;
        json.open('[');
        int count = 0;
        for (; frame != 0; frame = paths_.nodes()[frame].parent, ++count)
            if (count < most_frames) json.value(std::string_view(paths_.nodes()[frame].text()));
        if (const int more = count - most_frames; more > 0)
            json.value(std::string_view(fmt::format("({} frame{} further out)", more, more == 1 ? "" : "s")));
        json.close(']');
    }
    /// Writes the member `stackFrames` of the trace, or nothing if there are no frames.
    void write_frames(JsonWriter& json) const {
        // True for functions that multiply, because the trace shows them as events and not as frames.
        std::vector<bool> is_product(paths_.nodes().size());
        for (const CallsOfPath& calls : paths_.calls()) is_product[calls.node] = true;
        bool is_first = true;
        for (std::size_t index = 1; index < is_product.size(); ++index) {
            if (is_product[index]) continue;
            if (std::exchange(is_first, false)) json.key("stackFrames").open('{');
            const PathNode& node = paths_.nodes()[index];
            json.key(std::to_string(index)).open('{').member("name", std::string_view(node.text()));
            if (!node.file.empty()) json.member("category", std::string_view(node.file));
            if (node.parent != 0) json.member("parent", node.parent);
            json.close('}').flush();
        }
        if (!is_first) json.close('}');
    }

  private:
    static constexpr std::uint32_t unread = ~std::uint32_t{0};

    CallPathTree paths_;
    const RecordingReader* last_ = nullptr;  ///< recording of the last row that was added to paths_
    /// For each recording, the numbers of the innermost frames, by row id.
    std::unordered_map<const RecordingReader*, std::vector<std::uint32_t>> frames_;
};

/// Converts nanoseconds to microseconds, as the shortest JSON number with a point.
std::string microseconds(std::int64_t nanoseconds) {
    const fmt::format_int whole(nanoseconds / 1000), fraction(1000 + nanoseconds % 1000);
    std::string number(whole.data(), whole.size());
    number.append(".").append(fraction.data() + 1, 3);
    number.resize(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number += '0';
    return number;
}

/// Writes the format of https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU with complete
/// events, which have a begin and a duration. Times are microseconds since the start of the first recording, because
/// a double cannot hold nanoseconds since 1970.
class ChromeWriter : public LogWriter {
  public:
    explicit ChromeWriter(NativeLocator& locations) : paths_(locations) {}

    void write_beginning(std::span<const LogEntryReader> recordings) override {
        number_processes(recordings);
        json_.open('{').key("traceEvents").open('[');
        for (const LogEntryReader& recording : recordings) {
            const RecordingFacts& facts = recording.facts();
            const std::int64_t number = trace_processes_[&facts].number;
            zero_ns_ = std::min(zero_ns_, facts.opened_ns);
            std::string name(system::base_name(facts.process.executable));
            if (number != facts.process.pid) name += fmt::format(", process {}", facts.process.pid);
            name = with_host_and_rank(name, facts.process);
            json_.open('{').member("name", text("process_name")).member("ph", text("M")).member("pid", number);
            json_.key("args").open('{').member("name", text(name)).close('}').close('}').flush();
        }
    }
    /// Writes a call as a span. If only the decision was recorded and not its single calls, writes one span from the
    /// start of the decision's first call to the end of its last call.
    bool write_entry(const LogEntry& entry) override {
        if (entry.call != nullptr) {
            const record::RecordedEvent& call = *entry.call;
            const std::int64_t thread = call.thread != 0 ? std::int64_t{call.thread} : call.slot;
            return write_span(entry, call.begin_ns(), thread,
                              call.is_timed ? "" : "the mean of such calls, because this one was not timed");
        }
        if (entry.counters == nullptr) return true;
        // A recording has the time at which the first call returned but not its start, so the start is estimated from
        // the mean duration.
        const record::RecordedCounters& counters = *entry.counters;
        const auto mean_ns = counters.total_ns / std::max<std::uint64_t>(counters.calls, 1);
        const record::RecordedEvent first{.end_ns = counters.first_ns, .duration_ns = mean_ns};
        return write_span(entry, first.begin_ns(), entry.row.id,
                          "from the first such call to the last; single calls were not recorded");
    }
    void write_ending() override {
        json_.close(']');
        paths_.write_frames(json_);
        json_.finish_line('}').flush();
    }

  private:
    /// Numbers the processes, since viewers identify them only by number. The number is the process id. If two
    /// processes have the same id, on two machines or at different times, the second gets a number above the highest
    /// id. Recordings of one process share its number.
    void number_processes(std::span<const LogEntryReader> recordings) {
        std::int64_t last = 0;
        for (const LogEntryReader& recording : recordings)
            last = std::max<std::int64_t>(last, recording.facts().process.pid);
        // `of_id` has one recording of each process, by process id.
        std::map<std::int32_t, std::vector<const RecordingFacts*>> of_id;
        for (const LogEntryReader& recording : recordings) {
            const RecordingFacts& facts = recording.facts();
            TraceProcess& process = trace_processes_[&facts];
            process.recording = &recording.recording();
            auto& processes = of_id[facts.process.pid];
            const auto known = std::find_if(processes.begin(), processes.end(), [&](const RecordingFacts* other) {
                return other->identity == facts.identity && other->process.host == facts.process.host;
            });
            if (known != processes.end()) {
                process.number = trace_processes_[*known].number;
                continue;
            }
            process.number = processes.empty() ? facts.process.pid : ++last;
            processes.push_back(&facts);
        }
    }
    static FieldValue text(std::string_view text) { return text; }

    /// Returns the JSON members with which every span of the decision `recorded` begins.
    std::string head_of(const RecordedRow& recorded, const RecordingReader& recording) {
        const MergedRow row = to_merged_row(recorded);
        const std::string name = row.function + " " + row.size_text();
        JsonWriter json;
        json.member("name", text(name)).member("cat", text(row.effective_format()));
        if (const std::uint32_t frame = paths_.frame_of(recording, recorded); frame != 0) json.member("sf", frame);
        return json.member("ph", text("X")).take_text();
    }
    /// Returns the members of the JSON object `args` that all spans of the decision `recorded` have in common.
    std::string arguments_of(const RecordedRow& recorded, const RecordingReader& recording) {
        static const std::vector<RowColumn> columns = row_columns_named(
            {"caller", "provider", "scope", "where", "requested", "source", "rule", "applied", "reason"});
        JsonWriter json;
        json.members<MergedRow>(columns, to_merged_row(recorded));
        // The stack is an argument too, because Perfetto does not read `sf`, the member for stack frames.
        paths_.write_stack(json.key("stack"), paths_.frame_of(recording, recorded));
        return json.take_text();
    }
    /// Writes a span, which the viewer shows in the line of `thread`. `about_duration` is a remark on the duration,
    /// or empty. Returns false if stdout cannot be written.
    bool write_span(const LogEntry& entry, std::int64_t begin_ns, std::int64_t thread,
                    std::string_view about_duration) {
        const TraceProcess& process = trace_processes_.find(&entry.facts)->second;
        const std::int64_t duration_ns = entry.time_ns() - begin_ns;
        json_.open('{').raw(heads_.value_of(entry, [&] { return head_of(entry.row, *process.recording); }));
        json_.key("ts").raw(microseconds(std::max(begin_ns, zero_ns_) - zero_ns_));
        json_.key("dur").raw(microseconds(std::max<std::int64_t>(duration_ns, 1)));
        json_.member("pid", process.number).member("tid", thread).key("args").open('{');
        json_.raw(arguments_.value_of(entry, [&] { return arguments_of(entry.row, *process.recording); }));
        if (entry.counters != nullptr)
            json_.member("calls", entry.counters->calls)
                .member("host_ns", entry.counters->total_ns)
                .member("timed_calls", entry.counters->timed_calls);
        if (duration_ns < 1) about_duration = "unknown; drawn as 1 ns to make it visible";
        if (!about_duration.empty()) json_.member("duration", about_duration);
        return json_.close('}').close('}').flush();
    }

    RowValueCache<std::string> heads_, arguments_;
    JsonWriter json_{{.levels = 2}, write_to_stdout};
    struct TraceProcess {
        std::int64_t number = 0;  ///< number of the process in the trace
        const RecordingReader* recording = nullptr;
    };
    /// The processes of the trace, by recording.
    std::unordered_map<const RecordingFacts*, TraceProcess> trace_processes_;
    TraceCallPaths paths_;
    std::int64_t zero_ns_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

std::unique_ptr<LogWriter> chrome_writer(NativeLocator& locations) {
    return std::make_unique<ChromeWriter>(locations);
}

}  // namespace fp32shim::cli
