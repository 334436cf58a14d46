// Computes the errors of one result compared with another, and the exponents of operands. Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "record/audit.hpp"
#include "shim/audit/double_double.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// The elements of a result that the routine writes.
struct Written {
    Part part = Part::whole;
    bool symmetric = false;  ///< the other triangle is the mirror image and counts as well
};
Written written_part(const Level3& product);

/// Accumulates the differences of all elements. Its memory must be bytes_for() zero bytes, aligned to 8.
class ErrorSums {
  public:
    static std::size_t bytes_for(const Matrix& result);
    ErrorSums(const Matrix& result, char* zeros);

    /// Adds one element. `difference` and `reference` are moduli. `bound` is |alpha| |A||B| + |beta| |C| of the
    /// element.
    void add(std::int64_t row, std::int64_t column, double difference, double reference, double bound) {
        add_to(rows_[row], difference, reference);
        add_to(columns_[column], difference, reference);
        reference_ += reference * reference;
        bound_ += bound * bound;
        largest_difference_ = difference > largest_difference_ ? difference : largest_difference_;
        largest_reference_ = reference > largest_reference_ ? reference : largest_reference_;
        sum_ += reference;
        count_ += 1;
        const double component = ratio(difference, bound);
        component_ = component > component_ ? component : component_;
    }
    /// Notes an element that is left out because it is NaN or infinite in the reference.
    void add_bad_reference() { has_bad_reference_ = true; }
    /// Notes an element that is NaN or infinite only in the tested result.
    void add_bad_tested() { has_bad_tested_ = true; }

    /// Raises the errors of `audit` to at least these, and sets its flag for results that are not finite.
    void store_in(record::Audit& audit) const;
    /// Returns the norm of the bounds, relative to that of the reference.
    double cancellation() const { return std::sqrt(ratio(bound_, reference_)); }

  private:
    struct Sums {
        double difference;
        double reference;
    };
    static void add_to(Sums& sums, double difference, double reference) {
        sums.difference += difference * difference;
        sums.reference += reference * reference;
    }
    /// Returns difference / reference, but 0 for 0/0.
    static double ratio(double difference, double reference) { return difference == 0 ? 0 : difference / reference; }

    std::int64_t row_count_;
    std::int64_t column_count_;
    Sums* rows_;
    Sums* columns_;
    double reference_ = 0;
    double bound_ = 0;
    double largest_difference_ = 0;
    double largest_reference_ = 0;
    double sum_ = 0;
    double count_ = 0;
    double component_ = 0;
    bool has_bad_reference_ = false;
    bool has_bad_tested_ = false;
};

/// A result of more digits than the product's type has, in the layout of a Matrix. One of the pointers is not null.
struct ReferenceMatrix {
    const double* of_float32;
    const DoubleDouble* of_float64;
    std::int64_t ld;
};

/// Returns 2^exponent, or the nearest of these between 2^-1000 and 2^1000.
double power_of_two(int exponent);

/// Returns the power of two by which results are multiplied before they are compared, so that squares of float64
/// numbers neither overflow nor underflow: 1 for float32. Numbers that are smaller than the largest by 2^500 count as
/// 0. Reads the elements of `written`.
double scale_of(const Matrix& tested, const Matrix& other, Part written);

/// The sizes |alpha| |A||B| + |beta| |C| of the terms of each element. The further members are for float32 only.
struct Bound {
    Matrix sizes;      ///< sizes as the product's type computes them, which may overflow
    Matrix reduced{};  ///< |A||B| / bound_reduction, for elements where `sizes` overflows; no data: none does
    double alpha = 0;  ///< magnitudes of the scalars, set with `reduced`
    double beta = 0;
    Matrix start{};  ///< C before the product, set with `reduced`; no data: not used

    double at(std::int64_t row, std::int64_t column) const;
};
inline constexpr double bound_reduction = 0x1p160;

/// Adds the differences of all elements that the routine writes. `tested`, `bound` and `reference` have the same size
/// and layout, but may have different leading dimensions.
void compare(const Matrix& tested, const Matrix& reference, const Bound& bound, Written written, ErrorSums& sums);
void compare(const Matrix& tested, const ReferenceMatrix& reference, const Bound& bound, Written written,
             ErrorSums& sums);

/// Widens the range `exponents` to include the elements of a matrix. Does not read elements outside `part`, nor, with
/// `skips_diagonal`, those on the diagonal. Returns false if an element is NaN or infinite.
bool add_exponents(const Matrix& matrix, Part part, record::ExponentRange& exponents, bool skips_diagonal = false);

}  // namespace fp32shim::blas
