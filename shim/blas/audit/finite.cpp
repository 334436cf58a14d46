#include "shim/blas/audit/finite.hpp"
#include "system/cpu_features.hpp"

#include "shim/level3/numbers.hpp"

namespace fp32shim::blas {
namespace {

// Numbers as integers, aligned only like floats.
template <class Bits, int bytes>
struct Vector {
    using type [[gnu::vector_size(bytes), gnu::aligned(4), gnu::may_alias]] = Bits;
    static constexpr Bits exponent_bits =
        sizeof(Bits) == 8 ? static_cast<Bits>(0x7ff0000000000000U) : Bits{0x7f800000};
};

/// Sets bits of `bad` where a number is NaN or infinite.
template <class V>
[[gnu::always_inline]] inline void find_bad(const float* numbers, typename V::type& bad) {
    bad |= (*reinterpret_cast<const typename V::type*>(numbers) & V::exponent_bits) == V::exponent_bits;
}

template <class V>
[[gnu::always_inline]] inline bool any_bit(const typename V::type& words) {
    decltype(V::exponent_bits + 0) any = 0;
    for (std::size_t i = 0; i < sizeof words / sizeof any; ++i) any |= words[i];
    return any != 0;
}

/// Checks a block at a time, so that the search ends soon after a bad number. Checks two vectors at a time, so that
/// the processor can work on both in parallel.
template <class Bits, int bytes>
[[gnu::always_inline]] inline bool all_finite_by(const float* numbers, std::size_t count) {
    using V = Vector<Bits, bytes>;
    constexpr std::size_t width = bytes / sizeof(float);
    constexpr std::size_t block = 256;
    std::size_t i = 0;
    for (; i + block <= count; i += block) {
        typename V::type bad{};
        typename V::type more_bad{};
        for (std::size_t in_block = i; in_block < i + block; in_block += 2 * width) {
            find_bad<V>(numbers + in_block, bad);
            find_bad<V>(numbers + in_block + width, more_bad);
        }
        bad |= more_bad;
        if (any_bit<V>(bad)) return false;
    }
    typename V::type bad{};
    for (; i + width <= count; i += width) find_bad<V>(numbers + i, bad);
    if (any_bit<V>(bad)) return false;
    constexpr bool is_double = sizeof(Bits) == sizeof(double);
    for (; i < count; i += sizeof(Bits) / sizeof(float))
        if (!StoredNumber(numbers + i, is_double).is_finite()) return false;
    return true;
}

bool all_finite_plain(const float* numbers, std::size_t count, bool is_double) {
    return is_double ? all_finite_by<std::uint64_t, 16>(numbers, count)
                     : all_finite_by<std::uint32_t, 16>(numbers, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool all_finite_avx2(const float* numbers, std::size_t count, bool is_double) {
    return is_double ? all_finite_by<std::uint64_t, 32>(numbers, count)
                     : all_finite_by<std::uint32_t, 32>(numbers, count);
}
#endif

ElementPosition position_of(const Matrix& matrix, std::int64_t inner, std::int64_t outer) {
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

std::optional<ElementPosition> first_nonfinite(const Elements& elements) {
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
