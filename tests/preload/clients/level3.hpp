// Operands for level3.cpp and level3_extensions.cpp. Elements that a routine must not read are NaN. Elements that it
// must not write are printed with the result.
#pragma once

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "client.h"

using complex64 = std::complex<float>;

inline std::string format = "fp32";  ///< format to which this program rounds operands before the product
constexpr int padding = 3;           ///< number of rows by which leading dimensions exceed the minimum

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
    fill(reinterpret_cast<float*>(result.data()), result.values.size() * sizeof(T) / sizeof(float), seed);
    return result;
}

/// Rounds the values, but not the gaps between columns: trmm's B is also its result.
template <class T>
void round_operand(Matrix<T>& matrix) {
    const std::size_t floats_of_column = (matrix.ld - padding) * sizeof(T) / sizeof(float);
    for (std::size_t first = 0; first < matrix.values.size(); first += matrix.ld)
        round_to(format.c_str(), reinterpret_cast<float*>(&matrix.values[first]), floats_of_column);
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
            if (!is_read) result.values[i + j * result.ld] = T(std::numeric_limits<float>::quiet_NaN());
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
