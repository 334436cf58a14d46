#include "shim/blas/emulate/rounding.hpp"

#include <algorithm>
#include <bit>

#include "system/hash.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fp32shim::blas {
namespace {

// Rounding is integer arithmetic on the bits. So the program's rounding mode, flush-to-zero setting and trapped
// floating-point exceptions do not affect it, and it does not affect them:
//
//   sign eeeeeeee mmmmmmmmmm|mmmmmmmmmmmmm     TF32 keeps the bits left of the bar (BF16: 16 bits in all)
//
// To round, add half of the last kept bit and cut the rest off. A carry moves into the exponent, and from the largest
// exponent to infinity, which is the correct result of rounding up there. To send ties to even, add one less than
// half, plus the last kept bit itself. To truncate, add nothing. Only NaN has to be left out: a carry would make it a
// zero, and cutting would make it an infinity. A format of a narrower range (FP16) has further rules: see
// rounded_size().
enum class Ties : std::uint8_t { away, even, cut };
struct Definition {
    int cut_bits;
    Ties ties;
};
constexpr Definition definitions[] = {
#define ROUNDING(name, cut_bits, ties, factors) {cut_bits, Ties::ties},
#include "policy/formats.def"
};

template <OperandRounding rounding>
struct Format {
    static constexpr Definition definition = definitions[static_cast<std::size_t>(rounding)];
    static constexpr int cut_bits = definition.cut_bits;
    static constexpr bool truncates = definition.ties == Ties::cut;
    static constexpr bool ties_to_even = definition.ties == Ties::even;
    static constexpr std::uint32_t addend = truncates ? 0 : (1U << (cut_bits - 1)) - (ties_to_even ? 1 : 0);
    static constexpr std::uint32_t kept = ~((1U << cut_bits) - 1);
};
constexpr std::uint32_t magnitude = 0x7fffffff;
constexpr std::uint32_t infinity = 0x7f800000;
constexpr std::uint32_t mantissa = 0x007fffff;
constexpr int mantissa_bits = 23;

/// The range of a format: that of float32, unless a specialisation says otherwise.
struct Range {
    int lowest_exponent = -126;  ///< of normal numbers; smaller numbers have the unit of numbers of this exponent
    float largest = 0;           ///< largest finite number; 0: that of float32
    std::uint32_t beyond = infinity;  ///< bits of the magnitude that replaces larger ones

    constexpr bool is_narrow() const { return largest != 0; }
};
template <OperandRounding rounding>
constexpr Range range{};
template <>
constexpr Range range<OperandRounding::fp16_even>{-14, 65504, infinity};
// OCP's "8-bit floating point specification (OFP8)", with saturation, as the only conversion of PTX does it
// (`cvt.rn.satfinite`): numbers beyond the largest one, and infinity, become the largest one.
template <>
constexpr Range range<OperandRounding::e4m3_even>{-6, 448, std::bit_cast<std::uint32_t>(448.0F)};
template <>
constexpr Range range<OperandRounding::e5m2_even>{-14, 57344, std::bit_cast<std::uint32_t>(57344.0F)};

template <OperandRounding rounding>
void round_plain(const float* from, float* to, std::size_t count) {
    using F = Format<rounding>;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(from[i]);
        const std::uint32_t last_kept = F::ties_to_even ? (bits >> F::cut_bits) & 1 : 0;
        const std::uint32_t rounded = (bits + F::addend + last_kept) & F::kept;
        to[i] = std::bit_cast<float>((bits & magnitude) > infinity ? bits : rounded);
    }
}

#if defined(__x86_64__)

template <OperandRounding rounding>
__attribute__((target("avx2"))) inline __m256i rounded(__m256i bits) {
    using F = Format<rounding>;
    __m256i addend = _mm256_set1_epi32(static_cast<int>(F::addend));
    if constexpr (F::ties_to_even) {
        const __m256i last_kept = _mm256_and_si256(_mm256_srli_epi32(bits, F::cut_bits), _mm256_set1_epi32(1));
        addend = _mm256_add_epi32(addend, last_kept);
    }
    const __m256i sum = _mm256_add_epi32(bits, addend);
    const __m256i result = _mm256_and_si256(sum, _mm256_set1_epi32(static_cast<int>(F::kept)));
    const __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(magnitude)));
    const __m256i is_nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(static_cast<int>(infinity)));
    return _mm256_blendv_epi8(result, bits, is_nan);
}

