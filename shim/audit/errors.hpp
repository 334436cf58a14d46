// Computes the errors of one result compared with another, and the range of exponents of operands. The functions have
// no side effects.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "record/audit.hpp"
#include "shim/audit/double_double.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// The elements of a result that the BLAS routine writes.
struct WrittenRegion {
    Part part = Part::whole;
    bool symmetric = false;  ///< true if the other triangle is the mirror image of `part` and is not stored; its
                             ///< elements then count as well
};
WrittenRegion written_region(const Level3& product);

/// Accumulates the differences of all elements of two results. `zeros` points to bytes_needed(result) zero bytes,
/// aligned to 8, which the object uses as its memory.
class ErrorAccumulator {
  public:
    static std::size_t bytes_needed(const Matrix& result);
    ErrorAccumulator(const Matrix& result, char* zeros);

    /// Adds one element. `difference` is the modulus of the two results' difference, `reference` is the modulus of
    /// the reference, and `bound` is the element of |alpha| |A||B| + |beta| |C|.
    void add_element(std::int64_t row, std::int64_t column, double difference, double reference, double bound) {
        add_squares(rows_[row], difference, reference);
        add_squares(columns_[column], difference, reference);
        reference_ += reference * reference;
        bound_ += bound * bound;
        largest_difference_ = difference > largest_difference_ ? difference : largest_difference_;
        largest_reference_ = reference > largest_reference_ ? reference : largest_reference_;
        sum_ += reference;
        count_ += 1;
        const double component = ratio(difference, bound);
        component_ = component > component_ ? component : component_;
    }
    /// Notes that an element is NaN or infinite in the reference. Its difference is left out of the sums.
    void note_nonfinite_reference() { has_bad_reference_ = true; }
    /// Notes that an element is NaN or infinite only in the tested result.
    void note_nonfinite_tested() { has_bad_tested_ = true; }

    /// Raises each error in `audit` to at least the error of the elements added here, and sets the flags of `audit`
    /// for results that are not finite.
    void raise_audit_errors(record::Audit& audit) const;
    /// Returns the norm of the bounds of all elements, divided by the norm of the reference.
    double cancellation() const { return std::sqrt(ratio(bound_, reference_)); }

  private:
    struct SquareSums {
        double difference;
        double reference;
    };
    static void add_squares(SquareSums& sums, double difference, double reference) {
        sums.difference += difference * difference;
        sums.reference += reference * reference;
    }
    /// Returns difference / reference, or 0 if `difference` is 0.
    static double ratio(double difference, double reference) { return difference == 0 ? 0 : difference / reference; }

    std::int64_t row_count_;
    std::int64_t column_count_;
    SquareSums* rows_;
    SquareSums* columns_;
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

/// A result with more digits than the product's type has, in the layout of a Matrix. Of the two pointers, only the
/// one for the product's type is not null.
struct ReferenceMatrix {
    const double* of_float32;
    const DoubleDouble* of_float64;
    std::int64_t ld;
};

/// Returns 2^exponent. Exponents beyond ±1000 count as ±1000.
double power_of_two(int exponent);

/// Returns the power of two by which float64 results are multiplied before they are compared, so that their squares
/// neither overflow nor underflow; 1 for float32. Numbers that are smaller than the largest one by a factor of 2^500
/// count as 0. Reads only the elements of `written`.
double comparison_scale(const Matrix& tested, const Matrix& other, Part written);

/// The bound |alpha| |A||B| + |beta| |C| of each element: the sum of the magnitudes of the element's terms. Only
/// bounds of float32 results have the members after `sizes`.
struct ComponentwiseBound {
    Matrix sizes;      ///< the bounds, computed in the product's type, so they may overflow
    Matrix reduced{};  ///< |A||B| / bound_reduction, for elements whose bound in `sizes` overflows; its `data` is
                       ///< nullptr if no bound overflows
    double alpha = 0;  ///< the magnitude of alpha; both alpha and beta are set if `reduced` has data
    double beta = 0;
    Matrix start{};  ///< the values of C before the product, set if `reduced` has data; its `data` is nullptr if the
                     ///< product reads no C

    double at(std::int64_t row, std::int64_t column) const;
};
inline constexpr double bound_reduction = 0x1p160;

/// Adds the differences of all elements in `written` to `sums`. `tested`, `bound` and `reference` have the same size
/// and layout, but may have different leading dimensions.
void accumulate_differences(const Matrix& tested, const Matrix& reference, const ComponentwiseBound& bound,
                            WrittenRegion written, ErrorAccumulator& sums);
void accumulate_differences(const Matrix& tested, const ReferenceMatrix& reference, const ComponentwiseBound& bound,
                            WrittenRegion written, ErrorAccumulator& sums);

/// Widens the range `exponents` to include the elements of `matrix` in `part`, except for the diagonal if
/// `skips_diagonal` is true. Does not read other elements. Returns false if an element is NaN or infinite.
bool widen_exponents(const Matrix& matrix, Part part, record::ExponentRange& exponents, bool skips_diagonal = false);

}  // namespace fp32shim::blas
