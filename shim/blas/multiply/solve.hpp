// Solves with a triangular matrix: X := alpha T^-1 X, or alpha X T^-1.
#pragma once

#include <atomic>

#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// Returns the numbers of memory that solve() needs beside that of a Rectangle of the job.
template <class Real>
std::int64_t numbers_to_solve(const Job<Real>& job, const TileLoops<Real>& loops);

/// Overwrites the columns (if X is the right factor) or rows in `part` of X. Recursive: the first half of the
/// unknowns, a product that subtracts their terms from the other half, the other half. At most `solved_at_once`
/// unknowns are solved one after the other, each by a chain of fused multiply-adds and a division. So the order
/// depends on nothing but the number of unknowns. Precondition: job.solves. Ends early once `is_left` is true.
/// `for_products` has Rectangle::numbers(job) numbers of memory, and `for_solve` numbers_to_solve(job).
template <class Real>
void solve(const Job<Real>& job, const TileLoops<Real>& loops, IndexRange part, const std::atomic<bool>& is_left,
           Real* for_products, Real* for_solve);

/// Computes a trsv, with the bits of a column-major trsm with one column. Returns false, and changes nothing, if
/// there is no memory.
template <class Real>
bool solve_vector(const Level3& product, const TileLoops<Real>& loops);

}  // namespace fp32shim::blas
