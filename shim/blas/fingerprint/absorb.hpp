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

struct alignas(64) Lanes {
    std::uint32_t hash[lane_count];
    std::uint32_t signs[lane_count];  ///< the highest bit is the sign of the lane's next float; each step shifts them
    double squares[16];               ///< of lanes i and i + 16
    std::uint32_t not_finite[lane_count];  ///< not 0: the lane has left out NaN or infinity
};

/// Takes blocks of lane_count floats into the lanes, and adds the lanes' sums to `sums`. `blocks`: at most 32, the
/// number of signs.
using AbsorbKernel = void (*)(Lanes& lanes, double* sums, const float* floats, std::size_t blocks);

/// Returns the loop for an instruction set; nullptr if this processor or build lacks it. Thread-safe.
AbsorbKernel absorb_kernel(InstructionSet set);
AbsorbKernel best_absorb_kernel();

}  // namespace fp32shim::blas
