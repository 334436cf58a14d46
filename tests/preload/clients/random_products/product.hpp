// Random level-3 products: arguments as the BLAS reference names them, and operands whose every element that must not
// be read is a signalling NaN.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using Random = std::mt19937_64;

enum class Operation { gemm, gemm3m, gemmt, gemmtr, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm };

/// The elements of a stored matrix that belong to the operand.
enum class Stored { whole, upper, lower };

/// The layout of a stored matrix: element (row, column), of `width` floats, is at (row + column * ld), or, row-major,
/// at (row * ld + column).
struct Shape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t ld = 1;
    int width = 1;
    bool row_major = false;
    Stored stored = Stored::whole;
    bool real_diagonal = false;  ///< imaginary parts on the diagonal must not be read

    std::int64_t outer() const { return row_major ? rows : columns; }
    std::int64_t inner() const { return row_major ? columns : rows; }
    /// Floats from the first element to behind the last.
    std::int64_t span() const { return rows == 0 || columns == 0 ? 0 : ((outer() - 1) * ld + inner()) * width; }
};

/// Options that do not exist for the operation are 0. Without B (syrk, herk) or C (trmm, trsm) its shape is empty.
struct Product {
    Operation operation = Operation::gemm;
    bool is_complex = false;
    bool row_major = false;
    char side = 0, uplo = 0, trans_a = 0, trans_b = 0, diag = 0;
    std::int64_t m = 0, n = 0, k = 0;
    std::array<float, 2> alpha{}, beta{};
    Shape a, b, c;

    bool has_b() const { return operation != Operation::syrk && operation != Operation::herk; }
    bool is_triangular() const { return operation == Operation::trmm || operation == Operation::trsm; }
    bool has_m() const { return operation == Operation::gemm || operation == Operation::gemm3m || side != 0; }
    bool has_k() const { return side == 0; }
    std::string description() const;
};

/// One with these options, or with options drawn at random where `like` is nullptr. Sizes and leading dimensions are
/// always drawn; each operand fits into `limit` floats.
Product random_product(Random& random, bool row_major_allowed, std::int64_t limit, const Product* like = nullptr);

/// Values for an operand of this shape, as bits: `span()` of them.
std::vector<std::uint32_t> random_values(Random& random, const Shape& shape);

/// Draws a scalar, which all products of a strided batch share.
std::array<float, 2> random_scalar(Random& random);
