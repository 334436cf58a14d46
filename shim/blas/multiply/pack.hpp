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

/// Copies `rows` rows of `depth` adjacent numbers: number p of row r goes to `to` + p * of_number + r.
template <class Real>
void copy_transposed(const Real* from, std::int64_t of_row, std::int64_t depth, int rows, std::int64_t of_number,
                     Real* to);

/// A factor as it stands in memory: its elements have equal distances.
template <class Real>
struct FactorInMemory {
    const Real* data = nullptr;  ///< nullptr: it does not stand so
    std::int64_t of_index = 0;   ///< numbers from one row of the left factor, or column of the right one, to the next
    std::int64_t of_summed = 0;  ///< numbers from one index of the sum to the next
    bool is_conjugated = false;

    const Real* at(std::int64_t index, std::int64_t summed) const {
        return data + index * of_index + summed * of_summed;
    }
    /// Changes the sign, if at all, without arithmetic: the processor may be set to flush small results to zero.
    Real im(Real stored) const { return is_conjugated ? -stored : stored; }
};
/// Returns a factor as it is stored; of a factor with only one triangle, those elements that stand in it.
template <class Real>
FactorInMemory<Real> stored_factor(const Side<Real>& side, int width);
/// Returns a factor of real numbers. Factors with only one triangle do not stand so.
template <class Real>
FactorInMemory<Real> real_factor_in_memory(const Job<Real>& job, bool is_right);

}  // namespace fp32shim::blas
