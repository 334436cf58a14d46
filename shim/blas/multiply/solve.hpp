// Solves equations with a triangular matrix: X := alpha T^-1 X, or X := alpha X T^-1.
#pragma once

#include <atomic>

#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// Returns how many numbers of memory solve() needs in addition to ResultRectangle::numbers_needed().
template <class Real>
std::int64_t numbers_needed_to_solve(const MultiplyJob<Real>& job, const TileLoops<Real>& loops);

/// Overwrites the rows of X in `part`, or the columns of X if X is the right factor. Works recursively: solves for
/// the first half of the unknowns, subtracts their terms from the other half by a product, and solves for the other
/// half. At most `solved_at_once` unknowns are solved one after the other, each by a chain of fused multiply-adds and
/// a division. So the order of operations depends only on the number of unknowns. Ends early if `was_abandoned`
/// becomes true. `for_products` has the memory of a ResultRectangle, and `for_solve` has room for
/// numbers_needed_to_solve(job) numbers. Precondition: job.solves.
template <class Real>
void solve(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, IndexRange part,
           const std::atomic<bool>& was_abandoned, Real* for_products, Real* for_solve);

/// Computes a trsv, with the same bits as a column-major trsm with one column. Returns false, and changes nothing, if
/// there is no memory.
template <class Real>
bool solve_vector(const Level3& product, const TileLoops<Real>& loops);

}  // namespace fp32shim::blas
