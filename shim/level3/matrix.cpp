#include "shim/level3/matrix.hpp"

#include <algorithm>
#include <utility>

namespace fp32shim::blas {
namespace {

bool transposes(char trans) { return trans == 'T' || trans == 'C'; }

Matrix stored(const Level3& product, const void* data, std::int64_t ld, std::int64_t rows, std::int64_t columns) {
    return {static_cast<const float*>(data), rows, columns, ld, product.row_major, product.is_complex ? 2 : 1};
}

/// Returns true if the triangle consists of the elements with inner <= outer index (see Matrix), false if of those
/// with inner >= outer.
bool inner_up_to_outer(const Matrix& matrix, Part part) { return (part == Part::upper) != matrix.row_major; }

}  // namespace

IndexRange stored_range(const Matrix& matrix, Part part, std::int64_t outer) {
    if (part == Part::whole) return {0, matrix.inner()};
    if (inner_up_to_outer(matrix, part)) return {0, std::min(outer + 1, matrix.inner())};
    return {std::min(outer, matrix.inner()), matrix.inner()};
}

Matrix operand_a(const Level3& product) {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
        case Operation::syrk:
        case Operation::herk:
        case Operation::syr2k:
        case Operation::her2k:
            rows = product.operation == Operation::gemm ? product.m : product.n;
            columns = product.k;
            if (transposes(product.trans_a)) std::swap(rows, columns);
            break;
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
        case Operation::trsm:
            rows = columns = product.side == 'L' ? product.m : product.n;
            break;
    }
    return stored(product, product.a, product.lda, rows, columns);
}

Matrix operand_b(const Level3& product) {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    switch (product.operation) {
        case Operation::gemm:
        case Operation::gemmt:
            rows = product.k;
            columns = product.n;
            if (transposes(product.trans_b)) std::swap(rows, columns);
            break;
        case Operation::syr2k:
        case Operation::her2k:
            rows = product.n;
            columns = product.k;
            if (transposes(product.trans_a)) std::swap(rows, columns);
            break;
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
        case Operation::trsm:
            rows = product.m;
            columns = product.n;
            break;
        case Operation::syrk:
        case Operation::herk:
            return {};
    }
    return stored(product, product.b, product.ldb, rows, columns);
}

Matrix operand_c(const Level3& product) {
    switch (product.operation) {
        case Operation::trmm:
        case Operation::trsm:
            if (product.c == nullptr) return {};
            [[fallthrough]];
        case Operation::gemm:
        case Operation::symm:
        case Operation::hemm:
            return stored(product, product.c, product.ldc, product.m, product.n);
        default:
            return stored(product, product.c, product.ldc, product.n, product.n);
    }
}

Part part_of_a(const Level3& product) {
    switch (product.operation) {
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
        case Operation::trsm:
            return product.uplo == 'U' ? Part::upper : Part::lower;
        default:
            return Part::whole;
    }
}

void round_in_place(const Matrix& matrix, RoundingKernel kernel) {
    for (std::int64_t outer = 0; outer < matrix.outer(); ++outer) {
        float* const column = const_cast<float*>(matrix.data) + outer * matrix.ld * matrix.width;
        kernel(column, column, static_cast<std::size_t>(matrix.inner() * matrix.width));
    }
}

}  // namespace fp32shim::blas
