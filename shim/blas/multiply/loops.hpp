// The innermost loops of each instruction set. All of them give the same bits.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"
#include "shim/blas/multiply/vector_sums.hpp"

namespace fp32shim::blas {

enum class InstructionSet : std::uint8_t;  // its file has functions, which loops_*.cpp must not inline

/// Loops over numbers of one type.
template <class Real>
struct Loops {
    TileLoops<Real> large;
    TileLoops<Real> small;  ///< for results of few rows
    VectorLoops<Real> vectors;
};

/// The loops of one instruction set.
struct LoopsOfInstructionSet {
    Loops<float> float32;
    Loops<double> float64;
    /// Sums of a b in double precision, as VectorLoops::squares.
    SumsOfBlocks<double, float> dot_in_double;

    template <class Real>
    const Loops<Real>& of() const {
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
/// Returns the quickest ones of this processor.
const LoopsOfInstructionSet& best_loops();

}  // namespace fp32shim::blas
