// Writers for the formats of `fp32shim report --diff`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/diff/comparison.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Returns the commands of a side's processes: `python3 train.py`. The result comes from recordings and must pass
/// printable() before it is printed.
std::string command_of(const MergedCalls& calls);

/// Writes a comparison for people: both sides, then the groups with the largest changes. `limit` is the number of
/// rows of the longest list; 0: no limit. `stream` is 1 for stdout, 2 for stderr, -1 for a file.
void write_diff_table(const Comparison& comparison, std::size_t limit, int stream, const TextSink& put);

/// Writes JSON (docs/cli/report-json.md, "Comparisons").
void write_diff_json(const Comparison& comparison, ReportOutput& output);

/// Writes CSV (RFC 4180): a line of column names, then a line for each group.
void write_diff_csv(const Comparison& comparison, ReportOutput& output);

/// Writes a line for each path, `outermost;…;cblas_sgemm 1234 2345`, with the numbers of both sides. difffolded.pl
/// writes this format and flamegraph.pl reads it.
void write_diff_folded(const Comparison& comparison, ReportOutput& output);

/// Returns a page that loads nothing else, in UTF-8, with a limited size like that of a report. `problems` are shown
/// as warnings. With `is_filtered`, the page says that a filter left calls out.
std::string comparison_page(const Comparison& comparison, const std::vector<ReadingProblem>& problems,
                            bool is_filtered);

}  // namespace fp32shim::cli
