// Two sets of recordings, compared: of two precisions, two versions of a program, two machines.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/field_value.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Calls of one side of a comparison.
struct ComparedCalls : ShareWithWork {
    std::map<std::string, std::uint64_t> formats;  ///< calls by the format that they ran at

    void add(const MergedRow& row, const record::RecordedCounters& counters);
    /// Returns `formats`, that of most calls first.
    std::vector<std::pair<std::string, std::uint64_t>> formats_by_calls() const;
    /// Returns the formats as text, that of most calls first: `tf32`, or `tf32 90%, fp32 10%`; empty without calls.
    std::string formats_text() const;
};

/// Calls before and after that agree in the keys of a grouping. Keys that the grouping lacks are empty.
struct ComparedGroup {
    SharedText where, scope, call_site, caller, function, size, format;
    ComparedCalls before, after;

    /// Returns true if both sides have calls, and their formats or the formats' shares differ.
    bool ran_differently() const;
};

/// Key by which calls are grouped: its names in JSON and in a table, and the member with its text.
struct ComparedKey {
    std::string_view name;
    const char* title;
    SharedText ComparedGroup::*text;
    bool Grouping::*is_asked;
};
inline constexpr ComparedKey compared_keys[] = {
    {"where", "where", &ComparedGroup::where, &Grouping::by_where},
    {"scope", "scope", &ComparedGroup::scope, &Grouping::by_scope},
    {"call_site", "call site", &ComparedGroup::call_site, &Grouping::by_call_site},
    {"caller", "caller", &ComparedGroup::caller, &Grouping::by_caller},
    {"function", "function", &ComparedGroup::function, &Grouping::by_function},
    {"max_dim", "max of m,n,k", &ComparedGroup::size, &Grouping::by_size_class},
    {"ran_at", "precision", &ComparedGroup::format, &Grouping::by_precision},
};

using ComparedColumn = Column<ComparedGroup>;
/// Returns the columns of a group for CSV and JSON. A value is null if it is unknown or the grouping lacks its key.
std::span<const ComparedColumn> compared_columns();

/// One side: its calls and their call paths. Both must outlive the comparison.
struct ComparedSide {
    const MergedCalls& calls;
    const CallPaths& paths;
};

/// Joins the call paths and the groups of both sides. Where a file was changed in between, its lines are left out, so
/// that equal paths still match: a file counts as changed if a function has calls at other lines on either side,
/// unless the file is here and is older than the first recording. Offsets into programs and libraries are treated
/// alike.
class Comparison {
  public:
    /// An empty grouping means by function and scope, and by where, or without any where by call site.
    Comparison(const ComparedSide& before, const ComparedSide& after, Grouping grouping, RowOrder order);

    const ComparedSide& before() const { return sides_[0]; }
    const ComparedSide& after() const { return sides_[1]; }
    /// Returns the call paths of both sides in one tree. Of each path, calls() has the calls before, then those
    /// after.
    const CallPaths& paths() const { return paths_; }
    /// Returns true if an entry of paths().calls() belongs to the side after.
    bool is_after(const PathCalls& part) const { return part.row >= sides_[0].calls.rows().size(); }
    const MergedRow& row_of(const PathCalls& part) const;
    /// Returns the index in groups() of the group that has the entry `index` of paths().calls().
    std::size_t group_of(std::size_t index) const { return group_of_[index]; }
    /// Returns the groups, the largest change first.
    const std::vector<ComparedGroup>& groups() const { return groups_; }
    const Grouping& grouping() const { return grouping_; }
    RowOrder order() const { return order_; }
    /// Returns the paths of the files whose lines are left out.
    const std::set<std::string>& changed_files() const { return changed_files_; }

  private:
    void find_changed_files();
    void join_paths();
    PathFrame without_changed_location(PathFrame frame) const;
    SharedText without_changed_location(SharedText where) const;
    void group();
    void sort_groups();

    ComparedSide sides_[2];
    Grouping grouping_;
    RowOrder order_;
    std::set<std::string> changed_files_, changed_names_;  ///< names: without folders, as where has them
    CallPaths paths_;
    std::vector<ComparedGroup> groups_;
    std::vector<std::size_t> group_of_;
};

}  // namespace fp32shim::cli
