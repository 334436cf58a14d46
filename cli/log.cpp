// fp32shim log: the calls of recordings, one by one, or their distinct decisions where calls were not recorded.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "cli/commands.hpp"
#include "cli/filter.hpp"
#include "cli/log_formats.hpp"
#include "cli/options.hpp"
#include "cli/recordings.hpp"
#include "cli/terminal.hpp"

namespace fp32shim::cli {
namespace {

struct LogOptions {
    std::vector<std::string> recordings;
    std::string format;
    bool rows = false;
    bool follow = false;
    Filter filter;
};

/// How long a live recording is left alone between two looks.
constexpr auto look_again_after = std::chrono::milliseconds(200);

/// Writes one recording, from where it stopped the last time.
class Cursor {
  public:
    Cursor(record::RecordingReader& recording, LogWriter& writer, const LogOptions& options)
        : recording_(recording), writer_(writer), options_(options) {}

    void write_what_is_new() {
        const bool has_calls = recording_.facts().start.log_level == policy::LogLevel::calls;
        if (options_.rows || !has_calls)
            write_rows();
        else
            write_events();
    }

    /// Says which calls the log lacks, in one line, where it lacks any.
    void say_what_is_missing(const std::string& path) const {
        const bool has_calls = recording_.facts().start.log_level == policy::LogLevel::calls;
        if (options_.rows || !has_calls) return;
        std::string text;
        const auto add = [&](std::uint64_t count, std::string_view what) {
            if (count > 0) text += fmt::format("{}{} events {}", text.empty() ? "" : ", ", count, what);
        };
        add(recording_.dropped_events(), "found no room and were dropped");
        add(recording_.overwritten_events(), "were overwritten by later ones");
        add(unknown_events_, "are of calls of which nothing else is known");
        if (!text.empty()) say("log", path + ": " + text + "; fp32shim report counts those calls");
    }

  private:
    void write_events() {
        recording_.visit_events(
            [this](const record::RecordedEvent& event) {
                if (event.lane >= last_.size()) last_.resize(event.lane + 1);
                last_[event.lane] = event.ticks;
                const record::RecordedRow* row = recording_.row(event.row);
                if (row == nullptr || row->is_overflow) {
                    ++unknown_events_;
                    return true;
                }
                return !passes(*row) || writer_.event(recording_, *row, event);
            },
            std::nullopt, std::vector<std::uint64_t>(last_));
    }

    void write_rows() {
        for (const auto& [id, counters] : recording_.counters()) {
            const record::RecordedRow* row = recording_.row(id);
            if (row == nullptr || !passes(*row) || !written_.insert(id).second) continue;
            if (!writer_.row(recording_, *row, counters)) return;
        }
    }

    bool passes(const record::RecordedRow& row) const {
        return options_.filter.passes(row, recording_.facts().process);
    }

    record::RecordingReader& recording_;
    LogWriter& writer_;
    const LogOptions& options_;
    std::uint64_t unknown_events_ = 0;
    std::vector<std::uint64_t> last_;  ///< ticks of the last event, by lane
    std::set<std::uint32_t> written_;  ///< rows
};

bool output_is_open() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

int follow(const std::string& path, LogWriter& writer, const LogOptions& options) {
    const auto opened = record::RecordingReader::open(path);
    if (!opened.reader) {
        say("log", path + ": " + opened.error);
        return exit_code::finding;
    }
    writer.begin(*opened.reader);
    Cursor cursor(*opened.reader, writer, options);
    for (;;) {
        // Asked first: what a process did before it ended is then in what is read after.
        const bool may_go_on = opened.reader->state() == record::RecordingState::live;
        if (!opened.reader->refresh()) break;
        cursor.write_what_is_new();
        if (!output_is_open() || !may_go_on) break;
        std::this_thread::sleep_for(look_again_after);
    }
    writer.end();
    cursor.say_what_is_missing(path);
    return exit_code::ok;
}

int log(LogOptions& options) {
    if (const std::string problem = options.filter.read(); !problem.empty()) {
        say("log", problem);
        return exit_code::usage;
    }
    const RecordingPaths found = find_recordings(options.recordings);
    for (const std::string& error : found.errors) say("log", error);
    if (!found.errors.empty()) return exit_code::usage;
    if (options.follow && found.paths.size() != 1) {
        say("log", fmt::format("--follow takes one recording, found {}; name one of them", found.paths.size()));
        return exit_code::usage;
    }
    const std::unique_ptr<LogWriter> writer = make_log_writer(options.format);
    if (options.follow) return follow(found.paths.front(), *writer, options);

    const auto problems =
        visit_recordings(found.paths, [&](const std::string& path, record::RecordingReader& recording) {
            writer->begin(recording);
            Cursor cursor(recording, *writer, options);
            cursor.write_what_is_new();
            cursor.say_what_is_missing(path);
        });
    writer->end();
    return say_problems("log", problems) ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_log(CLI::App& app) {
    auto options = std::make_shared<LogOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    add_format(app, options->format, {"table", "json", "jsonl", "csv", "chrome"});
    app.add_flag("--rows", options->rows, "Distinct decisions with their counts, also where calls were recorded");
    app.add_flag("--follow,-f", options->follow, "Go on with what is recorded from now on, until the process ends");
    options->filter.declare(app);
    return [options] { return log(*options); };
}

}  // namespace fp32shim::cli
