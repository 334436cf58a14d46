// Compares two sets of recordings, for example of two precisions, two versions of a program, or two machines.
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
    std::map<std::string, std::uint64_t> formats;  ///< number of calls by the format at which they ran

    void add(const MergedRow& row, const record::RecordedCounters& counters);
    /// Returns `formats`, sorted by number of calls, largest first.
    std::vector<std::pair<std::string, std::uint64_t>> formats_by_calls() const;
    /// Returns the formats as text, the most frequent first: `tf32`, or `tf32 90%, fp32 10%`; empty without calls.
    std::string formats_text() const;
};

/// Calls of both sides with the same keys. A key is empty if the grouping does not use it.
struct ComparedGroup {
    SharedText where, scope, call_site, caller, function, size, format;
    ComparedCalls before, after;

    /// Returns true if both sides have calls and these ran at other formats, or in other proportions.
    bool ran_differently() const;
};

/// A key by which calls are grouped: its name in JSON, its title in a table, and the member with its text.
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
/// Returns the columns of a group for CSV and JSON. A value is null if it is unknown or if the grouping lacks its
/// key.
std::span<const ComparedColumn> compared_columns();

/// One side of a comparison. Both members must outlive the comparison.
struct ComparedSide {
    const MergedCalls& calls;
    const CallPaths& paths;
};

/// Joins the call paths and the groups of both sides. If a source file changed between them, its line numbers are
/// left out, so that equal paths still match. A file counts as changed if a function has calls at different lines on
/// the two sides, unless the file exists on this machine and is older than the first recording. Offsets into programs
/// and libraries are treated in the same way.
class Comparison {
  public:
    /// Compares two sides. An empty grouping stands for function, scope and where; if no call has a `where`, for
    /// function, scope and call site.
    Comparison(const ComparedSide& before, const ComparedSide& after, Grouping grouping, RowOrder order);

    const ComparedSide& before() const { return sides_[0]; }
    const ComparedSide& after() const { return sides_[1]; }
    /// Returns the call paths of both sides in one tree. For each path, calls() lists the calls of the first side
    /// before those of the second.
    const CallPaths& paths() const { return paths_; }
    /// Returns true if an entry of paths().calls() belongs to the second side.
    bool is_after(const PathCalls& part) const { return part.row >= sides_[0].calls.rows().size(); }
    const MergedRow& row_of(const PathCalls& part) const;
    /// Returns the index in groups() for the entry `index` of paths().calls().
    std::size_t group_of(std::size_t index) const { return group_of_[index]; }
    /// Returns the groups, largest change first.
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
    std::set<std::string> changed_files_, changed_names_;  ///< changed_names_ has no folders, like `where`
    CallPaths paths_;
    std::vector<ComparedGroup> groups_;
    std::vector<std::size_t> group_of_;
};

}  // namespace fp32shim::cli
