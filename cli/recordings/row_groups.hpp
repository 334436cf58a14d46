// Rows merged into groups, for programs that multiply at thousands of sizes.
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

class CallDurations;
class CallPaths;

/// Further keys by which rows are grouped, besides the precisions asked for, applied and actual, and the reason.
struct Grouping {
    bool by_function = false, by_size_class = false, by_where = false, by_scope = false, by_call_site = false,
         by_caller = false, by_precision = false;  ///< by_precision: no further key

    bool operator==(const Grouping&) const = default;
    bool is_empty() const { return *this == Grouping(); }
};

/// Word that the option `--by` takes, and the key that it adds.
struct GroupingWord {
    std::string_view word;
    bool Grouping::*key;
};
inline constexpr GroupingWord grouping_words[] = {
    {"where", &Grouping::by_where},         {"source", &Grouping::by_where},
    {"scope", &Grouping::by_scope},         {"call_site", &Grouping::by_call_site},
    {"caller", &Grouping::by_caller},       {"function", &Grouping::by_function},
    {"size", &Grouping::by_size_class},     {"size-class", &Grouping::by_size_class},
    {"precision", &Grouping::by_precision},
};
/// Returns the words of all groupings.
std::vector<std::string_view> all_grouping_words();
/// Returns the grouping by all keys that some words name.
Grouping grouping_by(const std::vector<std::string>& words);

/// Class of sizes by the largest of m, n and k: above one power of two, up to the next.
struct SizeClass {
    std::int64_t lowest = -1, highest = -1;  ///< bounds, both included; -1: the sizes are not known

    bool is_known() const { return highest >= 0; }
    /// Returns `65-128`; `?` if the sizes are not known.
    std::string text() const;
    friend auto operator<=>(const SizeClass&, const SizeClass&) = default;
};

SizeClass size_class_of(const MergedRow& row);

/// Sum of the rows that agree in the keys of a grouping and in `is_overflow`. Of the other members of MergedRow, only
/// the counters and, if it is known, the median are set.
struct RowGroup : MergedRow {
    SizeClass sizes;
    SharedText call_site;         ///< `libphysics.so+0x1c4`; empty: not known, or no key
    std::uint64_t decisions = 0;  ///< number of rows
    double work = 0;              ///< floating-point operations of all calls but `calls_without_work`
    std::uint64_t calls_without_work = 0;
    double sum_of_log_sizes = 0;             ///< sum over rows of log of the geometric mean of m, n and k
    std::uint64_t decisions_with_sizes = 0;  ///< number of rows in `sum_of_log_sizes`
};

/// Groups `rows` and sorts the groups.
std::vector<RowGroup> grouped(const std::vector<const MergedRow*>& rows, const Grouping& grouping, RowOrder order);

/// Groups all calls, with medians, and sorts the groups. With `by_call_site` it groups the calls of `paths`, which
/// have no medians: single calls do not say from where they came.
std::vector<RowGroup> grouped(const MergedCalls& calls, const CallDurations& durations, const CallPaths& paths,
                              const Grouping& grouping, RowOrder order);

using GroupColumn = Column<RowGroup>;
/// Returns the columns of a group for every format. A value is null if it is unknown or the grouping lacks its key.
std::span<const GroupColumn> group_columns();

}  // namespace fp32shim::cli
