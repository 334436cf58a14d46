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

/// Runs a product in blocks of C. Returns scratch_limit, having called and written nothing, if memory or a routine
/// for that is lacking. Precondition: the product is neither a trsm nor an in-place trmm.
EmulationResult emulate_in_blocks(const Level3& product, const Blocking& blocking);

}  // namespace fp32shim::blas
