// Makes the tables of `fp32shim report`, which other commands also print.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// The limits of the lists in a report for people.
struct TableLimits {
    std::size_t max_rows = 10;  ///< maximum number of rows in a list; 0: no limit
    RowOrder order = RowOrder::time;
    std::string how_to_see_more = "--top 0 shows all";  ///< hint that follows a shortened list
    bool leaves_out_vectors = false;  ///< leaves out products with a vector, unless there are no other products
};

/// Returns a line with the numbers of products of matrices by their operands' types; empty if no call is of float64.
std::string operand_types_text(const MergedCalls& calls);

/// The number of products of float16 and bfloat16, and the number of these products that may add in FP16.
struct HalfProductCounts {
    std::uint64_t all = 0, in_fp16 = 0;
};
HalfProductCounts count_half_products(const MergedCalls& calls);

/// Returns a report for people: totals, formats, the most important call sites, refusals and omissions. `stream` is 1
/// for stdout, 2 for stderr, -1 for a file.
std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream);

/// A table, and the number of rows beyond its limit.
struct LimitedTable {
    TextTable table;
    std::size_t left_out = 0;
};
/// Returns the rows with audits, largest error first: at most `limit` rows, or all rows if `limit` is 0.
LimitedTable audit_table(const MergedCalls& calls, std::size_t limit);
/// Returns the products that made the first NaN or infinity of their processes, sorted by time: at most `limit` rows,
/// or all rows if `limit` is 0.
LimitedTable first_nonfinite_table(const MergedCalls& calls, std::size_t limit);
/// Returns the first products of processes that received NaN or infinity, sorted by time: at most `limit` rows, or
/// all rows if `limit` is 0.
LimitedTable first_received_table(const MergedCalls& calls, std::size_t limit);
/// Returns a line about audits for which the recordings had no room; empty if there are none.
std::string lost_audits_text(const MergedCalls& calls);

/// Returns lost_audits_text() followed by audit_table() as text; empty without audits.
std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns first_nonfinite_table() as text. If it has no rows, returns a line that nothing was found, or an empty
/// text if that is not known: no results were searched, a filter is set, or audits were lost.
std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream);
/// Returns first_received_table() as text; empty if it has no rows.
std::string first_received_text(const MergedCalls& calls, const TableLimits& limits, int stream);

/// The condition under which a column is shown: always, if any row has a text in it, or if the texts of the rows
/// differ.
enum class ColumnCondition : std::uint8_t { always, where_one_has_it, where_they_differ };
constexpr ColumnCondition if_any = ColumnCondition::where_one_has_it,
                          if_different = ColumnCondition::where_they_differ;

/// The ranks of columns. A narrow terminal has no room for all columns, so it leaves out some: first `spread`, the
/// last of the ranks. Counts, times, functions, sizes, lines and precisions have no rank and are never left out.
enum ColumnRank : std::uint8_t { no_rank, why, module, way, route, detail, spread };

/// A column of a table: its title, and a function that returns the text of a row. In a table of groups, each row is a
/// RowGroup.
struct TextColumn {
    TextTable::Column head;
    std::string (*text)(const MergedRow&);
    ColumnCondition shown = ColumnCondition::always;
    bool is_set_apart = false;  ///< a text that all rows have in common stands before the table, not in it
};
using TextColumns = std::vector<TextColumn>;
using TableRows = std::span<const MergedRow* const>;

/// Returns the columns with which all tables begin: calls, then host time and time on the GPU, each with its mean.
std::span<const TextColumn> amount_columns();
/// Returns the columns that follow amount_columns() in a table of groups.
std::span<const TextColumn> group_text_columns();

/// Returns a table of rows, in the given order. The rows must outlive the table. With `leaves_out_common`, columns
/// that are set apart are left out if all rows have the same text.
TextTable table_of(const TextColumns& columns, TableRows rows, bool leaves_out_common = false);

/// Returns a table of call sites with the first `limit` rows, or with all rows if `limit` is 0.
TextTable call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit);

}  // namespace fp32shim::cli
