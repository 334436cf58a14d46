#include "matrix.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "format.hpp"

namespace clients {
namespace {

template <class T>
void put(T value, unsigned char* bytes) {
    std::memcpy(bytes, &value, sizeof value);
}

template <class T>
T get(const unsigned char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// Returns 2^exponent. std::ldexp would take an eighth of the tests' time.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52); }

/// A linear congruential generator, which gives the same operands on every machine.
class Random {
  public:
    explicit Random(unsigned seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

    /// Returns a positive or negative number within a factor of 16 around 2^exponent, whose last mantissa bit is set.
    double operator()(Dtype dtype, int exponent) {
        const std::uint64_t bits = next();
        const auto mantissa = static_cast<double>(bits >> 41 | 1) / 8388608.0;  // a mantissa of 23 bits
        const double value = (1 + mantissa) * power_of_two(exponent - 2 + static_cast<int>(bits & 3));
        const double narrowed = dtype == Dtype::float16    ? round_to(Format::fp16, value)
                                : dtype == Dtype::bfloat16 ? round_to(Format::bf16, value)
                                                           : value;
        return (bits & 4) != 0 ? -narrowed : narrowed;
    }

  private:
    std::uint64_t next() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return state_ ^ state_ >> 29;
    }

    std::uint64_t state_;
};

}  // namespace

bool is_complex(Dtype dtype) { return dtype == Dtype::complex64; }

std::size_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::float32:
            return 4;
        case Dtype::complex64:
        case Dtype::float64:
            return 8;
        case Dtype::float16:
        case Dtype::bfloat16:
            break;
    }
    return 2;
}

void encode(Dtype dtype, Number value, unsigned char* bytes) {
    const auto real = static_cast<float>(value.real());
    switch (dtype) {
        case Dtype::complex64:
            put(static_cast<float>(value.imag()), bytes + sizeof real);
            [[fallthrough]];
        case Dtype::float32:
            put(real, bytes);
            break;
        case Dtype::float16:
            put(__float2half_rn(real), bytes);
            break;
        case Dtype::bfloat16:
            put(__float2bfloat16_rn(real), bytes);
            break;
        case Dtype::float64:
            put(value.real(), bytes);
            break;
    }
}

Number decode(Dtype dtype, const unsigned char* bytes) {
    switch (dtype) {
        case Dtype::float32:
            return get<float>(bytes);
        case Dtype::complex64:
            return {get<float>(bytes), get<float>(bytes + sizeof(float))};
        case Dtype::float16:
            return __half2float(get<__half>(bytes));
        case Dtype::bfloat16:
            return __bfloat162float(get<__nv_bfloat16>(bytes));
        case Dtype::float64:
            break;
    }
    return get<double>(bytes);
}

Matrix random_matrix(Dtype dtype, std::int64_t rows, std::int64_t columns, int exponent, unsigned seed) {
    constexpr int padding = 3;
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    Matrix result{rows, columns, rows + padding, {}};
    result.values.assign(static_cast<std::size_t>(result.ld * columns), {nan, is_complex(dtype) ? nan : 0});
    Random random(seed);
    for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            const double real = random(dtype, exponent);
            result.at(i, j) = {real, is_complex(dtype) ? random(dtype, exponent) : 0};
        }
    }
    return result;
}

void keep_triangle(Matrix& matrix, char uplo, bool with_diagonal) {
    const Number outside = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t j = 0; j < matrix.columns; ++j)
        for (std::int64_t i = 0; i < matrix.rows; ++i)
            if (i == j ? !with_diagonal : (i < j) != (uplo == 'U')) matrix.at(i, j) = outside;
}

std::vector<unsigned char> bytes_of(Dtype dtype, const Matrix& matrix) {
    const std::size_t size = size_of(dtype);
    std::vector<unsigned char> result(matrix.values.size() * size);
    for (std::size_t i = 0; i < matrix.values.size(); ++i) encode(dtype, matrix.values[i], &result[i * size]);
    return result;
}

Dense dense(const Matrix& matrix, const Rounding& rounding) {
    Dense result(matrix.rows, matrix.columns);
    for (std::int64_t j = 0; j < matrix.columns; ++j)
        for (std::int64_t i = 0; i < matrix.rows; ++i)
            result.at(i, j) = {rounding(matrix.at(i, j).real()), rounding(matrix.at(i, j).imag())};
    return result;
}

Dense transposed(const Dense& matrix, char trans) {
    if (trans == 'N') return matrix;
    Dense result(matrix.columns, matrix.rows);
    for (std::int64_t j = 0; j < matrix.columns; ++j)
        for (std::int64_t i = 0; i < matrix.rows; ++i)
            result.at(j, i) = trans == 'C' ? std::conj(matrix.at(i, j)) : matrix.at(i, j);
    return result;
}

Dense multiplied(const Dense& a, const Dense& b) {
    Dense result(a.rows, b.columns);
    for (std::int64_t j = 0; j < b.columns; ++j) {
        for (std::int64_t p = 0; p < a.columns; ++p) {
            // Real and imaginary parts are computed separately: the operator of std::complex checks every product for
            // NaN and infinity.
            const double real = b.at(p, j).real();
            const double imaginary = b.at(p, j).imag();
            for (std::int64_t i = 0; i < a.rows; ++i) {
                const Number& factor = a.at(i, p);
                result.at(i, j) += Number(factor.real() * real - factor.imag() * imaginary,
                                          factor.real() * imaginary + factor.imag() * real);
            }
        }
    }
    return result;
}

double norm(const Dense& matrix) {
    double sum = 0;
    for (const Number& value : matrix.values) sum += std::norm(value);
    return std::sqrt(sum);
}

}  // namespace clients
