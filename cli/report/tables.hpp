// Tables of `fp32shim report`, which other commands also print.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

struct TableLimits {
    std::size_t sites = 10;  ///< number of rows of the longest list of call sites; 0: no limit
    RowOrder order = RowOrder::time;
    std::string how_to_see_more = "--top 0 shows all";  ///< hint that follows a shortened list
};

/// Returns a line with the numbers of calls by their operands' types; empty if no call is of float64.
std::string operands_text(const MergedCalls& calls);

/// Returns a report for people: totals, formats, the most important call sites, refusals and omissions. `stream` is 1
/// for stdout, 2 for stderr, -1 for a file.
std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream);

/// Texts of a table about audits. Columns that are empty in all rows are left out.
struct AuditTable {
    std::vector<Table::Column> heads;
    std::vector<std::vector<std::string>> rows;
    std::size_t left_out = 0;  ///< number of rows beyond the limit
};
/// Returns the rows with audits, largest error first: at most `limit`, or all if it is 0.
AuditTable audit_table(const MergedCalls& calls, std::size_t limit);
/// Returns the products that made the first NaN or infinity of their processes, sorted by time: at most `limit`, or
/// all if it is 0.
AuditTable nonfinite_table(const MergedCalls& calls, std::size_t limit);
/// Returns the first products that received NaN or infinity, by time.
AuditTable received_table(const MergedCalls& calls, std::size_t limit);
/// Returns a line about lost audits; empty if none are lost.
std::string lost_audits_text(const MergedCalls& calls);

/// Returns lost_audits_text() followed by audit_table() as text; empty without audits.
std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns nonfinite_table() as text, or that nothing was found; empty if nothing was searched.
std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns received_table() as text; empty if it has no rows.
std::string received_text(const MergedCalls& calls, const TableLimits& limits, int stream);

/// Column that shows a key in a table of groups. It is left out if it is empty in all groups.
struct KeyColumn {
    Table::Column head;
    std::string (*text)(const RowGroup&);
};
std::span<const KeyColumn> key_columns();

/// Returns a table of the first `limit` rows, or of all if it is 0.
Table call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit);

}  // namespace fp32shim::cli
