// Implements `fp32shim diff`, which compares two runs. It shows which calls, times and precisions changed. If the
// recordings have fingerprints, it also shows the first product whose results differ, and how the differences grow
// after it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/diff/changes.hpp"
#include "cli/diff/outcome.hpp"
#include "cli/diff/pairs.hpp"
#include "cli/diff/results.hpp"
#include "cli/diff/summary.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {
namespace {

struct DiffFormat;

struct DiffOptions {
    std::string a, b, output, sort = "time";
    std::vector<std::string> by;
    CallFilter filter;
    const DiffFormat* format = nullptr;
    double bound = 1e-3;
    std::int64_t top = 20;
};

/// An output format of the command, with the function that writes the outcome in this format.
struct DiffFormat {
    std::string_view name, extension;
    std::string (*text)(const DiffOutcome&, const std::vector<ReadingProblem>&, const DiffOptions&);
};
using Problems = std::vector<ReadingProblem>;
constexpr DiffFormat formats[] = {
    {"text", ".txt",
     [](const DiffOutcome& outcome, const Problems&, const DiffOptions& options) {
         const int stream = options.output.empty() ? STDOUT_FILENO : -1;
         return wrapped(diff_text(outcome, static_cast<std::size_t>(options.top), stream), stream);
     }},
    {"json", ".json",
     [](const DiffOutcome& outcome, const Problems&, const DiffOptions&) { return json_text(diff_json(outcome)); }},
    {"html", ".html",
     [](const DiffOutcome& outcome, const Problems& problems, const DiffOptions&) {
         return diff_html_page(outcome, problems);
     }},
};

/// Finds the recordings that `argument` names. Returns false after printing an error message, for example because the
/// file `output` is one of them.
bool find_side(const std::string& argument, const std::string& output, RecordingPaths& found) {
    found = find_recordings({argument});
    if (print_errors_or_notes("diff", found)) return false;
    const std::string problem = problem_with_output(output, found.paths);
    if (!problem.empty()) say("diff", problem);
    return problem.empty();
}

/// Tells the user about recordings that belong to one of the compared runs but are not read.
void mention_unread_files(const RecordingPaths& paths_a, const RecordingPaths& paths_b) {
    RecordingPaths both = paths_a;
    both.paths.insert(both.paths.end(), paths_b.paths.begin(), paths_b.paths.end());
    both.copies.insert(both.copies.end(), paths_b.copies.begin(), paths_b.copies.end());
    both.notes.clear();  // find_side() has already printed these notes
    mention_other_files_of_runs(both);
    print_errors_or_notes("diff", both);
}

/// Returns true, after a warning with the possible reason, if `side` has no fingerprints.
bool warn_no_fingerprints(const std::string& argument, const DiffSide& side) {
    if (side.fingerprint_count() > 0) return false;
    if (side.filter_selects_nothing()) {
        say("diff", fmt::format("{}: the options select none of {}", argument,
                                counted(side.calls.calls_before_filter(), "call")));
        return true;
    }
    const std::string why = side.calls.total().calls == 0 ? "it has no recorded product"
                            : side.lost > 0 ? fmt::format("no room was left for {}; raise [log] max_size",
                                                          counted(side.lost, "fingerprint"))
                                            : fmt::format(
                                                  "{} without fingerprints, which fp32shim run --audit fingerprint "
                                                  "records, for products on a CPU",
                                                  counted(side.calls.total().calls, "call"));
    say("diff", fmt::format("{}: found no fingerprints: {}", argument, why));
    return true;
}

/// Warns if products of `side` were to run in a lower format, but ran in the format in which they were called. Only
/// products with a counterpart in the other run count. `product_of` selects the product of `side` in a pair.
void warn_not_lowered(const std::string& argument, const DiffSide& side, std::size_t ResultPair::*product_of,
                      const std::vector<ResultPair>& pairs) {
    // The number of products for each combination of requested precision, reason and format.
    std::map<std::array<std::string_view, 3>, std::uint64_t> products;
    for (const ResultPair& pair : pairs) {
        const MergedRow& row = side.row_of(pair.*product_of);
        const std::string_view as_called = row.is_float64() ? "fp64" : "fp32";
        const bool asks_lower = row.requested != "native" && row.requested != "highest" && row.requested != "fp64";
        if (asks_lower && row.effective_format() == as_called) ++products[{row.requested, row.reason, as_called}];
    }
    for (const auto& [asked, count] : products) {
        const auto& [requested, reason, as_called] = asked;
        say("diff",
            fmt::format("{}: {} asked for {}, but ran at {} ({}){}", argument, counted(count, "product"), requested,
                        as_called, reason, reason == "cpu_mode_off" ? "; on a CPU, run with --cpu emulate" : ""));
    }
}

/// Tells the user why no products were aligned, as far as the recordings show the reason.
void warn_nothing_aligned(const DiffSide& a, const DiffSide& b) {
    const auto has_lines = [](const DiffSide& side) {
        return std::ranges::any_of(side.rows, [](const MergedRow& row) { return !row.where.empty(); });
    };
    std::string why = "the programs, their functions or sizes differ";
    if (has_lines(a) != has_lines(b))
        why = fmt::format("{} has lines of the program, {} has none; record both with the same --where",
                          has_lines(a) ? "A" : "B", has_lines(a) ? "B" : "A");
    say("diff", "no product of A has a counterpart in B: " + why);
}

int diff(DiffOptions& options) {
    std::string problem = choose_format(options.format, options.output, std::span<const DiffFormat>(formats));
    if (problem.empty()) problem = options.filter.parse_options();
    if (!problem.empty()) return usage_error("diff", problem);
    const bool by_row = std::erase(options.by, "row") > 0;
    if (by_row && options.format->name == "html")
        return usage_error("diff", "--by row has no page; choose --format text or --format json");
    if (options.b.empty()) {
        std::vector<std::string> last;
        if (!options.a.empty())
            say("diff", "name two recordings, or none to compare the last two runs kept in this folder");
        if (!options.a.empty() || !default_to_last_runs("diff", 2, last)) return exit_code::usage;
        options.a = last[0];
        options.b = last[1];
    }
    RecordingPaths paths_a, paths_b;
    if (!find_side(options.a, options.output, paths_a) || !find_side(options.b, options.output, paths_b))
        return exit_code::usage;
    mention_unread_files(paths_a, paths_b);
    ProductKindNumbering kinds;
    NativeLocator locations;
    std::vector<ReadingProblem> problems;
    const Grouping grouping = parse_grouping(options.by);
    const DiffSelection wanted{options.filter, grouping.by_call_site};
    const DiffSide a = read_diff_side(paths_a.paths, wanted, kinds, locations, problems);
    const DiffSide b = read_diff_side(paths_b.paths, wanted, kinds, locations, problems);
    if (a.calls.processes().empty() || b.calls.processes().empty()) {
        print_problems("diff", problems);
        return exit_code::usage;
    }
    const PairedResults paired = by_row ? PairedResults() : pair_results(a, b, problems);
    const bool is_damaged = print_problems("diff", problems);
    const ResultSummary summary = summarize_results(a, b, paired.pairs, options.bound);
    const CallComparison changes = compare_calls(a, b, grouping, parse_row_order(options.sort));
    std::optional<RowComparison> rows;
    if (by_row) rows = compare_rows(a, b);
    const DiffOutcome outcome{a, b, paired, summary, changes, options.bound, rows ? &*rows : nullptr};
    ReportOutput output(options.output);
    output.write(options.format->text(outcome, problems, options));
    if (problem = output.finish(); !problem.empty()) return usage_error("diff", problem);
    for (const DiffSide* const side : {&a, &b})
        if (const std::uint64_t rounded = side->calls.calls_with_rounded_sizes();
            rounded > 0 && options.filter.looks_at_sizes())
            say("diff", rounded_sizes_warning(rounded));
    const bool lacks_a = warn_no_fingerprints(options.a, a), lacks_b = warn_no_fingerprints(options.b, b);
    if (lacks_a || lacks_b) return exit_code::inconclusive;
    warn_not_lowered(options.a, a, &ResultPair::a, paired.pairs);
    warn_not_lowered(options.b, b, &ResultPair::b, paired.pairs);
    if (rows && rows->compares_nothing()) {
        say("diff", row_headline(outcome));
        for (const std::string& remark : row_remarks(outcome)) say("diff", remark);
        return exit_code::inconclusive;
    }
    if (!rows && paired.pairs.empty()) {
        warn_nothing_aligned(a, b);
        return exit_code::inconclusive;
    }
    return outcome.has_equal_results() && !is_damaged ? exit_code::ok : exit_code::finding;
}

}  // namespace

