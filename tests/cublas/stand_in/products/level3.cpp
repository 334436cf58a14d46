#include "products/level3.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace stand_in {
namespace {

double conjugate_of(double value) { return value; }
Complex conjugate_of(Complex value) { return std::conj(value); }

double times(double a, double b) { return a * b; }
// Multiplies without the treatment of infinities that operator* has, which would cost more than the product.
Complex times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

double rounded(double value, Rounding rounding) {
    return round_to(rounding.format, rounding.ties, static_cast<float>(value));
}
Complex rounded(Complex value, Rounding rounding) {
    return {rounded(value.real(), rounding), rounded(value.imag(), rounding)};
}

class Stored {
  public:
    Stored(const View& view, const Matrix& matrix, std::int64_t rows, std::int64_t columns)
        : matrix_(matrix), size_(size_of(matrix.type)) {
        const std::int64_t inner = matrix.row_major ? columns : rows;
        const std::int64_t outer = matrix.row_major ? rows : columns;
        if (inner == 0 || outer == 0) return;
        const auto elements = static_cast<std::size_t>((outer - 1) * matrix.leading_dimension + inner);
        bytes_ = view(matrix.data, elements * size_);
    }
    std::byte* at(std::int64_t i, std::int64_t j) const {
        const std::int64_t index =
            matrix_.row_major ? i * matrix_.leading_dimension + j : j * matrix_.leading_dimension + i;
        return bytes_ + static_cast<std::size_t>(index) * size_;
    }

  private:
    Matrix matrix_;
    std::size_t size_;
    std::byte* bytes_ = nullptr;
};

template <class T>
T load_rounded(const std::byte* element, cudaDataType type, Rounding rounding) {
    const T value = load<T>(element, type);
    return is_float32(type) && rounding.format != Format::fp32 ? rounded(value, rounding) : value;
}

}  // namespace

Scalar::Scalar(const void* address, cudaDataType scalar_type, bool on_device) : type(scalar_type) {
    if (on_device)
        device = address;
    else
        std::memcpy(host.data(), address, size_of(scalar_type));
}

template <class T>
Dense<T> read(const View& view, const Matrix& a, std::int64_t rows, std::int64_t columns, cublasOperation_t operation,
              Rounding rounding) {
    const bool transposed = operation != CUBLAS_OP_N;
    const Stored stored(view, a, transposed ? columns : rows, transposed ? rows : columns);
    Dense<T> result(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            const T value = load_rounded<T>(transposed ? stored.at(j, i) : stored.at(i, j), a.type, rounding);
            result(i, j) = operation == CUBLAS_OP_C ? conjugate_of(value) : value;
        }
    }
    return result;
}

template <class T>
Dense<T> read_symmetric(const View& view, const Matrix& a, std::int64_t n, cublasFillMode_t fill, bool hermitian,
                        Rounding rounding) {
    const Stored stored(view, a, n, n);
    Dense<T> result(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
            const bool here = fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
            T value = load_rounded<T>(here ? stored.at(i, j) : stored.at(j, i), a.type, rounding);
            if (hermitian && !here) value = conjugate_of(value);
            if constexpr (std::is_same_v<T, Complex>)
                if (hermitian && i == j) value = value.real();
            result(i, j) = value;
        }
    }
    return result;
}

template <class T>
Dense<T> read_triangular(const View& view, const Matrix& a, std::int64_t n, cublasFillMode_t fill,
                         cublasOperation_t operation, cublasDiagType_t diagonal, Rounding rounding) {
    const Stored stored(view, a, n, n);
    Dense<T> result(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t first = fill == CUBLAS_FILL_MODE_LOWER ? j : 0;
        const std::int64_t last = fill == CUBLAS_FILL_MODE_LOWER ? n : j + 1;
        for (std::int64_t i = first; i < last; ++i) {
            T value =
                i == j && diagonal == CUBLAS_DIAG_UNIT ? T{1} : load_rounded<T>(stored.at(i, j), a.type, rounding);
            if (operation == CUBLAS_OP_C) value = conjugate_of(value);
            (operation == CUBLAS_OP_N ? result(i, j) : result(j, i)) = value;
        }
    }
    return result;
}

template <class T>
Dense<T> multiply(const Dense<T>& a, const Dense<T>& b) {
    Dense<T> result(a.rows, b.columns);
    for (std::int64_t j = 0; j < b.columns; ++j) {
        T* const column = result.values.data() + j * a.rows;
        for (std::int64_t p = 0; p < a.columns; ++p) {
            const T factor = b(p, j);
            const T* const left = a.values.data() + p * a.rows;
            for (std::int64_t i = 0; i < a.rows; ++i) column[i] += times(left[i], factor);
        }
    }
    return result;
}

