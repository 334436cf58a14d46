#include "shim/level3/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "shim/level3/roles.hpp"
#include "system/hash.hpp"

namespace fp32shim::blas {
namespace {

Matrix stored_matrix(const Level3& product, const void* data, std::int64_t ld, std::int64_t rows,
                     std::int64_t columns) {
    return {static_cast<const float*>(data),
            rows,
            columns,
            ld,
            product.row_major,
            product.width(),
            product.is_complex,
            product.is_double};
}

/// Returns a vector as a matrix of one row, whose `data` points to the vector's first element. If the increment is
/// negative, the first element is the last one in memory.
Matrix row_of_vector(const Level3& product, const void* data, std::int64_t increment, std::int64_t count) {
    Matrix row = stored_matrix(product, data, increment, 1, count);
    row.row_major = false;
    if (increment < 0 && count > 0) row.data -= (count - 1) * increment * row.width;
    return row;
}

/// Returns the single number that a dot product or a norm computes, as a matrix.
Matrix number_result(const Level3& product) {
    Matrix result = stored_matrix(product, product.c, 1, 1, 1);
    result.is_double = product.is_double || product.operation == Operation::dsdot;
    result.is_complex = product.is_complex && !is_norm(product.operation);
    result.width = (result.is_complex ? 2 : 1) * (result.is_double ? 2 : 1);
    return result;
}

/// Returns the operand A of an operation that has a vector. vector_operand_b() and vector_operand_c() return B and C.
Matrix vector_operand_a(const Level3& product) {
    const Operation operation = product.operation;
    const std::int64_t lda = product.lda;
    if (operation == Operation::gemv) return stored_matrix(product, product.a, lda, product.m, product.n);
    if (has_square_and_vector(operation)) return stored_matrix(product, product.a, lda, product.n, product.n);
    if (is_ger_or_gerc(operation)) return row_of_vector(product, product.a, lda, product.m);
    if (is_symmetric_vector_update(operation)) return row_of_vector(product, product.a, lda, product.n);
    return row_of_vector(product, product.a, lda, is_norm(operation) && lda <= 0 ? 0 : product.k);
}
Matrix vector_operand_b(const Level3& product) {
    if (!has_matrix(product.operation)) return row_of_vector(product, product.b, product.ldb, product.k);
    const bool has_m = product.operation == Operation::gemv && transposes(product.trans_a);
    return row_of_vector(product, product.b, product.ldb, has_m ? product.m : product.n);
}
Matrix vector_operand_c(const Level3& product) {
    if (computes_number(product.operation)) return number_result(product);
    if (product.operation == Operation::axpy) return row_of_vector(product, product.c, product.ldc, product.k);
    if (is_ger_or_gerc(product.operation))
        return stored_matrix(product, product.c, product.ldc, product.m, product.n);
    if (is_symmetric_vector_update(product.operation))
        return stored_matrix(product, product.c, product.ldc, product.n, product.n);
    const bool has_m = product.operation == Operation::gemv && !transposes(product.trans_a);
    return row_of_vector(product, product.c, product.ldc, has_m ? product.m : product.n);
}

Part triangle_of(const Level3& product) { return product.uplo == 'U' ? Part::upper : Part::lower; }

/// Returns true if the triangle consists of the elements whose inner index is at most the outer index (see Matrix).
/// Returns false if it consists of the elements whose inner index is at least the outer index.
bool runs_end_at_diagonal(const Matrix& matrix, Part part) { return (part == Part::upper) != matrix.row_major; }

constexpr std::uint64_t sign_of_double = std::uint64_t{1} << 63;
constexpr std::uint64_t infinity_of_double = std::uint64_t{0x7ff} << 52;

/// Returns the float32 that is nearest to a float64, with ties to even. The argument and the result are bits. The
/// arithmetic is on integers, so the program's rounding mode, flush-to-zero setting and traps have no effect.
/// Precondition: the number is not NaN.
std::uint32_t nearest_float32(std::uint64_t bits) {
    const auto sign = static_cast<std::uint32_t>((bits & sign_of_double) >> 32);
    const std::uint64_t size = bits & ~sign_of_double;
    constexpr std::uint64_t lowest_normal = std::uint64_t{1023 - 126} << 52;
    constexpr int cut = 29;  // a float32 has 29 fewer bits of fraction than a float64
    constexpr std::uint64_t too_large = std::uint64_t{1023 + 128} << 52;
    if (size >= too_large) return sign | 0x7f800000U;
    if (size >= lowest_normal) {
        // A carry into the exponent gives the right result, which may be infinity.
        const std::uint64_t rounded = size + (std::uint64_t{1} << (cut - 1)) - 1 + (size >> cut & 1);
        constexpr std::uint64_t bias_change = std::uint64_t{1023 - 127} << 23;
        return sign | static_cast<std::uint32_t>((rounded >> cut) - bias_change);
    }
    // A subnormal float32 is a multiple of 2^-149.
    const auto exponent = static_cast<int>(size >> 52);
    constexpr int exponent_of_unit = 1023 - 149;
    const int below = exponent_of_unit + 52 - exponent;  // number of bits of the significand below 2^-149
    if (below > 54) return sign;
    const std::uint64_t significand = (size & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    const std::uint64_t half = (std::uint64_t{1} << (below - 1)) - 1 + (significand >> below & 1);
    return sign | static_cast<std::uint32_t>((significand + half) >> below);
}

/// Returns a float32 as a float64. The argument and the result are bits.
std::uint64_t as_float64(std::uint32_t bits) {
    const std::uint64_t sign = std::uint64_t{bits & 0x80000000U} << 32;
    const std::uint32_t size = bits & 0x7fffffffU;
    if (size == 0x7f800000U) return sign | infinity_of_double;
    if (size >= 0x00800000U) return sign | ((std::uint64_t{size} << 29) + (std::uint64_t{1023 - 127} << 52));
    if (size == 0) return sign;
    const int lead = 31 - __builtin_clz(size);  // a subnormal float32 becomes a normal float64
    const std::uint64_t fraction = std::uint64_t{size ^ 1U << lead} << (52 - lead);
    return sign | static_cast<std::uint64_t>(1023 - 149 + lead) << 52 | fraction;
}

}  // namespace

IndexRange stored_range(const Matrix& matrix, Part part, std::int64_t outer) {
    if (part == Part::whole) return {0, matrix.inner()};
    if (runs_end_at_diagonal(matrix, part)) return {0, std::min(outer + 1, matrix.inner())};
    return {std::min(outer, matrix.inner()), matrix.inner()};
}

Matrix operand_a(const Level3& product) {
    if (has_vector(product.operation)) return vector_operand_a(product);
    if (has_side_argument(product.operation)) {
        const std::int64_t size = product.side == 'L' ? product.m : product.n;
        return stored_matrix(product, product.a, product.lda, size, size);
    }
    std::int64_t rows = product.operation == Operation::gemm ? product.m : product.n;
    std::int64_t columns = product.k;
    if (transposes(product.trans_a)) std::swap(rows, columns);
    return stored_matrix(product, product.a, product.lda, rows, columns);
}

Matrix operand_b(const Level3& product) {
    if (!has_b(product.operation)) return {};
    if (has_vector(product.operation)) return vector_operand_b(product);
    if (has_side_argument(product.operation))
        return stored_matrix(product, product.b, product.ldb, product.m, product.n);
    const bool is_update = is_rank_k_update(product.operation);
    std::int64_t rows = is_update ? product.n : product.k;
    std::int64_t columns = is_update ? product.k : product.n;
    if (transposes(is_update ? product.trans_a : product.trans_b)) std::swap(rows, columns);
    return stored_matrix(product, product.b, product.ldb, rows, columns);
}

Matrix operand_c(const Level3& product) {
    if (is_in_place(product)) return {};
    if (has_vector(product.operation)) return vector_operand_c(product);
    const bool is_square = product.operation == Operation::gemmt || is_rank_k_update(product.operation);
    return stored_matrix(product, product.c, product.ldc, is_square ? product.n : product.m, product.n);
}

Part part_of_a(const Level3& product) {
    const bool is_square = has_side_argument(product.operation) || has_square_and_vector(product.operation);
    return is_square ? triangle_of(product) : Part::whole;
}

Part written_part(const Level3& product) {
    const bool is_triangle = product.operation == Operation::gemmt || is_rank_k_update(product.operation) ||
                             is_symmetric_vector_update(product.operation);
    return is_triangle ? triangle_of(product) : Part::whole;
}

void copy_elements(const Matrix& from, Part part, const Matrix& to) {
    for_each_contiguous_run(from, to, part, [&](const float* source, float* target, std::int64_t elements) {
        std::copy_n(source, elements * from.width, target);
    });
}

void RoundingKernel::round_doubles(const float* from, float* to, std::size_t count) const {
    constexpr std::size_t block_size = 128;
    for (std::size_t first = 0; first < count; first += 2 * block_size) {
        const std::size_t size = std::min(block_size, (count - first) / 2);
        std::uint64_t doubles[block_size];
        float floats[block_size];
        std::memcpy(doubles, from + first, size * sizeof(double));
        for (std::size_t i = 0; i < size; ++i) floats[i] = std::bit_cast<float>(nearest_float32(doubles[i]));
        round_floats(floats, floats, size);
        for (std::size_t i = 0; i < size; ++i)
            if ((doubles[i] & ~sign_of_double) <= infinity_of_double)
                doubles[i] = as_float64(std::bit_cast<std::uint32_t>(floats[i]));
        std::memcpy(to + first, doubles, size * sizeof(double));
    }
}

std::uint64_t hash_of(const Matrix& matrix, Part part) {
    system::Hash hash;
    for_each_contiguous_run(matrix, part, [&](const float* floats, std::size_t count) {
        hash.add(std::string_view(reinterpret_cast<const char*>(floats), count * sizeof(float)));
    });
    return hash.value();
}

void round_in_place(const Matrix& matrix, RoundingKernel kernel) {
    for_each_contiguous_run(matrix, Part::whole,
                            [&](float* floats, std::size_t count) { kernel(floats, floats, count); });
}

}  // namespace fp32shim::blas
