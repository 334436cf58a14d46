// Computes a product with more digits than its own type has, as a reference, and judges results by this reference.
// The loops are the shim's own. A float32 product is computed in float64, in which each product of two numbers is
// exact. A float64 product is computed with the numbers of double_double.hpp.
#pragma once

#include <cstddef>

#include "shim/audit/errors.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns the number of bytes that multiply_for_reference() needs for `product`; SIZE_MAX on overflow.
std::size_t bytes_for_reference(const Level3& product);

/// The ranges of exponents of a product's operands. `c` is the range of C before the product.
struct OperandExponents {
    record::ExponentRange a, b, c;
};

/// Stores the ranges of exponents of a product's operands in `operands`, and widens the ranges in `audit`. `a` and
/// `b` are the operands in memory. `start` has the values of C before the product; its `data` is nullptr if there is
/// no C or the product does not read C. Returns false, and sets a flag of `audit`, if an operand, alpha or beta has
/// NaN or infinity.
bool store_operand_exponents(const Level3& product, const Matrix& a, const Matrix& b, const Matrix& start,
                             OperandExponents& operands, record::Audit& audit);

/// Returns true if the reference of a product can be computed in the range of the reference's numbers: no term
/// overflows, and no term loses its last digits to underflow. Precondition: alpha and beta are finite.
bool reference_stays_in_range(const Level3& product, const OperandExponents& operands);

/// Computes `product`. `start` has the values that C (or B of an in-place trmm) had before the call. Returns the
/// result in the layout of `start`. The result lies in `memory`, which needs bytes_for_reference() bytes, aligned to
/// 8. Takes about 2·m·n·k / 2e9 seconds, and ten times as long for float64 products. Preconditions:
/// multiplies(product); the operation is not trsm; reference_stays_in_range() has returned true.
ReferenceMatrix multiply_for_reference(const Level3& product, const Matrix& start, char* memory);

/// Two results of one product, one in the product's own type and one in the tested format, and the region that the
/// product writes.
struct ComparedResults {
    Matrix tested;
    Matrix exact;  ///< the result in the product's own type
    WrittenRegion written;
};

/// Returns the number of bytes of memory that store_errors_and_noise() needs for a result.
std::size_t bytes_for_line(const Matrix& result);

/// Stores the errors of one product, and how much its terms cancel, in `audit`. If they cancel so much that the
/// result in the product's own type may be only noise, examines some rows of that result. Also stores the errors of
/// both results in the worst row or column of the audit. `product` and `start` are the arguments of
/// multiply_for_reference(). `memory` needs bytes_for_line() bytes, aligned to 8. Takes as long as about ten rows of
/// the reference. Precondition: reference_stays_in_range().
void store_errors_and_noise(const ErrorAccumulator& sums, const Level3& product, const Matrix& start,
                            const ComparedResults& results, char* memory, record::Audit& audit);

/// Stores the errors of one product, and how much its terms cancel, in `audit`.
void store_errors_and_cancellation(const ErrorAccumulator& sums, record::Audit& audit);

}  // namespace fp32shim::blas
