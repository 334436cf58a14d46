// Sums over vectors in a fixed order.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns a vector as the BLAS describes it: with a negative increment, its first element is the last in memory.
template <class Real>
Elements<Real> elements(const void* data, std::int64_t increment, std::int64_t count, int width) {
    auto* const first = static_cast<Real*>(const_cast<void*>(data));
    return {increment < 0 ? first - (count - 1) * increment * width : first, increment, count};
}

/// Returns some elements of a vector.
template <class Real>
Elements<Real> part_of(const Elements<Real>& x, int width, IndexRange range) {
    return {x.data + range.begin * x.increment * width, x.increment, range.count()};
}

/// Computes dot, dotc, asum, nrm2, sdsdot or dsdot. Threads divide the blocks of a sum.
void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& loops, Threads threads);

}  // namespace fp32shim::blas
