// Products whose rounded operands exceed the scratch limit, in blocks of C: panels of the operands that have the full
// summed dimension k, since splitting k would change how a sum is rounded.
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

/// Any operation but trsm and trmm in place. Nothing is called or written unless all of it will be.
EmulationResult emulate_in_blocks(const Level3& product, const Blocking& blocking);

}  // namespace fp32shim::blas
