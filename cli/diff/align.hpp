// Aligns two sequences: finds which entries of one stand for which of the other. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fp32shim::cli {

/// Entries a, a + 1, … of one sequence, aligned with b, b + 1, … of the other.
struct AlignedRun {
    std::size_t a = 0, b = 0, count = 0;

    bool operator==(const AlignedRun&) const = default;
};

/// Most entries left out of both sequences, together, between two runs: beyond that, an alignment may miss some.
/// Entries that the other sequence does not have at all do not count.
inline constexpr std::size_t most_left_out = 1000;
/// Most runs that end for that reason. Sequences with more of them are in another order, as the tasks of a pool of
/// threads are: they are aligned up to there.
inline constexpr std::size_t most_cuts = 40;

/// Returns runs of equal entries, rising on both sides, as few entries left out as possible (Myers 1986). Takes time
/// and memory in proportion to the lengths, and at worst most_cuts times the square of most_left_out more.
std::vector<AlignedRun> align(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

/// Products of one run, in their order: a number for the kind of each, and one for kind and result.
struct ProductSequence {
    std::span<const std::uint64_t> kinds, results;
};

/// Aligns products of equal kinds: as many as align() can, and among these ways the one with equal results. So a
/// product more in one of the runs is found where it is, and not behind others of its kind.
std::vector<AlignedRun> align_products(const ProductSequence& a, const ProductSequence& b);

}  // namespace fp32shim::cli
