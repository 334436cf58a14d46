// Tables of rows or of groups of rows. Columns without information are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {

/// Condition under which a table has a column: always, if any row has a text in it, or if the rows' texts differ.
enum class Shown : std::uint8_t { always, where_one_has_it, where_they_differ };

/// A column: its title, and the function that returns a row's text.
template <class Row>
struct TextColumn {
    Table::Column head;
    std::string (*text)(const Row&);
    Shown shown = Shown::always;
};

/// Makes a table of `rows` in their order. Rows and columns must outlive it.
template <class Row>
Table table_of(std::span<const TextColumn<Row>> columns, std::span<const Row* const> rows) {
    std::vector<const TextColumn<Row>*> shown;
    std::vector<Table::Column> heads;
    for (const TextColumn<Row>& column : columns) {
        const std::string usual =
            column.shown == Shown::where_they_differ && !rows.empty() ? column.text(*rows.front()) : "";
        const auto is_usual = [&](const Row* row) { return column.text(*row) == usual; };
        if (column.shown != Shown::always && std::all_of(rows.begin(), rows.end(), is_usual)) continue;
        shown.push_back(&column);
        heads.push_back(column.head);
    }
    return {std::move(heads), rows.size(), [shown = std::move(shown), rows](std::size_t row, std::size_t column) {
                return shown[column]->text(*rows[row]);
            }};
}

/// Returns a time of a row or group as text. Shortest, median and longest are empty for fewer than two timed calls.
template <class Row>
std::string total_time_text(const Row& row) {
    return duration_text(static_cast<double>(row.counters.total_ns), row.has_estimated_time());
}
template <class Row>
std::string mean_time_text(const Row& row) {
    const auto calls = static_cast<double>(std::max<std::uint64_t>(row.counters.calls, 1));
    return duration_text(static_cast<double>(row.counters.total_ns) / calls, row.has_estimated_time());
}
template <class Row>
std::string shortest_time_text(const Row& row) {
    return row.counters.timed_calls < 2 ? "" : duration_text(static_cast<double>(row.counters.shortest_ns));
}
template <class Row>
std::string median_time_text(const Row& row) {
    const bool is_known = row.counters.timed_calls >= 2 && row.median_ns;
    return is_known ? duration_text(static_cast<double>(*row.median_ns)) : "";
}
template <class Row>
std::string longest_time_text(const Row& row) {
    return row.counters.timed_calls < 2 ? "" : duration_text(static_cast<double>(row.counters.longest_ns));
}

/// Ranks of columns. A narrow terminal loses the highest first, and keeps counts, call sites and precisions.
inline constexpr std::uint8_t spread_rank = Table::one_line_rank, place_rank = 2, detail_rank = 1;

}  // namespace fp32shim::cli
