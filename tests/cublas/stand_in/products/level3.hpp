// Matrix operations on dense copies in double precision. Operands are rounded to the permitted format as they are
// read. Products are exact or nearly so. The result is rounded once, when it is stored.
//
// tests/unit/emulate/naive_level3 also multiplies by definition, but only float32 in the caller's memory. The code
// here has every cudaDataType, solves, and operands that a kernel accesses through a View.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "products/element.hpp"
#include "products/rounding.hpp"
#include "products/types.hpp"

namespace stand_in {

// Thrown while a kernel runs. `status`: a CUresult that breaks the context.
struct DeviceFault {
    int status;
};

// Finds `bytes` bytes at an address for a kernel, or throws DeviceFault.
using View = std::function<std::byte*(const void* address, std::size_t bytes)>;

struct Matrix {
    const void* data = nullptr;
    cudaDataType type = CUDA_R_32F;
    std::int64_t leading_dimension = 0;
    bool row_major = false;  // true for row-major matrices, which only cublasLt has
};

// alpha or beta: a host value, which is read at launch, or a device address, which is read when the kernel runs.
struct Scalar {
    cudaDataType type = CUDA_R_32F;
    const void* device = nullptr;
    std::array<std::byte, 16> host{};

    Scalar() = default;
    Scalar(const void* address, cudaDataType scalar_type, bool on_device);
    template <class T>
    T value(const View& view) const {
        return load<T>(device != nullptr ? view(device, size_of(type)) : host.data(), type);
    }
};

enum class Part { full, lower, upper };
inline Part part_of(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER ? Part::lower : Part::upper; }

struct Rounding {
    Format format = Format::fp32;
    Ties ties = Ties::away;
};

template <class T>
struct Dense {
    std::int64_t rows = 0, columns = 0;
    std::vector<T> values;  // elements in column-major order

    Dense() = default;
    Dense(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
    T& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(j * rows + i)]; }
    const T& operator()(std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>(j * rows + i)];
    }
};

// Returns op(A), which is rows×columns.
template <class T>
Dense<T> read(const View& view, const Matrix& a, std::int64_t rows, std::int64_t columns, cublasOperation_t operation,
              Rounding rounding);
// Returns an n×n matrix of which one triangle is stored.
template <class T>
Dense<T> read_symmetric(const View& view, const Matrix& a, std::int64_t n, cublasFillMode_t fill, bool hermitian,
                        Rounding rounding);
// Returns op(A) of a triangular n×n matrix, with zeros in the other triangle.
template <class T>
Dense<T> read_triangular(const View& view, const Matrix& a, std::int64_t n, cublasFillMode_t fill,
                         cublasOperation_t operation, cublasDiagType_t diagonal, Rounding rounding);

template <class T>
Dense<T> multiply(const Dense<T>& a, const Dense<T>& b);
// Returns X with op(A) X = B (left) or X op(A) = B (right), where op(A) is triangular. Rounds products inside the
// solve.
template <class T>
Dense<T> solve(const Dense<T>& a, Dense<T> b, bool left, bool lower, Rounding rounding);

// Computes C = product + beta * C in the given part. If beta is zero, C is not read. A hermitian C gets a real
// diagonal.
template <class T>
void update(const View& view, const Matrix& c, const Dense<T>& product, T beta, Part part, bool hermitian);

// Rounds each row, or each column, to multiples of a unit, so that its largest number keeps `bits` bits.
template <class T>
void round_lines(Dense<T>& dense, bool by_rows, int bits);

template <class T>
Dense<T> scaled(Dense<T> a, T factor);
template <class T>
Dense<T> adjoint(const Dense<T>& a, bool conjugate);
template <class T>
Dense<T> sum(Dense<T> a, const Dense<T>& b);

}  // namespace stand_in
