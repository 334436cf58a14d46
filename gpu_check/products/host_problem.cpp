#include "gpu_check/products/host_problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

namespace gpu {
namespace {

// Scales of the rows in the first, second and last third. FP16 ranges from 2^-24 to 65504. The scales fall, so that
// no element outweighs all others of its row in a symmetric matrix, whose lower triangle is stored.
constexpr double scales_of_product[] = {0x1p20, 1, 0x1p-30};
// Quotients of these scales, which lie between 2^-54 and 2^54, scale the matrix of a solve.
constexpr double scales_of_solve[] = {1, 0x1p-30, 0x1p24};

std::vector<double> scales_of_rows(int n, const double (&thirds)[3]) {
    std::vector<double> scales(n);
    for (int row = 0; row < n; ++row) scales[row] = thirds[static_cast<long>(row) * 3 / n];
    return scales;
}

/// Returns `value` with 1000… as its last `bits` bits, so that it lies halfway between two numbers that have zeros
/// there.
float tie(float value, int bits) {
    const auto word = std::bit_cast<std::uint32_t>(value) >> bits << bits;
    return std::bit_cast<float>(word | 1U << (bits - 1));
}

/// Returns a random matrix of numbers between -scale and scale.
std::vector<std::complex<float>> random_matrix(int n, bool complex, double scale, unsigned seed) {
    std::mt19937 generator(seed);
    const auto draw = [&] {
        const auto bits = generator();
        const auto value =
            static_cast<float>(scale * (static_cast<double>(bits) / 2147483648.0 - 1));  // divides 32 bits by 2^31
        const auto kind = bits % 8;
        return kind == 0 ? tie(value, 13) : kind == 1 ? tie(value, 16) : value;
    };
    std::vector<std::complex<float>> matrix(static_cast<std::size_t>(n) * n);
    for (auto& element : matrix) {
        const float real = draw();
        element = {real, complex ? draw() : 0.0F};
    }
    return matrix;
}

/// Returns positions below the diagonal, spread over the matrix. Products of every shape write these elements. For
/// trsm, all positions are in one column.
std::vector<std::pair<int, int>> samples(ProductKind shape, int n) {
    constexpr int count = 48;
    std::vector<std::pair<int, int>> result;
    for (int i = 0; i < count; ++i) {
        const int row = 1 + static_cast<int>((n - 2) * static_cast<long>(i + 1) / count);
        result.emplace_back(row, shape == ProductKind::trsm ? 0 : (i * 37) % row);
    }
    return result;
}

}  // namespace

HostProblem::HostProblem(int n, bool complex, OperandUse use)
    : n(n),
      complex(complex),
      a(random_matrix(n, complex, use == OperandUse::solve ? 1 / std::sqrt(n) : 1, 1)),
      b(random_matrix(n, complex, 1, 2)),
      scales_(scales_of_rows(n, use == OperandUse::solve ? scales_of_solve : scales_of_product)) {
    // With D for the diagonal matrix of scales, a solve has the operands D A D^-1 and D B, and thus the solution D
    // A^-1 B. All other products have the operands D A and B.
    for (int column = 0; column < n; ++column) {
        for (int row = 0; row < n; ++row) {
            const std::size_t at = row + static_cast<std::size_t>(column) * n;
            const auto scale = static_cast<float>(scales_[row]);
            a[at] *= use == OperandUse::solve ? static_cast<float>(scales_[row] / scales_[column]) : scale;
            if (use == OperandUse::solve) b[at] *= scale;
        }
    }
}

/// Returns the power of two by which the scales of rows have scaled an element of the result below the diagonal.
double HostProblem::scale_of_result(ProductKind shape, int row, int column) const {
    switch (shape) {
        case ProductKind::syrk:
        case ProductKind::herk:
            return scales_[row] * scales_[column];
        case ProductKind::syr2k:
        case ProductKind::her2k:
            return std::max(scales_[row], scales_[column]);
        default:
            return scales_[row];
    }
}

MeasuredRounding HostProblem::judge_result(ProductKind shape, const float* result) const {
    const auto chosen = samples(shape, n);
    const auto scaled = [&](std::size_t i, Complex value) {
        return value / scale_of_result(shape, chosen[i].first, chosen[i].second);
    };
    std::vector<Complex> elements;
    std::vector<bool> is_in_range_of_fp16;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const std::size_t at = chosen[i].first + static_cast<std::size_t>(chosen[i].second) * n;
        const float* element = result + (complex ? 2 * at : at);
        elements.push_back(scaled(i, {element[0], complex ? element[1] : 0.0F}));
        is_in_range_of_fp16.push_back(scale_of_result(shape, chosen[i].first, chosen[i].second) == 1);
    }
    return gpu::identify_rounding(elements, is_in_range_of_fp16, [&](Rounding rounding) {
        const auto column = shape == ProductKind::trsm ? solved_column(0, rounding) : std::vector<Complex>();
        std::vector<Complex> reference;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            const auto [row, at] = chosen[i];
            reference.push_back(
                scaled(i, shape == ProductKind::trsm ? column[row] : reference_element(shape, row, at, rounding)));
        }
        return reference;
    });
}

Complex HostProblem::reference_element(ProductKind shape, int row, int column, Rounding rounding) const {
    const auto at = [&](const std::vector<std::complex<float>>& matrix, int i, int j) {
        return rounded(matrix[i + static_cast<std::size_t>(j) * n], rounding);
    };
    Complex sum = 0;
    for (int k = 0; k < n; ++k) {
        switch (shape) {
            case ProductKind::gemm:
                sum += at(a, row, k) * at(b, k, column);
                break;
            case ProductKind::symm:
                sum += (row >= k ? at(a, row, k) : at(a, k, row)) * at(b, k, column);
                break;
            case ProductKind::hemm: {
                const Complex element = row > k    ? at(a, row, k)
                                        : row == k ? Complex(at(a, k, k).real())
                                                   : std::conj(at(a, k, row));
                sum += element * at(b, k, column);
                break;
            }
            case ProductKind::syrk:
                sum += at(a, row, k) * at(a, column, k);
                break;
            case ProductKind::herk:
                sum += at(a, row, k) * std::conj(at(a, column, k));
                break;
            case ProductKind::syr2k:
                sum += at(a, row, k) * at(b, column, k) + at(b, row, k) * at(a, column, k);
                break;
            case ProductKind::her2k:
                sum += at(a, row, k) * std::conj(at(b, column, k)) + at(b, row, k) * std::conj(at(a, column, k));
                break;
            case ProductKind::trmm:
                if (k <= row) sum += at(a, row, k) * at(b, k, column);
                break;
            case ProductKind::trsm:
                break;  // judged by solved_column() instead
        }
    }
    return sum;
}

/// Returns a column of the solution A^-1 B, found by forward substitution. Rounds only the matrix A, because it is
/// unknown how a library rounds intermediate results.
std::vector<Complex> HostProblem::solved_column(int column, Rounding rounding) const {
    const auto* const right = b.data() + static_cast<std::size_t>(column) * n;
    std::vector<Complex> solution(right, right + n);
    for (int k = 0; k < n; ++k) {
        const auto* const left = a.data() + static_cast<std::size_t>(k) * n;
        for (int i = k + 1; i < n; ++i) solution[i] -= rounded(left[i], rounding) * solution[k];
    }
    return solution;
}

}  // namespace gpu
