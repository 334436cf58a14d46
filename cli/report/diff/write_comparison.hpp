// Formats of `fp32shim report --diff`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/diff/comparison.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Returns the commands of a side's processes: `python3 train.py`. The texts come from recordings, and are not
/// printable() yet.
std::string command_of(const MergedCalls& calls);

/// Writes for people: both sides, then the groups that changed most. `limit`: longest list, in rows; 0: all.
/// `stream`: destination, 1 or 2; -1: a file.
void write_diff_table(const Comparison& comparison, std::size_t limit, int stream, const TextSink& put);

/// Writes JSON (docs/cli/report-json.md, "Comparisons").
void write_diff_json(const Comparison& comparison, ReportOutput& output);

/// Writes CSV (RFC 4180): a line of column names, and a line for each group.
void write_diff_csv(const Comparison& comparison, ReportOutput& output);

/// Writes a line for each path: `outermost;…;cblas_sgemm 1234 2345`, the numbers before and after. It is what
/// difffolded.pl writes and flamegraph.pl reads.
void write_diff_folded(const Comparison& comparison, ReportOutput& output);

/// Returns the page, which loads nothing else: UTF-8, bounded as that of a report. `problems` are shown as warnings.
/// `is_filtered`: the page says that a filter left calls out.
std::string comparison_page(const Comparison& comparison, const std::vector<ReadingProblem>& problems,
                            bool is_filtered);

}  // namespace fp32shim::cli
