// The innermost loops of each instruction set. The loops of all instruction sets give the same bits.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"
#include "shim/blas/multiply/vector_sums.hpp"

namespace fp32shim::blas {

enum class InstructionSet : std::uint8_t;  // its header is not included, since loops_*.cpp must not inline functions
                                           // of that header

/// The loops over numbers of one type.
template <class Real>
struct LoopsOfType {
    TileLoops<Real> large;
    TileLoops<Real> small;  ///< for results that have few rows
    VectorLoops<Real> vectors;
};

/// The loops of one instruction set.
struct LoopsOfInstructionSet {
    LoopsOfType<float> float32;
    LoopsOfType<double> float64;
    /// Multiplies the elements of two vectors in pairs, and sums the products of each block of summed_in_turn numbers
    /// in double precision. Like VectorLoops::squares, the function stores two numbers for each block: the sum, and
    /// the error of the sum's additions.
    SumsOfBlocks<double, float> dot_in_double;

    template <class Real>
    const LoopsOfType<Real>& for_type() const {
        if constexpr (sizeof(Real) == sizeof(double))
            return float64;
        else
            return float32;
    }
};

extern const LoopsOfInstructionSet baseline_loops;  ///< loops in plain C++, or with NEON on aarch64
extern const LoopsOfInstructionSet avx2_loops;      ///< loops with AVX2 and FMA
extern const LoopsOfInstructionSet avx512_loops;

/// Returns the loops of an instruction set, which the processor must have.
const LoopsOfInstructionSet& loops_of(InstructionSet instruction_set);

}  // namespace fp32shim::blas
