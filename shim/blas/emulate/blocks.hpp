// Products in blocks of C, for operands whose rounded copies exceed the scratch limit. Panels of the operands have
// the full summed dimension k, since splitting k would change how a sum is rounded.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/parts.hpp"
#include "shim/blas/emulate/scratch.hpp"

namespace fp32shim::blas {

struct Blocking {
    RoundedProduct rounded;
    bool is_of_parts;  ///< it is one of several products of parts; A and B need different copies even if they are one
    Routine same;
    Routine gemm;
    HeldScratch* scratch;
};

/// Runs a product in blocks of C. Returns scratch_limit, with nothing called or written, if memory is too small or
/// the library lacks a routine for the blocks. Precondition: the product is neither a trsm nor an in-place trmm.
EmulationResult emulate_in_blocks(const Level3& product, const Blocking& blocking);

/// Runs a trmm in place as the sum of products of parts, which is formed in scratch memory. Returns scratch_limit,
/// with nothing called or written, if memory is too small.
EmulationResult sum_trmm_in_place(const Level3& product, std::span<const RoundedProduct> products, Routine same,
                                  HeldScratch& scratch);

}  // namespace fp32shim::blas
