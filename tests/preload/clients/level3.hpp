// Operands for level3.cpp and level3_extensions.cpp, of float32; with FLOAT64 defined, of float64. Elements that a
// routine must not read are NaN. Elements that it must not write are printed with the result.
#pragma once

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "client.h"

#ifdef FLOAT64
using number = double;
#else
using number = float;
#endif
using complex_number = std::complex<number>;
constexpr bool is_float64 = sizeof(number) == sizeof(double);

/// Format to which this program rounds operands before the product.
inline std::string format = is_float64 ? "fp64" : "fp32";
constexpr int padding = 3;  ///< number of rows by which leading dimensions exceed the minimum

/// A matrix in memory, with a leading dimension larger than needed.
template <class T>
struct Matrix {
    std::vector<T> values;
    blas_int ld = 0;

    T* data() { return values.data(); }
};

/// Makes a matrix of rows×columns values in column-major order; in row-major order, with rows and columns exchanged.
template <class T>
Matrix<T> unrounded(int layout, int rows, int columns, unsigned seed) {
    if (layout == row_major) std::swap(rows, columns);
    Matrix<T> result;
    result.ld = rows + padding;
    result.values.resize(static_cast<std::size_t>(result.ld) * columns);
    std::vector<float> floats(result.values.size() * sizeof(T) / sizeof(number));
    fill(floats.data(), floats.size(), seed);
    auto* const numbers = reinterpret_cast<number*>(result.data());
    // Numbers of float64 have bits beyond a float32.
    for (std::size_t i = 0; i < floats.size(); ++i)
        numbers[i] =
            is_float64 ? static_cast<number>(floats[i] * (1 + 0x1p-30 * static_cast<double>(i % 5 + 1))) : floats[i];
    return result;
}

inline void round_numbers(float* numbers, std::size_t count) { round_to(format.c_str(), numbers, count); }
inline void round_numbers(double* numbers, std::size_t count) {
    for (std::size_t i = 0; i < count && format != "fp64"; ++i) {
        auto single = static_cast<float>(numbers[i]);
        round_to(format.c_str(), &single, 1);
        numbers[i] = single;
    }
}

/// Rounds the values, but not the gaps between columns: trmm's B is also its result.
template <class T>
void round_operand(Matrix<T>& matrix) {
    const std::size_t numbers_of_column = (matrix.ld - padding) * sizeof(T) / sizeof(number);
    for (std::size_t first = 0; first < matrix.values.size(); first += matrix.ld)
        round_numbers(reinterpret_cast<number*>(&matrix.values[first]), numbers_of_column);
}

template <class T>
Matrix<T> operand(int layout, int rows, int columns, unsigned seed) {
    Matrix<T> result = unrounded<T>(layout, rows, columns, seed);
    round_operand(result);
    return result;
}

/// Makes a square operand. The routine may read only one triangle of it, and of a unit triangle not even the
/// diagonal.
template <class T>
Matrix<T> triangle(int layout, int order, int uplo, int diag, unsigned seed, bool rounded = true) {
    Matrix<T> result = rounded ? operand<T>(layout, order, order, seed) : unrounded<T>(layout, order, order, seed);
    const bool stored_upper = (uplo == upper) == (layout == column_major);
    for (int j = 0; j < order; ++j) {
        for (int i = 0; i < order; ++i) {
            const bool is_read = i == j ? diag == non_unit : (i < j) == stored_upper;
            if (!is_read) result.values[i + j * result.ld] = T(std::numeric_limits<number>::quiet_NaN());
        }
    }
    return result;
}

template <class T>
void print(const std::string& label, Matrix<T>& c) {
    print_bits(label.c_str(), reinterpret_cast<float*>(c.data()), c.values.size() * sizeof(T) / sizeof(float));
}

inline const char* letter(int option) {
    switch (option) {
        case no_trans:
            return "N";
        case trans:
            return "T";
        case conj_trans:
            return "C";
        case upper:
            return "U";
        case lower:
            return "L";
        case left:
            return "L";
        case right:
            return "R";
        case unit:
            return "U";
        case non_unit:
            return "N";
    }
    return "?";
}
