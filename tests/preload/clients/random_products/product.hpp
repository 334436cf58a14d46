// Random level-3 products. Arguments are named as in the BLAS reference. Elements that must not be read are
// signalling NaNs.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using Random = std::mt19937_64;

enum class Operation { gemm, gemm3m, gemmt, gemmtr, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm };

/// The part of a stored matrix that belongs to the operand.
enum class Stored { whole, upper, lower };

/// Layout of a stored matrix. Element (row, column) has `width` floats and is at (row + column * ld), or in row-major
/// order at (row * ld + column).
struct Shape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t ld = 1;
    int width = 1;
    bool row_major = false;
    Stored stored = Stored::whole;
    bool real_diagonal = false;  ///< imaginary parts of the diagonal must not be read

    std::int64_t outer() const { return row_major ? rows : columns; }
    std::int64_t inner() const { return row_major ? columns : rows; }
    /// Returns the number of floats from the first element to the end of the last.
    std::int64_t span() const { return rows == 0 || columns == 0 ? 0 : ((outer() - 1) * ld + inner()) * width; }
};

/// A product. Options that the operation does not have are 0. Without B (syrk, herk) or C (trmm, trsm) its shape is
/// empty.
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

/// Returns a product with the options of `like`, or with random options if `like` is nullptr. Sizes and leading
/// dimensions are always random; each operand fits into `limit` floats.
Product random_product(Random& random, bool row_major_allowed, std::int64_t limit, const Product* like = nullptr);

/// Returns random values for an operand of this shape, as bits: `span()` of them.
std::vector<std::uint32_t> random_values(Random& random, const Shape& shape);

/// Returns a random scalar, which all products of a strided batch share.
std::array<float, 2> random_scalar(Random& random);
