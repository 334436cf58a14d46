// fp32shim report: merges recordings and writes the result in one of several formats.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "cli/report/timeline.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

struct ReportOptions {
    std::vector<std::string> recordings;
    const ReportFormat* format = nullptr;
    std::string output, sort = "time";
    std::vector<std::string> by;
    std::int64_t top = 10;
    /// The path of an earlier copy of a recording, whose calls are left out; empty if all calls count.
    std::string since;
    /// The names under which source files are shown, by the files' paths.
    std::map<std::string, std::string> file_names;
    CallFilter filter;
};

ReportView view_of(const ReportOptions& options) {
    return {.order = parse_row_order(options.sort),
            .grouping = parse_grouping(options.by),
            .top = static_cast<std::size_t>(options.top),
            .stream = options.output.empty() ? STDOUT_FILENO : -1,
            .is_filtered = !options.filter.is_empty() || !options.since.empty(),
            .is_since = !options.since.empty()};
}

/// Applies `--since` and `--name-file` to recordings.
class RecordingPreparer {
  public:
    explicit RecordingPreparer(const ReportOptions& options) : options_(options) {}

    /// Opens the earlier copy. Returns an error message; empty on success.
    std::string open_earlier_copy() {
        if (options_.since.empty()) return {};
        auto opened = record::RecordingReader::open(options_.since);
        earlier_ = std::move(opened.reader);
        return earlier_ ? std::string()
                        : fmt::format("--since: {}: {}", policy::quoted_path(options_.since), opened.error);
    }
    void prepare(record::RecordingReader& recording) {
        if (!options_.file_names.empty()) recording.row_reader().set_file_names(options_.file_names);
        if (earlier_ == nullptr || was_used_) return;
        why_not_ = recording.subtract_earlier_copy(*earlier_);
        was_used_ = why_not_.empty();
    }
    /// Returns an error message if the file of `--since` is a copy of none of the recordings; empty otherwise.
    std::string problem() const {
        if (earlier_ == nullptr || was_used_ || why_not_.empty()) return {};
        return fmt::format("--since: {} {}; name a copy of the recording that was made before",
                           policy::quoted_path(options_.since), why_not_);
    }

  private:
    const ReportOptions& options_;
    std::unique_ptr<record::RecordingReader> earlier_;
    std::string why_not_;
    bool was_used_ = false;
};

ReportContents read(const std::vector<std::string>& paths, const ReportOptions& options,
                    RecordingPreparer& preparation) {
    const ReportFormat& format = *options.format;
    const Grouping grouping = parse_grouping(options.by);
    NativeLocator native_locations;
    ReportContents contents{.calls = MergedCalls(&options.filter, MergedCalls::Objects::left_out),
                            .paths = CallPathTree(&native_locations),
                            .groups = RowGroupTable(grouping)};
    const bool needs_paths = grouping.by_call_site || format.needs_paths;
    CallPathTree* const call_paths = needs_paths ? &contents.paths : nullptr;
    RowGroupTable* const groups = grouping.has_process_keys() ? &contents.groups : nullptr;
    contents.problems = visit_recordings(paths, [&](const std::string& path, record::RecordingReader& recording) {
        preparation.prepare(recording);
        native_locations.locate_rows_of(recording, options.filter.looks_at_call_sites());
        contents.calls.add(path, recording, call_paths, groups);
        if (format.needs_metrics) add_prometheus_metrics(recording, options.filter, contents.metrics);
        if (!format.needs_single_calls) return;
        add_single_calls(recording, options.filter, contents.calls, contents.durations,
                         format.needs_timeline ? &contents.timeline : nullptr);
    });
    contents.paths.finish();
    contents.calls.set_median_durations(contents.durations);
    return contents;
}

/// Returns an error message if rows should be grouped by a fact of processes, such as the host, but other options
/// forbid that; empty otherwise.
std::string problem_with_process_keys(const ReportOptions& options) {
    const Grouping grouping = parse_grouping(options.by);
    if (!grouping.has_process_keys()) return {};
    const auto word = std::ranges::find_if(options.by, [](const std::string& given) {
        return std::ranges::find(process_grouping_words, given, &GroupingWord::word) !=
               std::end(process_grouping_words);
    });
    const std::string other = !options.format->knows_processes ? fmt::format("--format {}", options.format->name)
                              : grouping.by_call_site          ? "call_site"
                                                               : "";
    if (other.empty()) return {};
    return fmt::format("--by: found {} together with {}, which merges all processes; omit one of them", *word, other);
}

/// Returns an error message if options exclude each other; empty if they do not.
std::string problem_in_options(const ReportOptions& options) {
    if (std::string problem = problem_with_process_keys(options); !problem.empty()) return problem;
    const ReportFormat& format = *options.format;
    if (!format.why_no_groups.empty() && !options.by.empty())
        return fmt::format("--by: found together with --format {}, {}; omit one of them", format.name,
                           format.why_no_groups);
    return {};
}

/// Warns that `folded` calls have sizes that are rounded up, if the filter looks at sizes.
void warn_sizes_rounded(std::uint64_t folded, const CallFilter& filter) {
    if (folded > 0 && filter.looks_at_sizes()) say("report", rounded_sizes_warning(folded));
}

void warn_paths_cut(std::uint64_t calls) {
    if (calls == 0) return;
    say("report",
        fmt::format("the call paths of {} lack their innermost functions: a recording has room for half a million "
                    "rows of new paths, and for a million functions in them",
                    counted(calls, "call")));
}

