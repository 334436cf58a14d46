// Copies of the factors in the order in which the loops read them.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

/// Copies `count` rows of a left factor, from `first` on, and the indices of the sum in `summed`, into panels of
/// `panel` rows. The last panel is filled up with copies of the last row, so that no floating-point exception is
/// raised that the product would not raise.
///
/// A panel has `panel` numbers for each real index of the sum. A complex index is two real ones, since
///   re(c) = sum of re(a) re(b) + im(a) (-im(b))     and     im(c) = sum of re(a) im(b) + im(a) re(b).
template <class Real>
void pack_left(const Job<Real>& job, IndexRange summed, std::int64_t first, std::int64_t count, int panel, Real* to);

/// Does the same for the columns of a right factor. A complex column is two real ones: for re(c), and for im(c).
/// `first` and `count` are real columns.
template <class Real>
void pack_right(const Job<Real>& job, IndexRange summed, std::int64_t first, std::int64_t count, int panel, Real* to);

/// Columns of a right factor of float32 whose numbers stand side by side in memory.
struct StoredColumns {
    const float* first = nullptr;  ///< nullptr: the numbers do not stand so
    std::int64_t of_column = 0;    ///< floats from one column to the next
};
/// Returns the columns from `column` on, each from the index `summed` on.
StoredColumns stored_columns(const Job<float>& job, std::int64_t column, std::int64_t summed);

}  // namespace fp32shim::blas
