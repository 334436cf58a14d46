// fp32shim log: prints each call of recordings, or distinct decisions with their counts if calls were not recorded.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/log/source.hpp"
#include "cli/log/writers.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/run_members.hpp"

namespace fp32shim::cli {
namespace {

struct LogOptions {
    std::vector<std::string> recordings;
    const LogFormat* format = nullptr;
    bool rows = false;
    bool follow = false;
    CallFilter filter;
};

/// The time between two readings of a recording by `log --follow`. Recordings with single calls are read more often
/// than recordings that have only decisions.
constexpr auto interval_for_calls = std::chrono::milliseconds(200);
constexpr auto interval_for_decisions = std::chrono::milliseconds(1000);

/// Enlarges the buffer of stdout, because an entry may have a thousand bytes and the usual buffer has only four
/// thousand. Must be called before anything is written to stdout.
void enlarge_output_buffer() {
    static std::array<char, 1 << 16> buffer;
    if (isatty(STDOUT_FILENO) != 1) std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
}

bool output_is_open() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

/// If some of `sources` have decisions but no single calls, prints a note that explains how to record calls.
void warn_calls_not_recorded(const std::vector<LogEntryReader>& sources, const LogOptions& options) {
    if (options.rows) return;
    const auto is_summary = [](const LogEntryReader& source) { return !source.has_calls(); };
    const auto count = std::count_if(sources.begin(), sources.end(), is_summary);
    if (count == 0) return;
    const LogEntryReader& first = *std::find_if(sources.begin(), sources.end(), is_summary);
    const std::string others = count == 1 ? "" : fmt::format(" and {} more", count - 1);
    say("log", fmt::format("{}{}: single calls were not recorded, only distinct decisions with their counts; "
                           "fp32shim run --level calls records them",
                           first.path(), others));
}

/// Writes the entries of all sources in the order of time.
void write_merged(std::vector<LogEntryReader>& sources, LogWriter& writer) {
    std::optional<Progress> progress;
    if (isatty(STDOUT_FILENO) != 1)
        // If stdout is a terminal, no progress is shown, because the entries themselves show it.
        progress.emplace("writing entries");
    std::size_t written = 0;
    using Next = std::pair<std::int64_t, std::size_t>;  // time of the next entry, and index in `sources`
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    const auto queue_next_entry = [&](std::size_t index) {
        if (const auto time = sources[index].next_entry_time()) next.emplace(*time, index);
    };
    for (std::size_t index = 0; index < sources.size(); ++index) queue_next_entry(index);
    while (!next.empty()) {
        const std::size_t index = next.top().second;
        next.pop();
        if (!sources[index].write_next(writer)) return;
        if (progress) progress->show(++written, 0);
        queue_next_entry(index);
    }
}

/// The maximum number of recordings that are open at the same time. A process may be limited to some thousand files.
constexpr std::size_t open_at_a_time = 32;

std::vector<LogEntryReader> open_sources(const std::vector<std::string>& paths, const LogOptions& options,
                                         NativeLocator& native_locations, std::vector<ReadingProblem>& problems) {
    std::vector<LogEntryReader> sources;
    sources.reserve(paths.size());
    Progress progress("reading recordings");
    for (std::size_t i = 0; i < paths.size(); ++i) {
        progress.show(i, paths.size());
        auto opened = record::RecordingReader::open(paths[i]);
        if (!opened.reader) {
            problems.push_back({paths[i], opened.error, true});
            continue;
        }
        native_locations.locate_rows_of(*opened.reader, options.filter.looks_at_call_sites());
        sources.emplace_back(paths[i], std::move(opened.reader), options.filter, options.rows,
                             paths.size() > open_at_a_time);
    }
    return sources;
}

/// A process that cannot be seen from here is not followed if it has timed no call for this long. It may have been
/// killed, which no file of another machine tells. Calls that are not timed have no time in the recording.
constexpr std::int64_t longest_silence_ns = 3'600'000'000'000;

bool is_silent(const record::RecordingReader& recording) {
    std::int64_t last = recording.facts().opened_ns;
    for (const auto& entry : recording.counters()) last = std::max(last, entry.counters.last_ns);
    return now_ns() - last > longest_silence_ns;
}

void follow(LogEntryReader& source, LogWriter& writer) {
    for (bool is_said = false;;) {
        // The state of the process is read before the recording. If the process has ended by then, it records nothing
        // more, so this reading of the recording is the last one.
        const record::RecordingState state = source.recording().state();
        const bool may_run = state == record::RecordingState::unknown && source.recording().facts().exited_ns == 0 &&
                             !notes_end_of_run(source.path());
        const bool is_last_reading = !source.read_again();
        const bool is_given_up = may_run && is_silent(source.recording());
        const bool is_last = is_last_reading || is_given_up || (state != record::RecordingState::live && !may_run);
        if (is_given_up || (may_run && !std::exchange(is_said, true)))
            say("log", fmt::format("{}: it cannot be seen from this machine, container or PID namespace whether its "
                                   "process still runs; {}",
                                   source.path(),
                                   is_given_up
                                       ? "not following it any longer, since by this machine's clock it has timed no "
                                         "call for an hour"
                                       : "following until it notes its end, until it has timed no call for an "
                                         "hour, or until Ctrl-C"));
        if (source.has_calls() || writer.accepts_repeated_rows() || is_last)
            while (source.next_entry_time())
                if (!source.write_next(writer)) break;
        if (!output_is_open() || is_last) return;
        std::this_thread::sleep_for(source.has_calls() ? interval_for_calls : interval_for_decisions);
    }
}

int log(LogOptions& options) {
    if (const std::string problem = options.filter.parse_options(); !problem.empty())
        return usage_error("log", problem);
    if (!default_to_last_runs("log", 1, options.recordings)) return exit_code::usage;
    RecordingPaths found = find_recordings(options.recordings);
    // A run of `fp32shim run` also has a file that lists the programs that it started without the shim. This file has
    // no calls and is left out.
    const std::string first = found.paths.empty() ? "" : found.paths.front();
    std::erase_if(found.paths, is_children_file);
    if (print_errors_or_notes("log", found)) return exit_code::usage;
    if (found.paths.empty() && !first.empty())
        return usage_error(
            "log",
            fmt::format("{}: has no calls: it lists what ran without a recording; fp32shim verify judges it", first));
    if (options.follow && found.paths.size() != 1)
        return usage_error(
            "log", fmt::format("--follow takes one recording, found {}; name one of them", found.paths.size()));
    std::vector<ReadingProblem> problems;
    NativeLocator native_locations;
    std::vector<LogEntryReader> sources = open_sources(found.paths, options, native_locations, problems);
    warn_calls_not_recorded(sources, options);

    enlarge_output_buffer();
    const std::unique_ptr<LogWriter> writer = options.format->make_writer(native_locations);
    writer->write_beginning(sources);
    if (!options.follow)
        write_merged(sources, *writer);
    else if (!sources.empty())
        follow(sources.front(), *writer);
    writer->write_ending();

    for (const LogEntryReader& source : sources) {
        if (const std::string missing = source.missing_calls_text(); !missing.empty())
            say("log", source.path() + ": " + missing);
        if (const auto count = source.recording().lost_changes(); count > 0)
            say("log", source.path() + ": " + lost_changes_text(count));
        for (const record::FileProblem& problem : source.recording().problems())
            problems.push_back({source.path(), problem_text(problem), false});
    }
    if (options.filter.looks_at_sizes()) {
        std::uint64_t folded = 0;
        for (LogEntryReader& source : sources) folded += source.calls_with_rounded_sizes();
        if (folded > 0) say("log", rounded_sizes_warning(folded));
    }
    return print_problems("log", problems) ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_log(CLI::App& app) {
    auto options = std::make_shared<LogOptions>();
    add_recordings(app, options->recordings);
    add_format(app, options->format, log_formats());
    app.add_flag("--rows", options->rows, "Distinct decisions with their counts, even if calls were recorded");
    app.add_flag("--follow,-f", options->follow, "Continue with new calls until the process ends");
    options->filter.declare_options(app);
    return [options] { return log(*options); };
}

}  // namespace fp32shim::cli
