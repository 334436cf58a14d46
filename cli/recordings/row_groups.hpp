// Merges rows into groups, for programs that multiply at thousands of sizes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/output/field_value.hpp"
#include "cli/recordings/hash_table.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

class DurationHistogram;
class CallPathTree;

/// The keys by which rows are grouped, in addition to the requested, applied and actual precisions and the reason.
struct Grouping {
    /// `by_precision` adds no key, since rows are always grouped by precision.
    bool by_function = false, by_size_class = false, by_where = false, by_scope = false, by_call_site = false,
         by_caller = false, by_precision = false;
    bool by_host = false, by_job = false, by_executable = false, by_policy = false;  ///< keys of processes

    bool operator==(const Grouping&) const = default;
    bool is_empty() const { return *this == Grouping(); }
    bool has_process_keys() const { return by_host || by_job || by_executable || by_policy; }
};

/// A word for the option `--by`, and the key that it adds.
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
/// The words of `--by` for keys of processes.
inline constexpr GroupingWord process_grouping_words[] = {
    {"host", &Grouping::by_host},
    {"job", &Grouping::by_job},
    {"executable", &Grouping::by_executable},
    {"policy", &Grouping::by_policy},
};
/// Returns the words for `--by`. Those of process_grouping_words are included only with `with_process_keys`.
std::vector<std::string_view> all_grouping_words(bool with_process_keys);
/// Returns the grouping with the keys of all `words`.
Grouping parse_grouping(const std::vector<std::string>& words);

/// A range of sizes, from above one power of two up to the next power of two. The largest of m, n and k decides to
/// which range a row belongs.
struct SizeClass {
    std::int64_t lowest = -1, highest = -1;  ///< both bounds are included; -1 if the sizes are unknown

    bool is_known() const { return highest >= 0; }
    /// Returns the range as text: `65-128`; `?` if the sizes are unknown.
    std::string text() const;
};

/// The facts of a process by which rows can be grouped; empty if the grouping does not use the fact, or it is
/// unknown.
struct ProcessGroupKey {
    SharedText host, job_id, executable, policy_name, policy_revision, policy_sha256;
    auto operator<=>(const ProcessGroupKey&) const = default;
};

/// The keys of a group: the decision of its rows, the facts of its processes, its size class and its call site.
using RowGroupKey = std::tuple<MergedDecision, ProcessGroupKey, std::int64_t, SharedText>;

/// The sum of the rows that have the same keys and the same `is_overflow`. Of the other members of MergedRow, only
/// the counters are set, and the median if it is known.
struct RowGroup : MergedRow {
    ProcessGroupKey process;
    SizeClass sizes;
    SharedText call_site;         ///< `libphysics.so+0x1c4`; empty if it is unknown or not a key
    std::uint64_t decisions = 0;  ///< number of rows
    double work = 0;              ///< floating-point operations of all calls for which they are known
    /// The number of calls whose floating-point operations are not known.
    std::uint64_t calls_without_work = 0;
    double sum_of_log_sizes = 0;             ///< sum over rows of the logarithm of the geometric mean of m, n and k
    std::uint64_t decisions_with_sizes = 0;  ///< number of rows in `sum_of_log_sizes`

    RowGroupKey key() const { return {*this, process, sizes.highest, call_site}; }
};

/// Groups calls by the keys of their rows, call sites and processes. A merged row does not know its processes, so
/// calls are grouped by processes while recordings are merged. If processes or call sites are keys, a table takes 16
/// bytes for each pair of a group and a row.
class RowGroupTable {
  public:
    explicit RowGroupTable(const Grouping& grouping) : grouping_(grouping) {}

    /// Begins a new recording. All that add() adds from now on belongs to it, and `facts` are those of its process.
    void begin_recording(const record::RecordingFacts& facts);
    /// Adds calls of the row `row`, which is at `row_index` in MergedCalls::rows(). Returns the index of their group
    /// in groups().
    std::size_t add(std::uint32_t row_index, const MergedRow& row, const record::RecordedCounters& counters,
                    SharedText call_site = {});
    std::vector<RowGroup>& groups() { return groups_; }
    /// Returns the groups, sorted by `order`, largest first.
    std::vector<RowGroup> sorted(RowOrder order) const;

  private:
    Grouping grouping_;
    ProcessGroupKey process_;  ///< keys of the current recording
    std::vector<RowGroup> groups_;
    std::map<RowGroupKey, std::uint32_t> indices_;  ///< indices in groups_
    HashTable<std::uint64_t> known_;                ///< pairs of a group and a row in it: (group + 1) << 32 | row
};

/// Groups `rows` and sorts the groups.
std::vector<RowGroup> grouped(const std::vector<const MergedRow*>& rows, const Grouping& grouping, RowOrder order);

/// Groups all calls with their medians, and sorts the groups. With `by_call_site` it groups the calls of `paths` and
/// sets no medians, because the record of a single call does not have its call site.
std::vector<RowGroup> grouped(const MergedCalls& calls, const DurationHistogram& durations, const CallPathTree& paths,
                              const Grouping& grouping, RowOrder order);

using GroupColumn = Column<RowGroup>;
/// Returns the columns that a group has in every output format. A value is null if it is unknown, or if it is a key
/// by which the rows are not grouped.
std::span<const GroupColumn> group_columns();

}  // namespace fp32shim::cli
