// Tables of `fp32shim report`, which other commands print too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

struct TableLimits {
    std::size_t sites = 10;  ///< longest list of call sites, in rows; 0: all
    RowOrder order = RowOrder::time;
    std::string how_to_see_more = "--top 0 shows all";  ///< hint after a list that leaves rows out
};

/// Writes for people: totals, formats, the call sites that matter most, refusals and omissions. `stream`:
/// destination, 1 or 2; -1: a file. `groups` replace the call sites. Written line by line, since there may be a
/// million lines.
void write_report_table(const MergedCalls& calls, const TableLimits& limits, int stream, const TextSink& put,
                        const std::vector<RowGroup>* groups = nullptr);
std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream);

/// Cells of a table about audits, in words, without columns that are empty everywhere.
struct AuditTable {
    std::vector<Table::Column> heads;
    std::vector<std::vector<std::string>> rows;
    std::size_t left_out = 0;  ///< number of further rows
};
/// Returns the rows with audits, the largest error first. `limit`: most rows; 0: all.
AuditTable audit_table(const MergedCalls& calls, std::size_t limit);
/// Returns the products that made the first NaN or infinity of their processes, by time. `limit`: as above.
AuditTable nonfinite_table(const MergedCalls& calls, std::size_t limit);
/// Returns the first products that received NaN or infinity, by time.
AuditTable received_table(const MergedCalls& calls, std::size_t limit);
/// Returns a line about audits that are lost; empty: there are none.
std::string lost_audits_text(const MergedCalls& calls);

/// Returns audit_table() as text, behind lost_audits_text(); empty: there are no audits.
std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns nonfinite_table() as text, or that nothing was found; empty: nothing was searched.
std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns received_table() as text; empty: there are none.
std::string received_text(const MergedCalls& calls, const TableLimits& limits, int stream);

/// Column of a table of groups that shows a key of theirs. Left out if no group has a text in it.
struct KeyColumn {
    Table::Column head;
    std::string (*text)(const RowGroup&);
};
std::span<const KeyColumn> key_columns();

/// Returns a table of the first `limit` rows; 0: of all.
Table call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit);

}  // namespace fp32shim::cli
