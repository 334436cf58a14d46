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

/// Returns runs of equal entries, rising on both sides, as few entries left out as possible (Myers 1986). Takes time
/// and memory in proportion to the lengths, times most_left_out at worst.
std::vector<AlignedRun> align(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace fp32shim::cli
