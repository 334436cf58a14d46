// fp32shim top and ps: show the processes of this user that are being recorded.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/recordings/rule_use.hpp"
#include "cli/recordings/settings_in_force.hpp"
#include "cli/report/tables.hpp"
#include "record/read/control.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::cli {
namespace {

// ---- Groups of products in running processes, and the time that each group takes now

/// A group of products with its rates since the previous update of the display. At the first update, the rates are
/// since the start of the recording.
struct LiveGroup : RowGroup {
    double calls_per_second = 0;
    double host_share = 0;  ///< host time per elapsed time; 1 if one thread does nothing but multiply
};

/// Computes the rates of one recording's groups from update to update.
class GroupRateMeter {
  public:
    /// Returns the groups with their rates. `seconds` is the time since the previous update or, at the first update,
    /// since the start of the recording.
    std::vector<LiveGroup> update(const std::vector<RowGroup>& groups, double seconds);
    /// Returns true before the first update.
    bool is_new() const { return !was_updated_; }

  private:
    bool was_updated_ = false;
    struct PreviousGroupCounts {
        std::uint64_t calls = 0, host_ns = 0;
    };
    std::map<RowGroupKey, PreviousGroupCounts> before_;
};

/// Converts a row of live_table() back to the group from which it was made.
const LiveGroup& live_group_of(const MergedRow& row) { return static_cast<const LiveGroup&>(row); }

/// Returns host time per elapsed time as a percentage. It exceeds 100% if several threads multiply.
std::string host_share_text(double share) {
    if (share <= 0) return "0%";
    if (share < 0.001) return "<0.1%";
    return fmt::format("{:.{}f}%", 100 * share, share < 0.1 ? 1 : 0);
}

std::vector<LiveGroup> GroupRateMeter::update(const std::vector<RowGroup>& groups, double seconds) {
    std::map<RowGroupKey, PreviousGroupCounts> now;
    std::vector<LiveGroup> live;
    live.reserve(groups.size());
    for (const RowGroup& group : groups) {
        LiveGroup& entry = live.emplace_back();
        static_cast<RowGroup&>(entry) = group;
        const RowGroupKey key = group.key();
        const auto known = before_.find(key);
        const PreviousGroupCounts before = known == before_.end() ? PreviousGroupCounts() : known->second;
        now[key] = {group.counters.calls, group.counters.total_ns};
        // The total time of a group can decrease if it is an estimate; such a loss counts as 0. It can also grow by
        // some nanoseconds without new calls, because each update measures the speed of the processor's time counter
        // again; so the rates of a group without new calls stay 0.
        const auto gain = [](std::uint64_t later, std::uint64_t earlier) {
            return later > earlier ? static_cast<double>(later - earlier) : 0.0;
        };
        if (seconds <= 0 || group.counters.calls == before.calls) continue;
        entry.calls_per_second = gain(group.counters.calls, before.calls) / seconds;
        entry.host_share = gain(group.counters.total_ns, before.host_ns) / seconds / 1e9;
    }
    was_updated_ = true;
    before_ = std::move(now);
    return live;
}

/// Returns the groups of several processes, with equal groups summed up, sorted by host time per elapsed time,
/// largest first.
std::vector<LiveGroup> summed_groups(const std::vector<const std::vector<LiveGroup>*>& processes) {
    std::vector<LiveGroup> sums;
    std::map<RowGroupKey, std::size_t> indices;
    for (const std::vector<LiveGroup>* groups : processes) {
        for (const LiveGroup& group : *groups) {
            const auto [entry, is_new] = indices.emplace(group.key(), sums.size());
            if (is_new) {
                sums.push_back(group);
                continue;
            }
            LiveGroup& sum = sums[entry->second];
            add_counters(sum.counters, group.counters);
            sum.calls_per_second += group.calls_per_second;
            sum.host_share += group.host_share;
        }
    }
    std::ranges::stable_sort(sums, [](const LiveGroup& a, const LiveGroup& b) {
        return std::tuple(a.host_share, a.counters.total_ns) > std::tuple(b.host_share, b.counters.total_ns);
    });
    return sums;
}

/// Returns a table of the first `limit` groups, and a line with the number of the remaining groups.
std::string live_table(const std::vector<LiveGroup>& groups, std::size_t limit) {
    TextColumns columns = {
        {{"now", true}, [](const MergedRow& row) { return host_share_text(live_group_of(row).host_share); }},
        {{"calls/s", true}, [](const MergedRow& row) {
             return count_text(static_cast<std::uint64_t>(live_group_of(row).calls_per_second));
         }}};
    const auto amounts = amount_columns().first(2);  // calls and host time
    columns.insert(columns.end(), amounts.begin(), amounts.end());
    for (const TextColumn& column : group_text_columns())
        if (column.head.title != "decisions") columns.push_back(column);
    std::vector<const MergedRow*> rows;
    for (const LiveGroup& group : groups) rows.push_back(&group);
    const std::size_t shown = std::min(limit, rows.size());
    return table_of(columns, TableRows(rows).first(shown)).text() +
           (shown < rows.size() ? counted(rows.size() - shown, "more group") + "\n" : "");
}

/// Returns a group as JSON (docs/schema.md).
Json live_group_json(const LiveGroup& group) {
    Json json = json_object_of_row(group_columns(), static_cast<const RowGroup&>(group));
    json["calls_per_second"] = group.calls_per_second;
    json["host_share"] = group.host_share;
    return json;
}

struct TopOptions {
    std::int32_t pid = 0;  ///< id of the only process to show; 0 for all processes
    std::string sort = "rate";
    bool is_json = false;
    std::vector<std::string> by;  ///< keys by which rows are grouped, as words of grouping_words
    double seconds = 2;
    std::int64_t rounds = 0;  ///< number of updates; 0 to continue until interrupted
};

/// The state of one process at one moment.
struct ProcessSnapshot {
    std::int32_t pid = 0;
    std::string recording;
    /// Command and executable are read from the kernel, since a recording could claim anything.
    record::RecordingFacts facts;
    std::uint64_t calls = 0, host_ns = 0;
    bool is_estimate = false;  ///< host_ns is an estimate because not all calls were timed
    /// The rate since the previous update or, at the first update, since the start of the recording.
    double calls_per_second = 0;
    std::uint64_t fp64_calls = 0;   ///< calls that ran at FP64
    std::uint64_t fp32_calls = 0;   ///< calls that ran at FP32 or BF16x9
    std::uint64_t lower_calls = 0;  ///< calls that ran at TF32 or a less precise format
    SettingsInForce settings;       ///< current settings; `facts` has the initial settings
    std::vector<MergedRow> rows;    ///< rows of the table, sorted by host time; empty if `groups` is set
    std::optional<std::vector<LiveGroup>> groups;
};

/// The counters of a process at the previous update, from which its calls per second are computed.
struct PreviousCounters {
    std::string recording;
    std::uint64_t calls = 0;
    std::int64_t time_ns = 0;
    GroupRateMeter groups;
};

/// The data kept from one update to the next.
struct KeptBetweenUpdates {
    std::map<std::int32_t, PreviousCounters> before;  ///< counters by process id
    RuleUseCounter rules;                             ///< rules of all policies; counted anew at each update
    NativeLocator locations;
};

/// The maximum number of rows in the table of one process.
constexpr std::size_t max_rows = 20;
/// The maximum number of lines about rules that decided no call.
constexpr std::size_t max_rules = 3;

/// Adds up the calls of a recording by format in `seen`, without reading the texts of rows.
void count_calls(const record::RecordingReader& recording, ProcessSnapshot& seen) {
    CallSum total;
    for (const auto& [row, counters] : recording.counters()) {
        total.add(counters);
        const auto format = recording.row_reader().format_of(row);
        if (const auto met = format ? floor_shown_by(*format) : std::nullopt)
            (*met >= policy::Floor::fp64     ? seen.fp64_calls
             : *met >= policy::Floor::bf16x9 ? seen.fp32_calls
                                             : seen.lower_calls) += counters.calls;
    }
    seen.calls = recording.total_calls();
    seen.host_ns = total.host_ns;
    seen.is_estimate = total.is_estimate;
}

/// Returns the grouping that the options ask for. Without --by, the table of a process that records locations is
/// grouped by location.
Grouping grouping_of(const MergedCalls& calls, const TopOptions& options) {
    Grouping grouping = parse_grouping(options.by);
    if (grouping.is_empty() && !options.is_json)
        grouping.by_where =
            std::ranges::any_of(calls.rows(), [](const MergedRow& row) { return !row.where.empty(); });
    return grouping;
}

/// Reads the decisions of a process into `seen`, as rows or in groups. `rates` computes the rates of the groups.
/// `seconds` is the time since the previous update.
void read_calls(record::RecordingReader& recording, const TopOptions& options, double seconds, GroupRateMeter& rates,
                NativeLocator& locations, ProcessSnapshot& seen) {
    locations.locate_rows_of(recording, false);
    MergedCalls calls(nullptr, MergedCalls::Objects::left_out);
    CallPathTree paths(&locations);
    calls.add(seen.recording, recording, parse_grouping(options.by).by_call_site ? &paths : nullptr);
    paths.finish();
    if (const Grouping grouping = grouping_of(calls, options); !grouping.is_empty()) {
        // The groups of a process can appear after its first update, once its rows have locations. The counts
        // of a new group contain all its calls since the recording began.
        if (rates.is_new()) seconds = static_cast<double>(now_ns() - recording.facts().opened_ns) / 1e9;
        seen.groups = rates.update(grouped(calls, DurationHistogram(), paths, grouping, RowOrder::time), seconds);
    } else {
        for (const MergedRow* row : sorted(calls.rows(), RowOrder::time)) seen.rows.push_back(*row);
    }
}

/// Reads a process's state, with its decisions if `with_calls` is true. Returns nullopt if the process has ended.
std::optional<ProcessSnapshot> read_process(const record::LiveRecording& live, const TopOptions& options,
                                            bool with_calls, KeptBetweenUpdates& memory) {
    const auto opened = record::RecordingReader::open(live.open_path);
    if (!opened.reader) return std::nullopt;  // the process has ended since it was listed
    ProcessSnapshot seen;
    seen.pid = live.pid;
    seen.recording = live.name;
    seen.facts = opened.reader->facts();
    seen.facts.process.command = record::command_line_of(live.pid);
    seen.facts.process.executable = record::executable_of(live.pid);
    count_calls(*opened.reader, seen);
    memory.rules.add(*opened.reader, true);
    seen.settings = settings_in_force(*opened.reader);
    const std::int64_t now = now_ns();
    PreviousCounters& since = memory.before[live.pid];
    // After a reload of its policy, a process may record into another file, whose counts begin at 0.
    if (since.recording != seen.recording) since = {seen.recording, 0, seen.facts.opened_ns, {}};
    const double seconds = static_cast<double>(now - since.time_ns) / 1e9;
    if (seconds > 0 && seen.calls >= since.calls)
        seen.calls_per_second = static_cast<double>(seen.calls - since.calls) / seconds;
    since.calls = seen.calls;
    since.time_ns = now;
    if (with_calls) read_calls(*opened.reader, options, seconds, since.groups, memory.locations, seen);
    return seen;
}

void sort_by(const std::string& key, std::vector<ProcessSnapshot>& all) {
    std::stable_sort(all.begin(), all.end(), [&](const ProcessSnapshot& a, const ProcessSnapshot& b) {
        if (key == "pid") return a.pid < b.pid;
        if (key == "calls") return a.calls > b.calls;
        if (key == "time") return a.host_ns > b.host_ns;
        return a.calls_per_second > b.calls_per_second;
    });
}

std::string name_of_policy(const SettingsInForce& settings) {
    if (!settings.policy_name) return "?";
    return settings.policy_name->empty() ? "-" : *settings.policy_name;
}

template <class Word>
std::string word_or(const std::optional<Word>& word, std::string_view unknown) {
    return std::string(word ? policy::to_string(*word) : unknown);
}

/// Returns the share of `count` in `calls` as a whole percentage. It is 0% only for no calls and 100% only for all
/// calls, so that a single call below FP32 in a million is visible.
std::string share_text_in_percent(std::uint64_t count, std::uint64_t calls) {
    if (calls == 0) return "-";
    const double percent = 100.0 * static_cast<double>(count) / static_cast<double>(calls);
    if (count > 0 && percent < 1) return "<1%";
    if (count < calls && percent > 99) return ">99%";
    return fmt::format("{:.0f}%", percent);
}

std::string process_table(const std::vector<ProcessSnapshot>& all) {
    TextTable table({{"PID", true},
                     {"calls/s", true},
                     {"calls", true},
                     {"host time", true, 0, 1},
                     {"FP64", true, 0, 2},
                     {"FP32", true},
                     {"lower", true},
                     {"precision"},
                     {"floor"},
                     {"policy", false, 10, 3},
                     {"command", false, 20}});
    for (const ProcessSnapshot& seen : all) {
        const auto share = [&](std::uint64_t count) { return share_text_in_percent(count, seen.calls); };
        table.add({fmt::format("{}", seen.pid), count_text(static_cast<std::uint64_t>(seen.calls_per_second)),
                   count_text(seen.calls), duration_text(static_cast<double>(seen.host_ns), seen.is_estimate),
                   share(seen.fp64_calls), share(seen.fp32_calls), share(seen.lower_calls),
                   word_or(seen.settings.precision, "?"), word_or(seen.settings.floor, "?"),
                   name_of_policy(seen.settings), seen.facts.process.command});
    }
    return table.text();
}

std::string tables_of(const std::vector<ProcessSnapshot>& all, const TopOptions& options) {
    if (all.empty()) return "no process of this user is recording now\n";
    const std::string processes = process_table(all) + "\n";
    std::vector<const std::vector<LiveGroup>*> groups;
    for (const ProcessSnapshot& seen : all)
        if (seen.groups) groups.push_back(&*seen.groups);
    if (!groups.empty()) return processes + live_table(summed_groups(groups), max_rows);
    if (options.pid == 0) return process_table(all);
    std::vector<const MergedRow*> rows;
    for (const MergedRow& row : all.front().rows) rows.push_back(&row);
    return processes + call_site_table(rows, max_rows).text();
}

std::string text_of(const std::vector<ProcessSnapshot>& all, const RuleUseCounter& rules, const TopOptions& options) {
    const std::string unused = unused_rules_text(rules.all(), max_rules);
    return tables_of(all, options) + (unused.empty() ? "" : "\n" + unused);
}

Json document_of(const std::vector<ProcessSnapshot>& all, const RuleUseCounter& rules) {
    const auto row_json = [](const MergedRow& row) { return json_object_of_row(row_columns(), row); };
    const Json processes = json_list(all, [&](const ProcessSnapshot& seen) -> Json {
        return {{"pid", seen.pid},
                {"recording", seen.recording},
                {"host", text_or_null(seen.facts.process.host)},
                {"executable", text_or_null(seen.facts.process.executable)},
                {"command", text_or_null(seen.facts.process.command)},
                {"opened", timestamp(seen.facts.opened_ns)},
                {"precision", text_or_null(word_or(seen.settings.precision, ""))},
                {"floor", text_or_null(word_or(seen.settings.floor, ""))},
                {"policy_name", text_or_null(seen.settings.policy_name.value_or(""))},
                {"calls", seen.calls},
                {"host_ns", seen.host_ns},
                {"calls_per_second", seen.calls_per_second},
                {"fp64_calls", seen.fp64_calls},
                {"fp32_calls", seen.fp32_calls},
                {"lower_calls", seen.lower_calls},
                {"rows", json_list(seen.rows, row_json)},
                {"groups", seen.groups ? json_list(*seen.groups, live_group_json) : Json()}};
    });
    return {
        {"schema", 1}, {"time", timestamp(now_ns())}, {"processes", processes}, {"rules", rules_json(rules.all())}};
}

/// Reads the state of all processes that are being recorded, or only of the process `options.pid` if it is not 0. If
/// that process has no recording, `error` becomes a message.
std::vector<ProcessSnapshot> read_processes(const TopOptions& options, KeptBetweenUpdates& memory,
                                            std::string& error) {
    std::vector<ProcessSnapshot> all;
    memory.rules = {};
    const bool with_calls = options.pid != 0 || options.is_json || !options.by.empty();
    const auto read_one = [&](const record::LiveRecording& recording) {
        if (auto seen = read_process(recording, options, with_calls, memory)) all.push_back(std::move(*seen));
    };
    if (options.pid == 0)
        record::visit_live_recordings(read_one);
    else if (const record::FoundLiveRecording found = record::find_live_recording(options.pid); found.recording)
        read_one(*found.recording);
    else
        error = found.error;
    std::erase_if(memory.before, [&](const auto& known) {
        return std::ranges::find(all, known.first, &ProcessSnapshot::pid) == all.end();
    });
    sort_by(options.sort, all);
    return all;
}

/// Returns the first lines of `text`, as many as fit on the terminal, since it would scroll them out of sight
/// otherwise.
std::string truncated_to_terminal(const std::string& text) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 3) return text;
    std::size_t end = 0;
    for (int line = 0; line < size.ws_row - 2; ++line) {
        end = text.find('\n', end);
        if (end == std::string::npos) return text;
        ++end;
    }
    return text.substr(0, end);
}

