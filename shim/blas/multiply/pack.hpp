// Copies of the factors in the order in which the innermost loops read them.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

/// Copies rows of a left factor, or columns of a right factor if `is_right` is true, into panels of `panel` rows or
/// columns each. `indices` are the rows or columns, and `summed` are the indices of the sum. The last panel is filled
/// up with copies of its last row or column, so that no floating-point exception is raised that the product would not
/// raise.
///
/// A panel has `panel` numbers for each real index of the sum. A complex index counts as two real ones, since
///   re(c) = sum of re(a) re(b) + im(a) (-im(b))     and     im(c) = sum of re(a) im(b) + im(a) re(b).
/// A complex column of a right factor counts as two real ones, for re(c) and for im(c); `indices` are then real
/// columns.
template <class Real>
void pack_panels(const MultiplyJob<Real>& job, bool is_right, IndexRange indices, IndexRange summed, int panel,
                 Real* to);

/// Copies `rows` rows of `depth` adjacent numbers. Rows begin `of_row` numbers apart. Number p of row r goes to to[p
/// * of_number + r].
template <class Real>
void copy_transposed(const Real* from, std::int64_t of_row, std::int64_t depth, int rows, std::int64_t of_number,
                     Real* to);

/// A factor in memory whose elements have equal distances. The distances count numbers.
template <class Real>
struct StridedFactor {
    const Real* data = nullptr;      ///< the first element; nullptr if the factor is not stored with equal distances
    std::int64_t index_stride = 0;   ///< distance between the rows of a left factor, or between the columns of a
                                     ///< right factor
    std::int64_t summed_stride = 0;  ///< distance between successive indices of the sum
    bool is_conjugated = false;

    const Real* at(std::int64_t index, std::int64_t summed) const {
        return data + index * index_stride + summed * summed_stride;
    }
    /// Returns the imaginary part of an element, given the stored imaginary part. Changes the sign without
    /// arithmetic, since the processor may be set to flush small results to zero.
    Real imaginary_part(Real stored) const { return is_conjugated ? -stored : stored; }
};
/// Returns a factor as it is stored. If only one triangle of the factor is stored, the result is valid for the
/// elements in that triangle, or for their mirror images if `is_mirrored` is true.
template <class Real>
StridedFactor<Real> strided_stored_factor(const JobFactor<Real>& side, int width, bool is_mirrored = false);
/// Returns a factor of real numbers. `data` of the result is nullptr if the numbers are complex, or if only one
/// triangle of the factor is stored.
template <class Real>
StridedFactor<Real> strided_real_factor(const MultiplyJob<Real>& job, bool is_right);

}  // namespace fp32shim::blas
