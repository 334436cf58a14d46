// Finds differences between two runs: how often, how long and at which precisions groups of calls ran. No results of
// the calls are compared, so the recordings need no fingerprints (hashes of results). All functions are pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// The totals over all calls of one run, or over the calls of one group in a run.
struct CallTotals : CallSum {
    std::map<std::string, std::uint64_t> formats;  ///< number of calls for each format in which calls ran

    CallTotals() = default;
    explicit CallTotals(const MergedCalls& calls);
    void add(const RowGroup& group);
    /// Returns the formats as text, the most frequent format first: `tf32`, or `tf32 90.0%, fp32 10.0%`. Returns an
    /// empty text if there are no calls.
    std::string formats_text() const;
};

/// The calls of both runs that have the same values of the grouping keys.
struct ComparedGroup {
    std::vector<std::string>
        keys;  ///< values of the keys in CallComparison::keys, in the same order; empty where a value is unknown
    CallTotals a, b;

    /// Returns true if both runs have calls in this group, and the formats or their shares of the calls differ
    /// between the runs.
    bool ran_at_other_formats() const;
};

/// A kind of product that most calls of run A computed with another algorithm of cublasLt than most calls of run B.
struct AlgorithmChange {
    const MergedRow* a;  ///< row (recorded decision) of run A that has an algorithm and the most calls
    const MergedRow* b;  ///< row of run B that has an algorithm and the most calls
};
/// Returns a text such as `another algorithm (split-K 4 -> 1)`, or an empty text if the algorithms are the same or
/// one is unknown.
std::string algorithm_change_text(const MergedRow& a, const MergedRow& b);

struct CallComparison {
    std::vector<std::string_view> keys;  ///< names in JSON of the keys by which calls are grouped
    std::vector<ComparedGroup> groups;   ///< first the groups that ran in other formats, then the other groups; the
                                         ///< largest change comes first in both parts
    std::uint64_t groups_at_other_formats = 0;  ///< number of groups that ran in other formats
    std::uint64_t kinds_with_algorithms =
        0;  ///< number of kinds of products for which both runs recorded an algorithm of cublasLt
    std::vector<AlgorithmChange> other_algorithms;
};

/// Compares the calls of two runs. If `grouping` is empty, calls are grouped by source line, scope and function,
/// without the scope if no call has one, and by the calling library instead of the line if no call has a line. If a
/// function of the program makes calls from other lines in one run than in the other, as after an edit, its lines are
/// left out, and its calls form one group. Offsets into compiled code are treated in the same way. `order` names the
/// quantity whose change decides the order of the groups.
CallComparison compare_calls(const DiffSide& a, const DiffSide& b, Grouping grouping, RowOrder order);

}  // namespace fp32shim::cli
