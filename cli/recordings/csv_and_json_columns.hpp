// The columns of rows and of processes, which all output formats share. The name of a column is a key in JSON and a
// column name in CSV.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "cli/output/field_value.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

using RowColumn = Column<MergedRow>;

/// Returns `nanoseconds`, which is a time on the GPU; null if no call was measured there.
inline FieldValue gpu_time_or_null(const record::RecordedCounters& counters, std::uint64_t nanoseconds) {
    return counters.gpu_samples == 0 ? FieldValue() : FieldValue(nanoseconds);
}

/// The columns with the counters of a row or a group of rows.
template <class Row>
inline constexpr Column<Row> counter_columns[] = {
    {"calls", [](const Row& row) { return FieldValue(row.counters.calls); }},
    {"host_ns", [](const Row& row) { return FieldValue(row.counters.total_ns); }},
    {"timed_calls", [](const Row& row) { return FieldValue(row.counters.timed_calls); }},
    {"host_ns_min",
     [](const Row& row) {
         return row.counters.timed_calls == 0 ? FieldValue() : FieldValue(row.counters.shortest_ns);
     }},
    {"host_ns_max",
     [](const Row& row) {
         return row.counters.timed_calls == 0 ? FieldValue() : FieldValue(row.counters.longest_ns);
     }},
    {"host_ns_median", [](const Row& row) { return row.median_ns ? FieldValue(*row.median_ns) : FieldValue(); }},
    {"gpu_samples", [](const Row& row) { return FieldValue(row.counters.gpu_samples); }},
    {"gpu_calls", [](const Row& row) { return FieldValue(row.counters.gpu_calls); }},
    {"gpu_ns", [](const Row& row) { return gpu_time_or_null(row.counters, row.counters.gpu_ns); }},
    {"gpu_ns_min", [](const Row& row) { return gpu_time_or_null(row.counters, row.counters.gpu_shortest_ns); }},
    {"gpu_ns_max", [](const Row& row) { return gpu_time_or_null(row.counters, row.counters.gpu_longest_ns); }},
    {"first", [](const Row& row) { return FieldValue::time_or_null(row.counters.first_ns); }},
    {"last", [](const Row& row) { return FieldValue::time_or_null(row.counters.last_ns); }},
};

/// Returns the columns of a decision: the keys of docs/schema.md without those that describe a single call.
std::span<const RowColumn> decision_columns();

/// Returns decision_columns(), then the columns of counts and times (docs/schema.md).
std::span<const RowColumn> row_columns();

/// Returns the columns among row_columns() that have the names `names`.
std::vector<RowColumn> row_columns_named(std::initializer_list<std::string_view> names);

using ProcessColumn = Column<MergedProcess>;

/// Returns the columns that identify a process and its settings. Every line of the format JSON lines has these
/// columns.
std::span<const ProcessColumn> process_columns();

/// Returns the further columns of a process. They are in the JSON object, or the JSON line, that describes the
/// process itself, but not in the lines of its rows.
std::span<const ProcessColumn> further_process_columns();

}  // namespace fp32shim::cli