template <class T>
Dense<T> solve(const Dense<T>& a, Dense<T> b, bool left, bool lower, Rounding rounding) {
    // X op(A) = B is equivalent to op(A)^T X^T = B^T, with the other triangle.
    if (!left) return adjoint(solve(adjoint(a, false), adjoint(b, false), true, !lower, rounding), false);
    const auto factor = [rounding](T value) {
        return rounding.format == Format::fp32 ? value : rounded(value, rounding);
    };
    const std::int64_t n = a.rows;
    for (std::int64_t j = 0; j < b.columns; ++j) {
        for (std::int64_t step = 0; step < n; ++step) {
            const std::int64_t i = lower ? step : n - 1 - step;
            b(i, j) /= a(i, i);
            const T solved = factor(b(i, j));
            for (std::int64_t r = lower ? i + 1 : 0; r < (lower ? n : i); ++r)
                b(r, j) -= times(factor(a(r, i)), solved);
        }
    }
    return b;
}

template <class T>
void update(const View& view, const Matrix& c, const Dense<T>& product, T beta, Part part, bool hermitian) {
    const Stored stored(view, c, product.rows, product.columns);
    for (std::int64_t j = 0; j < product.columns; ++j) {
        for (std::int64_t i = 0; i < product.rows; ++i) {
            if ((part == Part::lower && i < j) || (part == Part::upper && i > j)) continue;
            std::byte* const element = stored.at(i, j);
            T value = product(i, j);
            if (beta != T{0}) value += times(beta, load<T>(element, c.type));
            if constexpr (std::is_same_v<T, Complex>)
                if (hermitian && i == j) value = value.real();
            store<T>(element, c.type, value);
        }
    }
}

template <class T>
void round_lines(Dense<T>& dense, bool by_rows, int bits) {
    const std::int64_t lines = by_rows ? dense.rows : dense.columns;
    const std::int64_t length = by_rows ? dense.columns : dense.rows;
    const auto at = [&](std::int64_t line, std::int64_t i) -> T& {
        return by_rows ? dense(line, i) : dense(i, line);
    };
    for (std::int64_t line = 0; line < lines; ++line) {
        double largest = 0;
        for (std::int64_t i = 0; i < length; ++i)
            largest = std::max({largest, std::abs(std::real(at(line, i))), std::abs(std::imag(at(line, i)))});
        if (largest == 0 || !std::isfinite(largest)) continue;
        const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 - bits);
        const auto rounded = [unit](double value) { return std::nearbyint(value / unit) * unit; };
        for (std::int64_t i = 0; i < length; ++i) {
            if constexpr (std::is_same_v<T, double>)
                at(line, i) = rounded(at(line, i));
            else
                at(line, i) = {rounded(at(line, i).real()), rounded(at(line, i).imag())};
        }
    }
}

template <class T>
Dense<T> scaled(Dense<T> a, T factor) {
    for (T& value : a.values) value = times(value, factor);
    return a;
}

template <class T>
Dense<T> adjoint(const Dense<T>& a, bool conjugate) {
    Dense<T> result(a.columns, a.rows);
    for (std::int64_t j = 0; j < a.columns; ++j)
        for (std::int64_t i = 0; i < a.rows; ++i) result(j, i) = conjugate ? conjugate_of(a(i, j)) : a(i, j);
    return result;
}

template <class T>
Dense<T> sum(Dense<T> a, const Dense<T>& b) {
    for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
    return a;
}

#define INSTANTIATE(T)                                                                                               \
    template Dense<T> read(const View&, const Matrix&, std::int64_t, std::int64_t, cublasOperation_t, Rounding);     \
    template Dense<T> read_symmetric(const View&, const Matrix&, std::int64_t, cublasFillMode_t, bool, Rounding);    \
    template Dense<T> read_triangular(const View&, const Matrix&, std::int64_t, cublasFillMode_t, cublasOperation_t, \
                                      cublasDiagType_t, Rounding);                                                   \
    template Dense<T> multiply(const Dense<T>&, const Dense<T>&);                                                    \
    template Dense<T> solve(const Dense<T>&, Dense<T>, bool, bool, Rounding);                                        \
    template void update(const View&, const Matrix&, const Dense<T>&, T, Part, bool);                                \
    template void round_lines(Dense<T>&, bool, int);                                                                 \
    template Dense<T> scaled(Dense<T>, T);                                                                           \
    template Dense<T> adjoint(const Dense<T>&, bool);                                                                \
    template Dense<T> sum(Dense<T>, const Dense<T>&);
INSTANTIATE(double)
INSTANTIATE(Complex)
#undef INSTANTIATE

}  // namespace stand_in
