#include "shim/blas/audit/finite.hpp"
#include "system/cpu_features.hpp"

#include <algorithm>
#include <bit>

namespace fp32shim::blas {
namespace {

constexpr std::uint32_t exponent_bits = 0x7f800000;
constexpr std::uint32_t magnitude = 0x7fffffff;

std::uint32_t bits_of(float number) { return std::bit_cast<std::uint32_t>(number); }

bool is_finite(float number) { return (bits_of(number) & exponent_bits) != exponent_bits; }

// Floats as integers, aligned only like floats.
using Words16 = std::uint32_t __attribute__((vector_size(16), aligned(4), may_alias));
using Words32 = std::uint32_t __attribute__((vector_size(32), aligned(4), may_alias));

/// Sets bits of `bad` where a number is NaN or infinite.
template <class Words>
[[gnu::always_inline]] inline void find_bad(const float* numbers, Words& bad) {
    bad |= (*reinterpret_cast<const Words*>(numbers) & exponent_bits) == exponent_bits;
}

template <class Words>
[[gnu::always_inline]] inline bool any_bit(const Words& words) {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < sizeof words / sizeof any; ++i) any |= words[i];
    return any != 0;
}

/// Checks a block at a time, so that the search ends soon after a bad number. Checks two vectors at a time, so that
/// the processor can work on both in parallel.
template <class Words>
[[gnu::always_inline]] inline bool all_finite_by(const float* numbers, std::size_t count) {
    constexpr std::size_t width = sizeof(Words) / sizeof(float);
    constexpr std::size_t block = 256;
    std::size_t i = 0;
    for (; i + block <= count; i += block) {
        Words bad{};
        Words more_bad{};
        for (std::size_t in_block = i; in_block < i + block; in_block += 2 * width) {
            find_bad(numbers + in_block, bad);
            find_bad(numbers + in_block + width, more_bad);
        }
        bad |= more_bad;
        if (any_bit(bad)) return false;
    }
    Words bad{};
    for (; i + width <= count; i += width) find_bad(numbers + i, bad);
    return !any_bit(bad) && std::all_of(numbers + i, numbers + count, is_finite);
}

bool all_finite_plain(const float* numbers, std::size_t count) { return all_finite_by<Words16>(numbers, count); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool all_finite_avx2(const float* numbers, std::size_t count) {
    return all_finite_by<Words32>(numbers, count);
}
#endif

ElementPosition position_of(const Matrix& matrix, std::int64_t inner, std::int64_t outer) {
    const float* const at = matrix.data + (inner + outer * matrix.ld) * matrix.width;
    const auto is_nan = [](float number) { return (bits_of(number) & magnitude) > exponent_bits; };
    return {matrix.row_major ? outer : inner, matrix.row_major ? inner : outer,
            std::any_of(at, at + matrix.width, is_nan)};
}

}  // namespace

bool all_finite(const float* numbers, std::size_t count) {
#if defined(__x86_64__)
    if (system::has(system::CpuFeature::avx2)) return all_finite_avx2(numbers, count);
#endif
    return all_finite_plain(numbers, count);
}

std::optional<ElementPosition> first_nonfinite(const Elements& elements) {
    const Matrix& matrix = elements.matrix;
    if (matrix.data == nullptr) return std::nullopt;
    const auto floats = [&](std::int64_t count) { return static_cast<std::size_t>(count * matrix.width); };
    if (elements.part == Part::whole && matrix.ld == matrix.inner() &&
        all_finite(matrix.data, floats(matrix.inner() * matrix.outer())))
        return std::nullopt;
    for (std::int64_t outer = 0; outer < matrix.outer(); ++outer) {
        const auto [begin, end] = stored_range(matrix, elements.part, outer);
        if (all_finite(matrix.data + (begin + outer * matrix.ld) * matrix.width, floats(end - begin))) continue;
        for (std::int64_t inner = begin; inner < end; ++inner) {
            if (elements.skips_diagonal && inner == outer) continue;
            if (!all_finite_plain(matrix.data + (inner + outer * matrix.ld) * matrix.width, floats(1)))
                return position_of(matrix, inner, outer);
        }
    }
    return std::nullopt;
}

}  // namespace fp32shim::blas
