// The innermost loops of each instruction set. All of them give the same bits.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"
#include "shim/blas/multiply/vector_sums.hpp"

namespace fp32shim::blas {

enum class InstructionSet : std::uint8_t;  // not included: loops_*.cpp must not inline its functions

/// The loops over numbers of one type.
template <class Real>
struct LoopsOfType {
    TileLoops<Real> large;
    TileLoops<Real> small;  ///< for results of few rows
    VectorLoops<Real> vectors;
};

/// The loops of one instruction set.
struct LoopsOfInstructionSet {
    LoopsOfType<float> float32;
    LoopsOfType<double> float64;
    /// Multiplies the elements of two vectors in pairs, and sums the products of each block of summed_in_turn numbers
    /// in double precision. Like VectorLoops::squares, it stores two numbers for each block: the sum, and the error
    /// of its additions.
    SumsOfBlocks<double, float> dot_in_double;

    template <class Real>
    const LoopsOfType<Real>& for_type() const {
        if constexpr (sizeof(Real) == sizeof(double))
            return float64;
        else
            return float32;
    }
};

extern const LoopsOfInstructionSet baseline_loops;  ///< plain C++, or NEON
extern const LoopsOfInstructionSet avx2_loops;      ///< with FMA
extern const LoopsOfInstructionSet avx512_loops;

/// Returns the loops of an instruction set that the processor has.
const LoopsOfInstructionSet& loops_of(InstructionSet instruction_set);

}  // namespace fp32shim::blas
