// Matrices in the form that clients pass to cuBLAS, and the same matrices in dense form, in double, for references.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

#include "product_case.hpp"

namespace clients {

using Number = std::complex<double>;

/// Size of one element in bytes, and conversions of elements to and from memory.
std::size_t size_of(Dtype dtype);
bool is_complex(Dtype dtype);
void encode(Dtype dtype, Number value, unsigned char* bytes);
Number decode(Dtype dtype, const unsigned char* bytes);

/// Matrix in column-major order, with a leading dimension larger than needed. Elements that must not be read are NaN.
struct Matrix {
    std::int64_t rows = 0, columns = 0, ld = 0;
    std::vector<Number> values;  ///< ld × columns elements

    Number& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * ld)]; }
    const Number& at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i + j * ld)]; }
};

/// Returns rows × columns random values of about 2^exponent, and NaN elsewhere. Each seed gives other values. Their
/// mantissas use all bits of `dtype`, and the last bit is set, so that none lies halfway between two numbers of a
/// narrower format.
Matrix random_matrix(Dtype dtype, std::int64_t rows, std::int64_t columns, int exponent, unsigned seed);

/// Keeps one triangle (`uplo`), with or without its diagonal. All other elements become NaN.
void keep_triangle(Matrix& matrix, char uplo, bool with_diagonal);

std::vector<unsigned char> bytes_of(Dtype dtype, const Matrix& matrix);

/// A dense matrix in double, without padding.
struct Dense {
    std::int64_t rows = 0, columns = 0;
    std::vector<Number> values;

    Dense(std::int64_t rows_, std::int64_t columns_)
        : rows(rows_), columns(columns_), values(static_cast<std::size_t>(rows_ * columns_)) {}
    Number& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * rows)]; }
    const Number& at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i + j * rows)]; }
};

/// Function that rounds a real or imaginary part of an operand before the multiplication.
using Rounding = std::function<double(double)>;

Dense dense(const Matrix& matrix, const Rounding& rounding);
Dense transposed(const Dense& matrix, char trans);  ///< `trans` is 'N', 'T' or 'C'
Dense multiplied(const Dense& a, const Dense& b);
double norm(const Dense& matrix);  ///< returns the Frobenius norm

}  // namespace clients
