#include "shim/level3/finite.hpp"

#include <cstring>

#include "shim/level3/numbers.hpp"
#include "system/cpu_features.hpp"

namespace fp32shim::blas {
namespace {

/// Returns true if all numbers are finite. Checks the numbers block by block, so that it returns soon after a number
/// that is not finite. Compilers vectorize the inner loop.
template <class Bits>
[[gnu::always_inline]] inline bool all_finite_by(const float* numbers, std::size_t count) {
    constexpr Bits exponent_bits =
        sizeof(Bits) == sizeof(double) ? static_cast<Bits>(0x7ff0000000000000U) : Bits{0x7f800000};
    constexpr std::size_t width = sizeof(Bits) / sizeof(float);
    constexpr std::size_t block = 256;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t end = first + block < count ? first + block : count;
        Bits bad = 0;
#pragma GCC unroll 4
        for (std::size_t i = first; i < end; i += width) {
            Bits bits;
            std::memcpy(&bits, numbers + i, sizeof bits);
            bad |= (bits & exponent_bits) == exponent_bits ? 1 : 0;
        }
        if (bad != 0) return false;
    }
    return true;
}

bool all_finite_plain(const float* numbers, std::size_t count, bool is_double) {
    return is_double ? all_finite_by<std::uint64_t>(numbers, count) : all_finite_by<std::uint32_t>(numbers, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool all_finite_avx2(const float* numbers, std::size_t count, bool is_double) {
    return is_double ? all_finite_by<std::uint64_t>(numbers, count) : all_finite_by<std::uint32_t>(numbers, count);
}
#endif

NonfiniteElement position_of(const Matrix& matrix, std::int64_t inner, std::int64_t outer) {
    const float* const at = matrix.data + (inner + outer * matrix.ld) * matrix.width;
    const bool is_nan = StoredNumber(at, matrix.is_double).is_nan() ||
                        (matrix.is_complex && StoredNumber(at, matrix.is_double, 1).is_nan());
    return {matrix.row_major ? outer : inner, matrix.row_major ? inner : outer, is_nan};
}

}  // namespace

bool all_finite(const float* numbers, std::size_t count, bool is_double) {
#if defined(__x86_64__)
    if (system::may_use(system::CpuFeature::avx2)) return all_finite_avx2(numbers, count, is_double);
#endif
    return all_finite_plain(numbers, count, is_double);
}

std::optional<NonfiniteElement> first_nonfinite(const MatrixRegion& elements) {
    const Matrix& matrix = elements.matrix;
    if (matrix.data == nullptr) return std::nullopt;
    const auto floats = [&](std::int64_t count) { return static_cast<std::size_t>(count * matrix.width); };
    if (elements.part == Part::whole && matrix.ld == matrix.inner() &&
        all_finite(matrix.data, floats(matrix.inner() * matrix.outer()), matrix.is_double))
        return std::nullopt;
    for (std::int64_t outer = 0; outer < matrix.outer(); ++outer) {
        const auto [begin, end] = stored_range(matrix, elements.part, outer);
        if (all_finite(matrix.data + (begin + outer * matrix.ld) * matrix.width, floats(end - begin),
                       matrix.is_double))
            continue;
        for (std::int64_t inner = begin; inner < end; ++inner) {
            if (elements.skips_diagonal && inner == outer) continue;
            if (!all_finite_plain(matrix.data + (inner + outer * matrix.ld) * matrix.width, floats(1),
                                  matrix.is_double))
                return position_of(matrix, inner, outer);
        }
    }
    return std::nullopt;
}

}  // namespace fp32shim::blas
