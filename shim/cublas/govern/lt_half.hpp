// What half products of cublasLt add in.
#pragma once

#include "shim/cublas/accumulation.hpp"
#include "shim/cublas/library.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/product.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

/// Returns true if an algorithm adds partial sums in no narrower type than its compute type. Returns false for
/// nullptr, with which the library chooses.
bool has_full_reduction(const Library& library, const void* algorithm);

/// Fills in product.asked.half. `frame` has the arguments of the product; nullptr: it is a search, which has no
/// scalars.
void describe_half(const Library& library, const MatmulParts& parts, const void* algorithm, const Frame* frame,
                   Product& product);

}  // namespace fp32shim::cublas