template <OperandRounding rounding>
__attribute__((target("avx2"))) void round_avx2(const float* from, float* to, std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), rounded<rounding>(bits));
    }
    round_plain<rounding>(from + i, to + i, count - i);
}

template <OperandRounding rounding>
__attribute__((target("avx512f"))) inline __m512i rounded(__m512i bits) {
    using F = Format<rounding>;
    __m512i addend = _mm512_set1_epi32(static_cast<int>(F::addend));
    if constexpr (F::ties_to_even) {
        // A mask with all lanes set: gcc 12 warns about an uninitialised operand in its own unmasked shift.
        const __m512i shifted = _mm512_maskz_srli_epi32(0xffff, bits, F::cut_bits);
        const __m512i last_kept = _mm512_and_si512(shifted, _mm512_set1_epi32(1));
        addend = _mm512_add_epi32(addend, last_kept);
    }
    const __m512i sum = _mm512_add_epi32(bits, addend);
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(magnitude)));
    const __mmask16 is_number = _mm512_cmple_epi32_mask(size, _mm512_set1_epi32(static_cast<int>(infinity)));
    return _mm512_mask_and_epi32(bits, is_number, sum, _mm512_set1_epi32(static_cast<int>(F::kept)));
}

template <OperandRounding rounding>
__attribute__((target("avx512f"))) void round_avx512(const float* from, float* to, std::size_t count) {
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) _mm512_storeu_si512(to + i, rounded<rounding>(_mm512_loadu_si512(from + i)));
    // A masked load does not touch the elements that are masked out, even if their page does not exist.
    const auto rest = static_cast<__mmask16>((1U << (count - i)) - 1);
    if (rest != 0)
        _mm512_mask_storeu_epi32(to + i, rest, rounded<rounding>(_mm512_maskz_loadu_epi32(rest, from + i)));
}

#elif defined(__aarch64__)

template <OperandRounding rounding>
void round_neon(const float* from, float* to, std::size_t count) {
    using F = Format<rounding>;
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(from + i));
        uint32x4_t addend = vdupq_n_u32(F::addend);
        if constexpr (F::ties_to_even)
            addend = vaddq_u32(addend, vandq_u32(vshrq_n_u32(bits, F::cut_bits), vdupq_n_u32(1)));
        const uint32x4_t result = vandq_u32(vaddq_u32(bits, addend), vdupq_n_u32(F::kept));
        const uint32x4_t is_nan = vcgtq_u32(vandq_u32(bits, vdupq_n_u32(magnitude)), vdupq_n_u32(infinity));
        vst1q_f32(to + i, vreinterpretq_f32_u32(vbslq_u32(is_nan, bits, result)));
    }
    round_plain<rounding>(from + i, to + i, count - i);
}

#endif

/// Returns the magnitude of a number, rounded to a format of any range. The number is not NaN. `addend(cut, bits)`
/// returns the number to add before the lowest `cut` of these bits are cut off.
template <OperandRounding rounding, class Addend>
std::uint32_t rounded_size(std::uint32_t size, const Addend& addend) {
    using F = Format<rounding>;
    constexpr Range r = range<rounding>;
    std::uint32_t rounded = (size + static_cast<std::uint32_t>(addend(F::cut_bits, size))) & F::kept;
    if constexpr (!r.is_narrow()) return rounded;
    constexpr std::uint32_t exponent_bias = 127;
    constexpr auto lowest = static_cast<std::uint32_t>(r.lowest_exponent) + exponent_bias;
    if (size >> mantissa_bits < lowest) {
        // A subnormal number is a whole number of units: all bits below the unit are cut off. A float has 24 bits, so
        // beyond 60 it makes no difference how many are cut.
        constexpr std::uint32_t most_cut = 60;
        const std::uint32_t exponent = std::max(size >> mantissa_bits, 1U);
        const std::uint32_t significand = (size & mantissa) | (size > mantissa ? mantissa + 1 : 0);
        const std::uint32_t cut = std::min<std::uint32_t>(F::cut_bits + lowest - exponent, most_cut);
        const std::uint64_t units = (significand + addend(cut, significand)) >> cut;
        constexpr std::uint32_t unit =
            lowest - (mantissa_bits - F::cut_bits);  // its exponent; both are normal floats
        rounded = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(units)) *
                                               std::bit_cast<float>(unit << mantissa_bits));
    }
    return rounded > std::bit_cast<std::uint32_t>(r.largest) ? r.beyond : rounded;
}