/// Waits at most `seconds`. Returns true if the user typed `q` or closed stdin. Reads no keys if `is_terminal` is
/// false.
bool wait_for_quit(double seconds, bool is_terminal) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready =
        poll(&input, is_terminal && isatty(STDIN_FILENO) == 1 ? 1 : 0, static_cast<int>(seconds * 1000));
    char key = 0;
    return ready > 0 && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q');
}

int ps(const TopOptions& options) {
    KeptBetweenUpdates memory;
    std::string error;
    const std::vector<ProcessSnapshot> all = read_processes(options, memory, error);
    if (!error.empty()) return usage_error("ps", error);
    print(options.is_json ? json_text(document_of(all, memory.rules)) : wrapped(text_of(all, memory.rules, options)));
    return exit_code::ok;
}

int top(const TopOptions& options) {
    const bool is_terminal = !options.is_json && supports_escape_codes(STDOUT_FILENO);
    KeptBetweenUpdates memory;
    for (std::int64_t round = 0; options.rounds == 0 || round < options.rounds; ++round) {
        if (round > 0 && wait_for_quit(options.seconds, is_terminal)) break;
        std::string error;
        const std::vector<ProcessSnapshot> all = read_processes(options, memory, error);
        if (!error.empty()) {
            say("top", error);
            // If the process was shown before, it has ended since then.
            return round == 0 ? exit_code::usage : exit_code::ok;
        }
        if (options.is_json)
            print(json_line(document_of(all, memory.rules)));
        else if (is_terminal)
            print("\033[H\033[2J" +
                  truncated_to_terminal(fmt::format("fp32shim top, {} UTC, every {} s; q and Enter: quit\n\n{}",
                                                    time_of_day(now_ns()).substr(0, 8), options.seconds,
                                                    wrapped(text_of(all, memory.rules, options)))));
        else
            print(fmt::format("{}\n{}\n", timestamp(now_ns()), wrapped(text_of(all, memory.rules, options))));
        if (std::fflush(stdout) != 0) break;
    }
    return exit_code::ok;
}

void add_common(CLI::App& app, TopOptions& options) {
    add_process_id(app, options.pid, "Show this process only, and where its time goes");
    add_choice(app, "--sort", options.sort, {"rate", "calls", "time", "pid"},
               "Order of the processes; default: rate");
    add_choices(app, "--by", options.by, all_grouping_words(false),
                "Show where the time goes, of all processes or of PID; default for a PID: where");
    add_table_or_json(app, options.is_json);
}

}  // namespace

Action define_top(CLI::App& app) {
    auto options = std::make_shared<TopOptions>();
    add_common(app, *options);
    add_seconds(app, "--interval", options->seconds, 0.1, "Seconds between two updates; default: 2");
    add_count(app, "--count", options->rounds, 1, "Number of updates; default: no limit");
    return [options] { return top(*options); };
}

Action define_ps(CLI::App& app) {
    auto options = std::make_shared<TopOptions>();
    add_common(app, *options);
    return [options] { return ps(*options); };
}

}  // namespace fp32shim::cli
