// Products in blocks of C, for operands whose rounded copies exceed the scratch limit. Panels of the operands have
// the full summed dimension k, since splitting k would change how a sum is rounded.
#pragma once

#include <cstddef>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::blas {

struct Blocking {
    RoundingKernel kernel;
    Routine same;
    Routine gemm;
    std::size_t scratch_limit;
};

/// Runs a product in blocks of C. Returns scratch_limit, with nothing called or written, if memory is too small or
/// the library lacks a routine for the blocks. Precondition: the product is neither a trsm nor an in-place trmm.
EmulationResult emulate_in_blocks(const Level3& product, const Blocking& blocking);

}  // namespace fp32shim::blas
