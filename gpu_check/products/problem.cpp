#include "gpu_check/products/problem.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>

namespace gpu {

namespace {

std::vector<std::complex<float>> random_matrix(int n, bool complex, double scale, unsigned seed) {
    std::mt19937 generator(seed);
    const auto draw = [&] {
        return static_cast<float>(scale * (generator() / 2147483648.0 - 1));  // 32 random bits divided by 2^31
    };
    std::vector<std::complex<float>> matrix(static_cast<std::size_t>(n) * n);
    for (auto& element : matrix) element = {draw(), complex ? draw() : 0.0F};
    return matrix;
}

/// Returns `copies` times the matrix in the device's layout: real matrices have no imaginary parts.
std::vector<float> device_layout(const std::vector<std::complex<float>>& matrix, bool complex) {
    std::vector<float> result;
    result.reserve(matrix.size() * Problem::copies * (complex ? 2 : 1));
    for (int copy = 0; copy < Problem::copies; ++copy) {
        for (const auto& element : matrix) {
            result.push_back(element.real());
            if (complex) result.push_back(element.imag());
        }
    }
    return result;
}

std::vector<char*> addresses(const Buffer& matrices, std::size_t matrix_bytes, std::size_t offset) {
    std::vector<char*> result;
    for (int copy = 0; copy < Problem::copies; ++copy) {
        result.push_back(matrices.as<char>(offset + copy * matrix_bytes));
    }
    return result;
}

/// Returns positions below the diagonal, spread over the matrix, which products of every shape write. For trsm all
/// are in one column.
std::vector<std::pair<int, int>> samples(Shape shape, int n) {
    constexpr int count = 48;
    std::vector<std::pair<int, int>> result;
    for (int i = 0; i < count; ++i) {
        const int row = 1 + static_cast<int>((n - 2) * static_cast<long>(i + 1) / count);
        result.emplace_back(row, shape == Shape::trsm ? 0 : (i * 37) % row);
    }
    return result;
}

}  // namespace

Problem::Problem(const Device& device, int n, bool complex, double scale_a, std::size_t offset)
    : n(n),
      complex(complex),
      matrix_bytes(static_cast<std::size_t>(n) * n * sizeof(float) * (complex ? 2 : 1)),
      offset(offset),
      host_a(random_matrix(n, complex, scale_a, 1)),
      host_b(random_matrix(n, complex, 1, 2)),
      a(device, offset + copies * matrix_bytes),
      b(device, offset + copies * matrix_bytes),
      c(device, offset + copies * matrix_bytes),
      a_pointers(device, addresses(a, matrix_bytes, offset)),
      b_pointers(device, addresses(b, matrix_bytes, offset)),
      c_pointers(device, addresses(c, matrix_bytes, offset)) {
    upload(a, host_a);
    upload(b, host_b);
}

void Problem::upload(Buffer& target, const std::vector<std::complex<float>>& matrix) const {
    const std::vector<float> values = device_layout(matrix, complex);
    target.upload(values.data(), values.size() * sizeof(float), offset);
}

void Problem::prepare(Shape shape) {
    if (shape == Shape::trsm) {
        upload(c, host_b);
    } else {
        c.fill_with_nan(offset + copies * matrix_bytes);
    }
}

/// Returns a hash by the method FNV-1a.
std::string Problem::hash_of_result() const {
    const auto values = c.download<float>(offset / sizeof(float) + matrix_bytes / sizeof(float));
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data()) + offset;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t i = 0; i < matrix_bytes; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

Measured Problem::judge(Shape shape, int copy) const {
    const std::size_t floats = matrix_bytes / sizeof(float);
    const std::size_t first = offset / sizeof(float) + copy * floats;
    const auto device_result = c.download<float>(first + floats);
    const auto chosen = samples(shape, n);
    std::vector<Complex> result;
    for (const auto& [row, column] : chosen) {
        const std::size_t index = row + static_cast<std::size_t>(column) * n;
        const float* element = device_result.data() + first + (complex ? 2 * index : index);
        result.emplace_back(element[0], complex ? element[1] : 0.0F);
    }
    std::vector<std::vector<Complex>> references;
    for (const Rounding rounding : all_roundings) {
        auto& reference = references.emplace_back();
        if (shape == Shape::trsm) {
            const auto column = solved_column(0, rounding);
            for (const auto& sample : chosen) reference.push_back(column[sample.first]);
        } else {
            for (const auto& [row, column] : chosen) reference.push_back(entry(shape, row, column, rounding));
        }
    }
    return gpu::judge(result, references);
}

Complex Problem::entry(Shape shape, int row, int column, Rounding rounding) const {
    const auto at = [&](const std::vector<std::complex<float>>& matrix, int i, int j) {
        return rounded(Complex(matrix[i + static_cast<std::size_t>(j) * n]), rounding);
    };
    Complex sum = 0;
    for (int k = 0; k < n; ++k) {
        switch (shape) {
            case Shape::gemm:
                sum += at(host_a, row, k) * at(host_b, k, column);
                break;
            case Shape::symm:
                sum += (row >= k ? at(host_a, row, k) : at(host_a, k, row)) * at(host_b, k, column);
                break;
            case Shape::hemm: {
                const Complex element = row > k    ? at(host_a, row, k)
                                        : row == k ? Complex(at(host_a, k, k).real())
                                                   : std::conj(at(host_a, k, row));
                sum += element * at(host_b, k, column);
                break;
            }
            case Shape::syrk:
                sum += at(host_a, row, k) * at(host_a, column, k);
                break;
            case Shape::herk:
                sum += at(host_a, row, k) * std::conj(at(host_a, column, k));
                break;
            case Shape::syr2k:
                sum += at(host_a, row, k) * at(host_b, column, k) + at(host_b, row, k) * at(host_a, column, k);
                break;
            case Shape::her2k:
                sum += at(host_a, row, k) * std::conj(at(host_b, column, k)) +
                       at(host_b, row, k) * std::conj(at(host_a, column, k));
                break;
            case Shape::trmm:
                if (k <= row) sum += at(host_a, row, k) * at(host_b, k, column);
                break;
            case Shape::trsm:
                break;  // judged by solved_column() instead
        }
    }
    return sum;
}

/// Solves by forward substitution. Rounds the matrix only, since the rounding of intermediate results in a library is
/// unknown.
std::vector<Complex> Problem::solved_column(int column, Rounding rounding) const {
    std::vector<Complex> solution(n);
    for (int i = 0; i < n; ++i) {
        Complex sum = Complex(host_b[i + static_cast<std::size_t>(column) * n]);
        for (int k = 0; k < i; ++k) {
            sum -= rounded(Complex(host_a[i + static_cast<std::size_t>(k) * n]), rounding) * solution[k];
        }
        solution[i] = sum;
    }
    return solution;
}

}  // namespace gpu
