// The forms in which `fp32shim report` writes what recordings say. Pure: all that they need is in their arguments.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_columns.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

struct TableLimits {
    std::size_t sites = 10;  ///< rows of the list of call sites; 0: all
    RowOrder order = RowOrder::time;
    std::string how_to_see_more = "--top 0 shows all";  ///< where there are more rows than that
};

/// For people: totals, formats, the call sites that matter most, what was asked for and not done, what is missing.
/// `stream`: where it goes, 1 or 2; -1: into a file. With `groups`, these take the place of the call sites. Written
/// line by line, since there may be a million.
void write_report_table(const MergedCalls& calls, const TableLimits& limits, int stream, const TextSink& put,
                        const std::vector<RowGroup>* groups = nullptr);
std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream);

/// docs/cli/report-json.md describes every key. Written row by row: a document of a million would take gigabytes.
/// With `groups`, these take the place of the rows.
void write_report_json(const MergedCalls& calls, const std::vector<RowGroup>* groups, ReportOutput& output);

/// One line per distinct decision, by RFC 4180, the names in the first.
void write_report_csv(const MergedCalls& calls, ReportOutput& output);

/// Prometheus's text format: counters by function, device, dtype, requested, applied and reason.
std::string report_prometheus(const MergedCalls& calls);

/// The cells of a table of rows, and their titles.
Table call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit);

}  // namespace fp32shim::cli
