// Copies of the factors in the order in which the loops read them.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

/// Copies the rows of a left factor in `indices`, or the columns of a right one (`is_right`), and the indices of the
/// sum in `summed`, into panels of `panel` rows or columns. The last panel is filled up with copies of its last row
/// or column, so that no floating-point exception is raised that the product would not raise.
///
/// A panel has `panel` numbers for each real index of the sum. A complex index is two real ones, since
///   re(c) = sum of re(a) re(b) + im(a) (-im(b))     and     im(c) = sum of re(a) im(b) + im(a) re(b).
/// A complex column of a right factor is two real ones, for re(c) and for im(c); `indices` are then real columns.
template <class Real>
void pack_panels(const MultiplyJob<Real>& job, bool is_right, IndexRange indices, IndexRange summed, int panel,
                 Real* to);

/// Copies `rows` rows of `depth` adjacent numbers: number p of row r goes to `to` + p * of_number + r.
template <class Real>
void copy_transposed(const Real* from, std::int64_t of_row, std::int64_t depth, int rows, std::int64_t of_number,
                     Real* to);

/// A factor in memory whose elements have equal distances. Distances count numbers.
template <class Real>
struct StridedFactor {
    const Real* data = nullptr;      ///< nullptr: the factor is not stored with equal distances
    std::int64_t index_stride = 0;   ///< distance of the rows of a left factor, or the columns of a right one
    std::int64_t summed_stride = 0;  ///< distance of successive indices of the sum
    bool is_conjugated = false;

    const Real* at(std::int64_t index, std::int64_t summed) const {
        return data + index * index_stride + summed * summed_stride;
    }
    /// Returns the imaginary part of an element. Its sign is changed without arithmetic, since the processor may be
    /// set to flush small results to zero.
    Real imaginary_part(Real stored) const { return is_conjugated ? -stored : stored; }
};
/// Returns a factor as it is stored. Of a factor with only one triangle, these are the elements in that triangle, or
/// their mirror images if `is_mirrored` is true.
template <class Real>
StridedFactor<Real> strided_stored_factor(const JobFactor<Real>& side, int width, bool is_mirrored = false);
/// Returns a factor of real numbers. Returns one without data if the numbers are complex, or the factor has one
/// triangle only.
template <class Real>
StridedFactor<Real> strided_real_factor(const MultiplyJob<Real>& job, bool is_right);

}  // namespace fp32shim::blas
