// Pairs of products: one of A, and the one of B that did the same work, or most likely did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

/// Two products of the same kind.
struct ResultPair {
    std::size_t a = 0;  ///< index in DiffSide::products
    std::size_t b = 0;
    double difference = 0;  ///< difference_of() the results; 0 if they have the same bits
    bool same_bits = false;
    std::uint8_t other_operands = operands_unknown;  ///< OperandBits of what differs between the operands

    bool has_same_operands() const { return other_operands == 0; }
};

struct PairedResults {
    std::vector<ResultPair> pairs;        ///< sorted by time in A
    std::vector<std::size_t> unpaired_a;  ///< products without a counterpart, in the order of DiffSide::products
    std::vector<std::size_t> unpaired_b;
    std::uint64_t elsewhere = 0;  ///< pairs with the same bits whose products come in another order, or on threads
                                  ///< that do not match
    std::uint64_t nearest = 0;    ///< pairs with other bits that were chosen because their results are near
    std::uint64_t doubtful = 0;  ///< pairs with other bits that only their order made, in a kind whose order may tell
                                 ///< nothing
};

/// Pairs the products of two runs. First come those that have the same place in the order of their threads; then
/// those of one kind with the same bits, and with the same operands, wherever they come. The rest keeps its order,
/// unless a kind comes in another order or on several threads: then near results make a pair.
PairedResults pair_results(const DiffSide& a, const DiffSide& b, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
