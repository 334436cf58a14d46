// JSON and CSV of `fp32shim report`.
#pragma once

#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

class CallPaths;

/// Writes JSON (docs/cli/report-json.md), row by row: a document of a million rows would take gigabytes. `groups`
/// replace the rows.
void write_report_json(const MergedCalls& calls, const std::vector<RowGroup>* groups, const CallPaths& paths,
                       ReportOutput& output);

/// Writes CSV (RFC 4180): a line of column names, and a line for each distinct decision, or for each of `groups`.
void write_report_csv(const MergedCalls& calls, const std::vector<RowGroup>* groups, ReportOutput& output);

}  // namespace fp32shim::cli
