#include "shim/audit/packed.hpp"

#include <algorithm>
#include <cmath>

#include "shim/audit/errors.hpp"

namespace fp32shim::blas {
namespace {

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

template <RoundingLoop absolute>
void store_reduced(const float* from, float* to, std::size_t count) {
    absolute(from, to, count);
    for (std::size_t i = 0; i < count; ++i) to[i] *= 0x1p-80F;
}
static_assert(bound_reduction == 0x1p80 * 0x1p80);

}  // namespace

std::size_t packed_bytes(const Matrix& matrix) {
    return rounded_up(static_cast<std::size_t>(matrix.inner()) * static_cast<std::size_t>(matrix.outer()) *
                      static_cast<std::size_t>(matrix.width) * sizeof(float));
}

Matrix packed(const Matrix& like, char* memory) {
    Matrix matrix = like;
    matrix.data = reinterpret_cast<const float*>(memory);
    matrix.ld = std::max<std::int64_t>(like.inner(), 1);
    return matrix;
}

void copy_elements(const Matrix& from, Part part, const Matrix& to) {
    for (std::int64_t outer = 0; outer < from.outer(); ++outer) {
        const auto [begin, end] = stored_range(from, part, outer);
        const float* const source = from.data + (begin + outer * from.ld) * from.width;
        std::copy(source, source + (end - begin) * from.width,
                  const_cast<float*>(to.data) + (begin + outer * to.ld) * to.width);
    }
}

RoundingKernel absolute_values(bool is_complex) { return is_complex ? absolute_complex : store_absolute; }

RoundingKernel reduced_absolute_values(bool is_complex) {
    return is_complex ? store_reduced<absolute_complex> : store_reduced<store_absolute>;
}

void store_absolute_scalar(const void* from, bool is_pair, float (&to)[2]) {
    const auto* value = static_cast<const float*>(from);
    to[0] = to[1] = 0;
    if (value != nullptr) absolute_values(is_pair)(value, to, is_pair ? 2 : 1);
}

}  // namespace fp32shim::blas
