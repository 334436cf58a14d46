// Products that two runs computed by different algorithms of cublasLt. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/diff/results.hpp"

namespace fp32shim::cli {

/// A kind of product that most calls of each run computed by another algorithm.
struct OtherAlgorithm {
    const MergedRow* a;  ///< the row of the algorithm with the most calls
    const MergedRow* b;
};

struct ComparedAlgorithms {
    std::uint64_t kinds = 0;  ///< number of kinds of products whose algorithms both runs recorded
    std::vector<OtherAlgorithm> others;
};
ComparedAlgorithms compare_algorithms(const ResultsOfSide& a, const ResultsOfSide& b);

/// Returns `another algorithm (split-K 4 -> 1)`; empty if the algorithms are the same, or one is not known.
std::string other_algorithm_text(const MergedRow& a, const MergedRow& b);

}  // namespace fp32shim::cli
