// Summarizes `fp32shim diff`: the first differences, and how the differences grow. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/diff/pairs.hpp"
#include "cli/diff/results.hpp"

namespace fp32shim::cli {

/// A sequence of consecutive pairs of aligned products.
struct GrowthStep {
    std::size_t first = 0, last = 0;  ///< indices in PairedResults::pairs
    std::uint64_t same_bits = 0;
    double median = 0;        ///< median of the differences
    std::size_t largest = 0;  ///< index of the pair with the largest difference

    std::uint64_t product_count() const { return last - first + 1; }
};

/// Pairs of aligned products with the same location, function and sizes, and with the same precision in each run.
struct ResultGroup {
    std::uint64_t products = 0;
    std::uint64_t other_bits = 0;
    std::size_t first = 0;        ///< index in PairedResults::pairs of the group's first product
    std::size_t first_other = 0;  ///< index in PairedResults::pairs of the group's first product with different bits,
                                  ///< if other_bits is not 0
    std::size_t largest = 0;  ///< index in PairedResults::pairs of the group's product with the largest difference
};

/// Divides the pairs into at most `most` steps of equal length. The last step may be shorter.
std::vector<GrowthStep> difference_growth(const std::vector<ResultPair>& pairs, std::size_t most);

/// Products without a counterpart that have the same location, function and sizes.
struct UnpairedProductGroup {
    std::uint64_t products = 0;
    std::size_t first = 0;  ///< index of the group's first product in DiffSide::products
};
/// Groups the products without a counterpart. The largest group comes first.
std::vector<UnpairedProductGroup> group_unpaired_products(const DiffSide& side,
                                                          const std::vector<std::size_t>& unpaired);

struct ResultSummary {
    std::uint64_t same_bits = 0;
    std::uint64_t other_precision = 0;  ///< number of products that ran at different precisions in A and in B
    std::uint64_t other_precision_other_bits =
        0;  ///< number of products that ran at different precisions and have different bits
    std::set<std::pair<std::string, std::string>> precisions;  ///< pairs of different precisions, in A and in B
    std::uint64_t same_operands = 0;  ///< number of products with different bits from equal operands
    std::uint64_t unknown_operands =
        0;  ///< number of products with different bits for which a run has no hashes of operands
    std::optional<std::size_t>
        first_same_operands;                  ///< index of the first pair with different bits from equal operands
    std::uint64_t beyond = 0;                 ///< number of products whose difference exceeds the bound
    std::optional<std::size_t> first_other;   ///< index of the first pair with different bits
    std::optional<std::size_t> first_beyond;  ///< index of the first pair beyond the bound
    std::optional<std::size_t>
        largest;  ///< index of the pair with the largest difference; absent if all pairs have identical bits
    std::vector<ResultGroup> groups;  ///< sorted by their largest difference, in falling order
};

ResultSummary summarize_results(const DiffSide& a, const DiffSide& b, const std::vector<ResultPair>& pairs,
                                double bound);

}  // namespace fp32shim::cli
