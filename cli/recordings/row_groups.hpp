// Rows merged into fewer: what programs that multiply at thousands of sizes are reported by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/field_value.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// What rows of one group have in common, besides what was asked for, what it ran at, and why.
struct Grouping {
    bool by_function = false, by_size_class = false;

    bool is_empty() const { return !by_function && !by_size_class; }
};

/// The words of `--by`.
inline constexpr std::string_view by_function_word = "function", by_size_class_word = "size-class";

/// Sizes whose largest of m, n and k is from `lowest` to `highest`: from a power of two, which is left out, to the
/// next.
struct SizeClass {
    std::int64_t lowest = -1, highest = -1;  ///< -1: the sizes are not known

    bool is_known() const { return highest >= 0; }
    /// `65-128`; `?` where it is not known.
    std::string text() const;
    friend auto operator<=>(const SizeClass&, const SizeClass&) = default;
};

SizeClass size_class_of(const MergedRow& row);

struct RowGroup {
    SharedText function;  ///< empty: the group is of all functions, or of calls of which nothing else is known
    SizeClass sizes;
    SharedText requested, applied, actual, reason;
    bool is_overflow = false;     ///< calls of which nothing else is known
    bool is_refused = false;      ///< MergedRow::is_refused(), which is the same for all of its rows
    std::uint64_t decisions = 0;  ///< rows
    double flops = 0;             ///< of all calls whose flops are known
    std::uint64_t calls_without_flops = 0;
    double sum_of_log_sizes = 0;  ///< of the rows with sizes: the logarithm of the geometric mean of m, n and k
    std::uint64_t decisions_with_sizes = 0;
    record::RecordedCounters counters;
    std::optional<std::uint64_t> median_ns;  ///< as MergedRow's

    SharedText ran_at() const { return actual.empty() ? applied : actual; }
    bool has_estimated_time() const { return counters.timed_calls < counters.calls; }
};

/// The groups of `rows`, which are among `all`, in that order.
std::vector<RowGroup> grouped(const std::vector<const MergedRow*>& rows, const Grouping& grouping, RowOrder order);

/// The same of all calls, with medians.
std::vector<RowGroup> grouped(const MergedCalls& calls, const CallDurations& durations, const Grouping& grouping,
                              RowOrder order);

/// The keys of a group, once for every format, as recordings/row_columns.hpp has those of a row.
struct GroupColumn {
    std::string_view name;
    FieldValue (*value)(const RowGroup& group);  ///< null: unknown, or not what groups were made by
};
std::span<const GroupColumn> group_columns();

}  // namespace fp32shim::cli