/// Finds the recordings of all arguments. Returns nullopt after printing an error.
std::optional<std::vector<std::string>> find_files(const ReportOptions& options) {
    RecordingPaths found = find_recordings(options.recordings);
    // Prometheus's file is written even without recordings. An older file would go on to count removed recordings.
    if (options.format->allows_empty && found.errors.size() == found.empty_folders) found.errors.clear();
    if (found.errors.empty() && options.since.empty()) mention_other_files_of_runs(found);
    if (print_errors_or_notes("report", found)) return std::nullopt;
    std::vector<std::string> files = found.paths;
    for (const RecordingCopy& copy : found.copies) files.push_back(copy.path);
    if (const std::string problem = problem_with_output(options.output, files); !problem.empty()) {
        say("report", problem);
        return std::nullopt;
    }
    return found.paths;
}

/// Completes the output, and returns the exit code. `is_incomplete` says that some recordings could not be read, or
/// only in part.
int finish(ReportOutput& output, bool is_incomplete) {
    if (const std::string problem = output.finish(); !problem.empty()) return usage_error("report", problem);
    return is_incomplete ? exit_code::finding : exit_code::ok;
}

/// Writes a report as JSON lines. The lines of each recording are written as soon as the recording is read.
int report_lines(const std::vector<std::string>& paths, const ReportOptions& options,
                 RecordingPreparer& preparation) {
    ReportOutput output(options.output);
    const JsonLinesResult written = write_json_lines(
        paths, options.filter, [&](record::RecordingReader& recording) { preparation.prepare(recording); }, output);
    if (const std::string problem = preparation.problem(); !problem.empty()) return usage_error("report", problem);
    output.write(written.rest);
    warn_sizes_rounded(written.calls_with_rounded_sizes, options.filter);
    print_problems("report", written.problems);
    return finish(output, !written.problems.empty() || written.recordings == 0);
}

int report_merged(const std::vector<std::string>& paths, const ReportOptions& options,
                  RecordingPreparer& preparation) {
    const ReportContents contents = read(paths, options, preparation);
    warn_sizes_rounded(contents.calls.calls_with_rounded_sizes(), options.filter);
    warn_paths_cut(contents.paths.calls_with_cut_paths());
    if (const std::string problem = preparation.problem(); !problem.empty()) return usage_error("report", problem);
    const bool is_damaged = print_problems("report", contents.problems);
    if (!options.format->allows_empty && contents.calls.processes().empty()) return exit_code::finding;

    ReportOutput output(options.output);
    options.format->write(contents, view_of(options), output);
    return finish(output, is_damaged);
}

int report(ReportOptions& options) {
    std::string problem = choose_format(options.format, options.output, report_formats());
    if (problem.empty()) problem = problem_in_options(options);
    if (problem.empty()) problem = options.filter.parse_options();
    RecordingPreparer preparation(options);
    if (problem.empty()) problem = preparation.open_earlier_copy();
    if (!problem.empty()) return usage_error("report", problem);
    if (!default_to_last_runs("report", 1, options.recordings)) return exit_code::usage;
    const auto files = find_files(options);
    if (!files) return exit_code::usage;
    if (options.format->write == nullptr) return report_lines(*files, options, preparation);

    try {
        return report_merged(*files, options, preparation);
    } catch (const std::bad_alloc&) {
        throw std::runtime_error(
            "not enough memory for all distinct decisions of these recordings, at 200 to 400 bytes each; count fewer "
            "(--host, --ran-below, ...), or write them as they are read, with --format jsonl");
    }
}

/// Adds the option `--name-file PATH=NAME`, which may be given several times.
void add_file_names(CLI::App& app, std::map<std::string, std::string>& names) {
    const std::function<void(const std::vector<std::string>&)> take =
        [&names](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
                const std::size_t equals = value.rfind('=');
                if (equals == std::string::npos || equals == 0 || equals + 1 == value.size())
                    throw CLI::ValidationError("--name-file",
                                               "found " + policy::in_quotes(value) + "; allowed: PATH=NAME");
                names[value.substr(0, equals)] = value.substr(equals + 1);
            }
        };
    app.add_option_function("--name-file", take, "Show the source file PATH under another name")
        ->type_name("PATH=NAME")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

Action define_report(CLI::App& app) {
    auto options = std::make_shared<ReportOptions>();
    add_recordings(app, options->recordings);
    add_format(app, options->format, report_formats());
    options->format = nullptr;  // without --format, the end of the output's name chooses the format
    add_output(app, options->output)
        ->description(
            "Write to this file, completely or not at all; -: stdout; without --format, an ending such as .html or "
            ".json chooses the format");
    add_choice(app, "--sort", options->sort, row_order_words,
               "Order of a table or page, and width of call paths; default: time");
    add_choices(app, "--by", options->by, all_grouping_words(true),
                "Merge decisions that have this in common, such as those of many sizes or call sites");
    add_count(app, "--top", options->top, 0, "Rows of the table; 0: all");
    const auto name_other_command = [] {
        throw CLI::ValidationError("--diff", "two recordings are compared by another command: fp32shim diff A B");
    };
    app.add_flag_callback("--diff", name_other_command)->group("");
    add_name(app, "--since", options->since, "FILE", "Leave out the calls that this earlier copy of a recording has");
    add_file_names(app, options->file_names);
    options->filter.declare_options(app);
    return [options] { return report(*options); };
}

}  // namespace fp32shim::cli
