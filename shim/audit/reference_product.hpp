// Computes a product as the reference for results, by loops of the shim's own: in float64 for float32 products (of
// which each product of two numbers is exact), in double_double.hpp's numbers for float64 products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/errors.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns the number of bytes that multiply_for_reference() needs; SIZE_MAX on overflow.
std::size_t bytes_for_reference(const Level3& product);

/// The exponents of a product's operands; of C before it.
struct OperandExponents {
    record::ExponentRange a, b, c;
};

/// Stores the exponents of a product's operands, and widens those of its audit. `a` and `b` are the operands in
/// memory, `start` the values that C had; no data: there is none, or it is not used. Returns false, and sets a flag
/// of the audit, if these, alpha or beta hold NaN or infinity.
bool store_operand_exponents(const Level3& product, const Matrix& a, const Matrix& b, const Matrix& start,
                             OperandExponents& operands, record::Audit& audit);

/// Returns true if the reference of a product can be computed in the range of the numbers that it uses: no term
/// overflows, and no term loses its last digits to underflow. Precondition: alpha and beta are finite.
bool fits_reference(const Level3& product, const OperandExponents& operands);

/// Computes `product`. `start` has the values that C (or B of an in-place trmm) had before the call. Returns the
/// result in the layout of `start`. The result lies in `memory`, which needs bytes_for_reference() bytes, aligned
/// to 8. Takes some 2·m·n·k / 2e9 seconds, for float64 products ten times as long. Precondition: multiplies(product),
/// the operation is not trsm, and fits_reference().
ReferenceMatrix multiply_for_reference(const Level3& product, const Matrix& start, char* memory);

/// A row or column of a result.
struct Line {
    bool is_row;
    std::int64_t index;
};

/// Two results of one product, in its own type and in a format below, and the elements that the product writes.
struct Results {
    Matrix tested;
    Matrix exact;  ///< in the product's own type
    Written written;
};

/// Sums of squares over lines of a result, to a common scale: of the differences from the reference, and of its
/// values.
struct LineSums {
    double scale = 1;  ///< factor of values before they are squared; 0: it is chosen for the line's values
    double tested = 0;
    double exact = 0;
    double reference = 0;
};

/// Returns the number of bytes that add_line() needs.
std::size_t bytes_for_line(const Matrix& result);

/// Computes the reference of one line of `product`, and adds to `sums` how far each of the two results is from it.
/// `start`, `memory` and the precondition are those of multiply_for_reference().
void add_line(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
              LineSums& sums);

}  // namespace fp32shim::blas
