// Computes products in blocks of C if the rounded copies of their operands exceed the scratch limit. Panels of the
// operands have the full summed dimension k, since splitting k would change the rounding of sums.
#pragma once

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/rounding.hpp"
#include "shim/blas/emulate/scratch.hpp"

namespace fp32shim::blas {

/// One product of rounded operands, with the routines and the memory that compute it.
struct EmulationStep {
    RoundedProduct rounded;
    bool is_of_parts;  ///< the product is one of several products of parts, so A and B need two copies even if they
                       ///< are the same matrix
    Routine same;
    Routine gemm;
    ProductScratch* scratch;
};

/// Runs a product in blocks of C. Returns scratch_limit, and calls and writes nothing, if there is too little memory
/// or the library lacks a routine for the blocks. Precondition: the product is neither a trsm nor an in-place trmm.
EmulationResult emulate_in_blocks(const Level3& product, const EmulationStep& step);

/// Runs an in-place trmm as the sum of `products`, each of which uses other parts of the operands' numbers. Computes
/// the sum in scratch memory. Returns scratch_limit, and calls and writes nothing, if there is too little memory.
EmulationResult sum_trmm_in_place(const Level3& product, std::span<const RoundedProduct> products, Routine same,
                                  ProductScratch& scratch);

}  // namespace fp32shim::blas