template <OperandRounding rounding, class Addend>
float rounded_number(float number, const Addend& addend) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t size = bits & magnitude;
    if (size > infinity) return number;
    return std::bit_cast<float>(rounded_size<rounding>(size, addend) | (bits & ~magnitude));
}

template <OperandRounding rounding>
void round_narrow(const float* from, float* to, std::size_t count) {
    static_assert(Format<rounding>::ties_to_even);
    const auto half = [](std::uint32_t cut, std::uint64_t bits) {
        return (std::uint64_t{1} << (cut - 1)) - 1 + (bits >> cut & 1);
    };
    for (std::size_t i = 0; i < count; ++i) to[i] = rounded_number<rounding>(from[i], half);
}

/// Rounds each number up or down at random; the nearer neighbour is the likelier, so that the mean is the number. The
/// random bits are a hash of the seed and the magnitude: equal numbers are rounded equally, wherever they stand and
/// whichever thread rounds them, as by any other rounding.
template <OperandRounding rounding>
void round_at_random(const float* from, float* to, std::size_t count, std::uint64_t seed) {
    const std::uint64_t start = system::random_number(seed + system::golden_ratio);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t size = std::bit_cast<std::uint32_t>(from[i]) & magnitude;
        const std::uint64_t random = system::random_number(start + size * system::golden_ratio);
        if constexpr (rounding == OperandRounding::fp32_perturbed) {
            const bool stays = size == 0 || size >= infinity;
            // One unit down, none, or one up, but never to infinity.
            const std::uint64_t moved = stays ? size : std::min<std::uint64_t>(size + random % 3 - 1, infinity - 1);
            to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(moved) |
                                         (std::bit_cast<std::uint32_t>(from[i]) & ~magnitude));
            continue;
        }
        to[i] = rounded_number<rounding>(
            from[i], [random](std::uint32_t cut, std::uint64_t) { return random & ((std::uint64_t{1} << cut) - 1); });
    }
}

template <OperandRounding rounding>
RoundingLoop kernel_for(InstructionSet set) {
    if constexpr (range<rounding>.is_narrow()) return set == InstructionSet::plain ? round_narrow<rounding> : nullptr;
    switch (set) {
        case InstructionSet::plain:
            return round_plain<rounding>;
#if defined(__x86_64__)
        case InstructionSet::avx2:
            return has_avx2() ? round_avx2<rounding> : nullptr;
        case InstructionSet::avx512:
            return has_avx512() ? round_avx512<rounding> : nullptr;
#elif defined(__aarch64__)
        case InstructionSet::neon:
            return round_neon<rounding>;
#endif
        default:
            return nullptr;
    }
}

}  // namespace

RoundingLoop rounding_kernel(OperandRounding rounding, InstructionSet set) {
    constexpr RoundingLoop (*kernels[])(InstructionSet) = {
#define ROUNDING(name, ...) kernel_for<OperandRounding::name>,
#include "policy/formats.def"
    };
    return kernels[static_cast<std::size_t>(rounding)](set);
}

RoundingLoop best_rounding_kernel(OperandRounding rounding) {
    for (const InstructionSet set : instruction_sets)
        if (const RoundingLoop kernel = rounding_kernel(rounding, set)) return kernel;
    return nullptr;  // not reached: `plain` is always there
}

RoundingKernel stochastic_kernel(OperandRounding rounding, std::uint64_t seed) {
    constexpr SeededLoop loops[] = {
#define ROUNDING(name, ...) round_at_random<OperandRounding::name>,
#include "policy/formats.def"
    };
    return {loops[static_cast<std::size_t>(rounding)], seed};
}

Significand significand_of(OperandRounding rounding) {
    constexpr Significand significands[] = {
#define ROUNDING(name, cut_bits, ...) {mantissa_bits - (cut_bits), range<OperandRounding::name>.lowest_exponent},
#include "policy/formats.def"
    };
    return significands[static_cast<std::size_t>(rounding)];
}

void round_operand(const float* from, float* to, std::size_t count, OperandRounding rounding) {
    best_rounding_kernel(rounding)(from, to, count);
}

}  // namespace fp32shim::blas
