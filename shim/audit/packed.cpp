#include "shim/audit/packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "shim/audit/errors.hpp"

namespace fp32shim::blas {
namespace {

double double_at(const float* memory) {
    double value = 0;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

void store_double(double value, float* memory) { std::memcpy(memory, &value, sizeof value); }

void store_absolute(const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = std::abs(from[i]);
}

void absolute_complex(const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i + 1 < count; i += 2) {
        // In double precision, squares of floats neither overflow nor underflow.
        const double real = from[i], imaginary = from[i + 1];
        to[i] = static_cast<float>(std::sqrt(real * real + imaginary * imaginary));
        to[i + 1] = 0;
    }
}

void store_absolute_doubles(const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i + 1 < count; i += 2) store_double(std::abs(double_at(from + i)), to + i);
}

void absolute_complex_doubles(const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i + 3 < count; i += 4) {
        // Divides by the larger part, so that squares neither overflow nor underflow.
        const double re = std::abs(double_at(from + i)), im = std::abs(double_at(from + i + 2));
        const double larger = std::max(re, im), ratio = std::min(re, im) / larger;
        store_double(larger == 0 ? 0 : larger * std::sqrt(1 + ratio * ratio), to + i);
        store_double(0, to + i + 2);
    }
}

template <RoundingLoop absolute>
void store_reduced(const float* from, float* to, std::size_t count) {
    absolute(from, to, count);
    for (std::size_t i = 0; i < count; ++i) to[i] *= 0x1p-80F;
}
static_assert(bound_reduction == 0x1p80 * 0x1p80);

}  // namespace

std::size_t packed_bytes(const Matrix& matrix) {
    return rounded_to_cache_line(static_cast<std::size_t>(matrix.inner()) * static_cast<std::size_t>(matrix.outer()) *
                                 static_cast<std::size_t>(matrix.width) * sizeof(float));
}

Matrix packed_matrix(const Matrix& like, char* memory) {
    Matrix matrix = like;
    matrix.data = reinterpret_cast<const float*>(memory);
    matrix.ld = std::max<std::int64_t>(like.inner(), 1);
    return matrix;
}

RoundingKernel absolute_value_kernel(const Level3& product) {
    if (product.is_double) return product.is_complex ? absolute_complex_doubles : store_absolute_doubles;
    return product.is_complex ? absolute_complex : store_absolute;
}

RoundingKernel reduced_absolute_kernel(bool is_complex) {
    return is_complex ? store_reduced<absolute_complex> : store_reduced<store_absolute>;
}

void store_absolute_scalar(const Level3& product, const void* from, bool is_pair, float* to) {
    std::fill_n(to, product.is_double ? 4 : 2, 0.0F);
    if (from == nullptr) return;
    Level3 as_scalar = product;
    as_scalar.is_complex = is_pair;
    absolute_value_kernel(as_scalar)(static_cast<const float*>(from), to,
                                     static_cast<std::size_t>(as_scalar.width()));
}

}  // namespace fp32shim::blas
