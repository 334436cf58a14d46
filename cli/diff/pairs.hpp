// Finds pairs of products: one product of run A, and the product of run B that certainly or most likely did the same
// work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

/// Two products of the same kind, one of each run.
struct ResultPair {
    std::size_t a = 0;      ///< index of the product in DiffSide::products of run A
    std::size_t b = 0;      ///< index of the product in DiffSide::products of run B
    double difference = 0;  ///< estimated relative difference of the results; 0 if they have the same bits
    bool same_bits = false;
    std::uint8_t other_operands = operands_unknown;  ///< OperandBits of the operands that differ

    bool has_same_operands() const { return other_operands == 0; }
};

struct PairedResults {
    std::vector<ResultPair> pairs;        ///< sorted by the time of the product in run A
    std::vector<std::size_t> unpaired_a;  ///< products without a counterpart, in the order of DiffSide::products
    std::vector<std::size_t> unpaired_b;
    std::uint64_t elsewhere =
        0;  ///< pairs with equal bits whose products come in another order, or on threads that do not match
    std::uint64_t nearest = 0;   ///< pairs with different bits that were chosen because their results are near
    std::uint64_t doubtful = 0;  ///< pairs with different bits that were chosen only by their order, although that
                                 ///< order may be meaningless
};

/// Pairs the products of two runs. First pairs products with equal bits that correspond to each other in the order of
/// matched threads. Then pairs products of one kind regardless of their order: first those with equal bits, then
/// those with equal operands. The rest is paired in order. If products of a kind come in another order or on several
/// threads, products with near results are paired instead.
PairedResults pair_results(const DiffSide& a, const DiffSide& b, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
