// Differences between two runs: how often, how long and at which precisions groups of decisions ran. This needs
// no fingerprints. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Calls of one run, or of a group in it.
struct CallTotals : CallSum {
    std::map<std::string, std::uint64_t> formats;  ///< number of calls by the format at which they ran

    CallTotals() = default;
    explicit CallTotals(const MergedCalls& calls);
    void add(const RowGroup& group);
    /// Returns the formats as text, the most frequent first: `tf32`, or `tf32 90.0%, fp32 10.0%`; empty without
    /// calls.
    std::string formats_text() const;
};

/// Calls of both runs with the same keys.
struct ComparedGroup {
    std::vector<std::string> keys;  ///< for each of CallComparison::keys, its text; empty if it is unknown
    CallTotals a, b;

    /// Returns true if both runs have calls, and these ran at other formats or in other proportions.
    bool ran_at_other_formats() const;
};

/// A kind of product that most calls of each run computed by another algorithm of cublasLt.
struct AlgorithmChange {
    const MergedRow* a;  ///< the row of the algorithm with the most calls
    const MergedRow* b;
};
/// Returns `another algorithm (split-K 4 -> 1)`; empty if the algorithms are the same, or one is not known.
std::string algorithm_change_text(const MergedRow& a, const MergedRow& b);

struct CallComparison {
    std::vector<std::string_view> keys;  ///< names of the keys by which calls are grouped, as in JSON
    std::vector<ComparedGroup> groups;   ///< groups that ran at other formats first, then the largest change first
    std::uint64_t otherwise = 0;         ///< number of groups that ran at other formats
    std::uint64_t kinds_with_algorithms = 0;  ///< kinds of products whose algorithms of cublasLt both runs recorded
    std::vector<AlgorithmChange> other_algorithms;
};

/// Compares the calls of two runs. An empty grouping stands for place, scope and function, without the scope if no
/// call has one, and with the calling library instead of the place if no call has a place. If a function of the
/// program makes calls from other lines in one run than in the other, as after an edit, its lines are left out, and
/// its calls form one group. Offsets into compiled code are treated in the same way.
CallComparison compare_calls(const DiffSide& a, const DiffSide& b, Grouping grouping, RowOrder order);

}  // namespace fp32shim::cli
