// The loops that compute fingerprints, one per instruction set. All give the same bits.
//
//     floats    | 0 … 31 | 32 … 63 | 64 … |      blocks of 32: lane i takes the floats i, i + 32, i + 64, …
//
// Each lane has a hash of 32 bits, and a sum of floats with random signs, in double precision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

inline constexpr std::size_t lane_count = record::sketch_size;

/// The factor of a hash step, h -> rotate(h ^ bits) * hash_factor. Such a step has an inverse, so two streams that
/// differ in one float of a lane have different hashes of that lane. Without the rotation, the highest bit (the sign)
/// would not affect the other bits.
inline constexpr std::uint32_t hash_factor = 0x9e3779b1;
inline constexpr int hash_rotation = 16;

/// Replaces a word, or each word of a vector, by a pseudo-random number: the finalizer "lowbias32" of C. Wellons'
/// hash prospector.
template <class Words>
[[gnu::always_inline]] constexpr void mix(Words& words) {
    words = (words ^ words >> 16) * 0x7feb352dU;
    words = (words ^ words >> 15) * 0x846ca68bU;
    words ^= words >> 16;
}
constexpr std::uint32_t mixed(std::uint32_t word) {
    mix(word);
    return word;
}
inline constexpr std::uint32_t sign_step = 0x9e3779b9;  ///< lane i has the signs mixed(seed + i * sign_step)

struct alignas(64) Lanes {
    std::uint32_t hash[lane_count];
    std::uint32_t signs[lane_count];  ///< the highest bit is the sign for the lane's next float; each step shifts
    double squares[16];    ///< sums of squares of lanes i and i + 16; not finite after a float that was not finite
    std::uint64_t blocks;  ///< number of blocks so far

    static constexpr std::uint64_t blocks_of_signs = 32;  ///< number of blocks for which one word of signs lasts
    /// Returns how many of the next `wanted` blocks take their signs from the current words.
    std::size_t next_blocks(std::size_t wanted) const {
        const std::uint64_t left = blocks_of_signs - blocks % blocks_of_signs;
        return wanted < left ? wanted : static_cast<std::size_t>(left);
    }
    bool needs_signs() const { return blocks % blocks_of_signs == 0; }
    std::uint32_t seed_of_signs() const {
        const std::uint64_t number = blocks / blocks_of_signs;
        return mixed(static_cast<std::uint32_t>(number)) + static_cast<std::uint32_t>(number >> 32);
    }
};

/// Adds blocks of lane_count floats to the lanes, and the lanes' sums to `sums`.
using AbsorbKernel = void (*)(Lanes& lanes, double* sums, const float* floats, std::size_t blocks);

/// The loops of an instruction set. Most results have no NaN or infinity, so only a second pass leaves these out.
struct AbsorbKernels {
    AbsorbKernel all = nullptr;          ///< adds NaN and infinity to sums and squares
    AbsorbKernel finite_only = nullptr;  ///< leaves NaN and infinity out of sums and squares
};

/// Returns the loops for an instruction set, or nullptr if this processor or build lacks the set. Thread-safe.
AbsorbKernels absorb_kernels(InstructionSet set);
AbsorbKernels best_absorb_kernels();

/// Returns the loops for float64 numbers, of which each takes two of the lanes' 32 floats. Number i of a block adds
/// to lane 2i or 2i + 1, in turn. The same code for all processors; a compiler may still fuse the squares'
/// operations, so that norms of two processors may differ in their last digit.
AbsorbKernels absorb_kernels_of_float64();

}  // namespace fp32shim::blas