Action define_diff(CLI::App& app) {
    auto options = std::make_shared<DiffOptions>();
    app.add_option("A", options->a,
                   "Recording, folder with recordings, or glob; default: the last run but one kept in .fp32shim/")
        ->type_name("FILE");
    app.add_option("B", options->b, "The same for another run; default: the last one")->type_name("FILE");
    add_number(app, "--bound", options->bound,
               "Find the first product with a relative difference beyond this; default: 0.001");
    std::vector<std::string_view> words = all_grouping_words(false);
    words.push_back("row");
    add_choices(
        app, "--by", options->by, words,
        "Show the calls of decisions that have this in common; default: where, scope and function. row: compare "
        "results row by row, whatever batches the runs divide the rows into");
    add_choice(app, "--sort", options->sort, row_order_words, "Show the largest change of this first; default: time");
    add_format(app, options->format, std::span<const DiffFormat>(formats));
    options->format = nullptr;  // the name of the output file chooses the format, unless --format does
    add_output(app, options->output)
        ->description(
            "Write to this file, completely or not at all; -: stdout; without --format, an ending such as .html or "
            ".json chooses the format");
    add_count(app, "--top", options->top, 0, "Rows of each table of groups; 0: all");
    options->filter.declare_options(app);
    return [options] { return diff(*options); };
}

}  // namespace fp32shim::cli
