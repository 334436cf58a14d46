// The loops behind fingerprints, one per instruction set. All give the same bits.
//
//     floats    | 0 … 31 | 32 … 63 | 64 … |      blocks of 32: lane i takes the floats i, i + 32, i + 64, …
//
// Each lane has a hash of 32 bits, and a sum in double precision with random signs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

inline constexpr std::size_t lane_count = record::sketch_size;

/// A step h -> rotate(h ^ bits) * hash_factor has an inverse. So two streams that differ in one float of a lane end
/// in different hashes of that lane. The rotation has the highest bit, the sign, reach others.
inline constexpr std::uint32_t hash_factor = 0x9e3779b1;
inline constexpr int hash_rotation = 16;

/// Returns a number that looks random: the finalizer "lowbias32" of C. Wellons' hash prospector.
constexpr std::uint32_t mixed(std::uint32_t value) {
    value = (value ^ value >> 16) * 0x7feb352dU;
    value = (value ^ value >> 15) * 0x846ca68bU;
    return value ^ value >> 16;
}
inline constexpr std::uint32_t sign_step = 0x9e3779b9;  ///< lane i has the signs mixed(seed + i * sign_step)

struct alignas(64) Lanes {
    std::uint32_t hash[lane_count];
    std::uint32_t signs[lane_count];  ///< the highest bit is the sign of the lane's next float; each step shifts them
    double squares[16];               ///< of lanes i and i + 16; not finite once a float was not
    std::uint64_t blocks;             ///< number of blocks so far

    static constexpr std::uint64_t blocks_of_signs = 32;  ///< a lane has so many bits of signs
    /// Returns the number of the next blocks, at most `blocks`, that take their signs from the same bits.
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

/// Takes blocks of lane_count floats into the lanes, and adds the lanes' sums to `sums`.
using AbsorbKernel = void (*)(Lanes& lanes, double* sums, const float* floats, std::size_t blocks);

/// The loops of an instruction set. Most results have no NaN or infinity, so those are left out by a second look
/// only.
struct AbsorbKernels {
    AbsorbKernel all = nullptr;          ///< adds NaN and infinity to sums and squares, too
    AbsorbKernel finite_only = nullptr;  ///< leaves NaN and infinity out of sums and squares
};

/// Returns the loops for an instruction set; nullptr if this processor or build lacks it. Thread-safe.
AbsorbKernels absorb_kernels(InstructionSet set);
AbsorbKernels best_absorb_kernels();

}  // namespace fp32shim::blas
