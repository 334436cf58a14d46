#include "shim/blas/emulate/rounding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "system/hash.hpp"

namespace fp32shim::blas {
namespace {

// Rounding is integer arithmetic on the bits of a float. So the program's rounding mode, flush-to-zero setting and
// trapped floating-point exceptions do not affect the rounding, and the rounding does not affect them:
//
//   sign eeeeeeee mmmmmmmmmm|mmmmmmmmmmmmm     TF32 keeps the bits left of the bar (BF16: 16 bits in all)
//
// To round, the loops add half of the last kept bit and cut the rest off. A carry moves into the exponent, and from
// the largest exponent to infinity, which is then the correctly rounded result. To round ties to even, the loops add
// one less than half, plus the last kept bit itself. To truncate, they add nothing. Only NaN has to be left out: a
// carry would make it a zero, and cutting would make it an infinity. rounded_size() has further rules for formats
// with a narrower range, such as FP16.
enum class Ties : std::uint8_t { away, even, cut };
struct RoundingDefinition {
    int cut_bits;
    Ties ties;
};
constexpr RoundingDefinition definitions[] = {
#define ROUNDING(name, cut_bits, ties, factors) {cut_bits, Ties::ties},
#include "policy/formats.def"
};

template <OperandRounding rounding>
struct RoundingFormat {
    static constexpr RoundingDefinition definition = definitions[static_cast<std::size_t>(rounding)];
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

/// The range of a format. The default is the range of float32; a specialisation gives the range of another format.
struct FormatRange {
    int lowest_exponent =
        -126;           ///< lowest exponent of normal numbers; smaller numbers have the unit of this exponent
    float largest = 0;  ///< largest finite number; 0 stands for the largest float32
    std::uint32_t beyond = infinity;  ///< the bits of the magnitude that replaces magnitudes beyond `largest`

    constexpr bool is_narrow() const { return largest != 0; }
};
template <OperandRounding rounding>
constexpr FormatRange range{};
template <>
constexpr FormatRange range<OperandRounding::fp16_even>{-14, 65504, infinity};
// The 8-bit formats of OCP's "8-bit floating point specification (OFP8)". Like PTX's only conversion to them
// (`cvt.rn.satfinite`), they saturate: numbers beyond the largest one, and infinity, become the largest one.
template <>
constexpr FormatRange range<OperandRounding::e4m3_even>{-6, 448, std::bit_cast<std::uint32_t>(448.0F)};
template <>
constexpr FormatRange range<OperandRounding::e5m2_even>{-14, 57344, std::bit_cast<std::uint32_t>(57344.0F)};

/// Vectors of `width` words, as unsigned and as signed numbers.
template <std::size_t width>
struct WordVectors {
    using Words [[gnu::vector_size(4 * width)]] = std::uint32_t;
    using Integers [[gnu::vector_size(4 * width)]] = std::int32_t;
};

/// Rounds as many numbers as fill whole vectors of `width` numbers, and returns how many these are.
template <OperandRounding rounding, std::size_t width>
[[gnu::always_inline]] inline std::size_t round_vectors(const float* from, float* to, std::size_t count) {
    using F = RoundingFormat<rounding>;
    using Words = typename WordVectors<width>::Words;
    using Integers = typename WordVectors<width>::Integers;
    std::size_t done = 0;
    for (; done + width <= count; done += width) {
        Words bits;
        std::memcpy(&bits, from + done, sizeof bits);
        Words sum = bits + F::addend;
        if constexpr (F::ties_to_even) sum += bits >> F::cut_bits & 1;
        const auto size = reinterpret_cast<Integers>(bits & magnitude);
        const Words rounded = size > static_cast<std::int32_t>(infinity) ? bits : sum & F::kept;
        std::memcpy(to + done, &rounded, sizeof rounded);
    }
    return done;
}

template <OperandRounding rounding, std::size_t width>
[[gnu::always_inline]] inline void round_by(const float* from, float* to, std::size_t count) {
    std::size_t done = round_vectors<rounding, width>(from, to, count);
    if constexpr (width > 4) done += round_vectors<rounding, 4>(from + done, to + done, count - done);
    round_vectors<rounding, 1>(from + done, to + done, count - done);
}

template <OperandRounding rounding>
void round_plain(const float* from, float* to, std::size_t count) {
    round_by<rounding, 4>(from, to, count);
}

#if defined(__x86_64__)
template <OperandRounding rounding>
__attribute__((target("avx2"))) void round_avx2(const float* from, float* to, std::size_t count) {
    round_by<rounding, 8>(from, to, count);
}
template <OperandRounding rounding>
__attribute__((target("avx512f"))) void round_avx512(const float* from, float* to, std::size_t count) {
    round_by<rounding, 16>(from, to, count);
}
#endif

/// Returns the bits of a magnitude, rounded to a format of any range. `size` has the bits before rounding.
/// `addend(cut, bits)` returns the number that is added to `bits` before the lowest `cut` bits are cut off.
/// Precondition: the magnitude is not NaN.
template <OperandRounding rounding, class Addend>
std::uint32_t rounded_size(std::uint32_t size, const Addend& addend) {
    using F = RoundingFormat<rounding>;
    constexpr FormatRange r = range<rounding>;
    std::uint32_t rounded = (size + static_cast<std::uint32_t>(addend(F::cut_bits, size))) & F::kept;
    if constexpr (!r.is_narrow()) return rounded;
    constexpr std::uint32_t exponent_bias = 127;
    constexpr auto lowest = static_cast<std::uint32_t>(r.lowest_exponent) + exponent_bias;
    if (size >> mantissa_bits < lowest) {
        // A subnormal number is a multiple of the smallest unit, so all bits below this unit are cut off. A
        // significand has 24 bits, so cutting more than 60 bits gives the same result as cutting 60.
        constexpr std::uint32_t most_cut = 60;
        const std::uint32_t exponent = std::max(size >> mantissa_bits, 1U);
        const std::uint32_t significand = (size & mantissa) | (size > mantissa ? mantissa + 1 : 0);
        const std::uint32_t cut = std::min<std::uint32_t>(F::cut_bits + lowest - exponent, most_cut);
        const std::uint64_t units = (significand + addend(cut, significand)) >> cut;
        constexpr std::uint32_t unit =
            lowest - (mantissa_bits - F::cut_bits);  // biased exponent of the smallest unit; as a float, the unit is
                                                     // normal
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
    static_assert(RoundingFormat<rounding>::ties_to_even);
    const auto half = [](std::uint32_t cut, std::uint64_t bits) {
        return (std::uint64_t{1} << (cut - 1)) - 1 + (bits >> cut & 1);
    };
    for (std::size_t i = 0; i < count; ++i) to[i] = rounded_number<rounding>(from[i], half);
}

/// Rounds each number up or down at random. The nearer neighbour is the likelier one, so that the mean of the rounded
/// numbers is the number itself.
template <OperandRounding rounding>
void round_at_random(const float* from, float* to, std::size_t count, RandomStream& stream) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t random = system::splitmix64(stream.start + ++stream.drawn * system::golden_ratio);
        if constexpr (rounding == OperandRounding::fp32_perturbed) {
            const std::uint64_t size = std::bit_cast<std::uint32_t>(from[i]) & magnitude;
            const bool stays = size == 0 || size >= infinity;
            // A number is moved down by one unit, kept, or moved up by one unit, but never becomes infinite.
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
RoundingLoop kernel_for([[maybe_unused]] InstructionSet set) {
    if constexpr (range<rounding>.is_narrow()) return round_narrow<rounding>;
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return round_avx512<rounding>;
    if (set == InstructionSet::avx2) return round_avx2<rounding>;
#endif
    return round_plain<rounding>;
}

constexpr std::size_t elements_at_once = 256;

/// Returns a word with all bits set if the number is finite, otherwise 0.
std::uint32_t finite_mask(float value) {
    return (std::bit_cast<std::uint32_t>(value) & infinity) == infinity ? 0 : ~0U;
}

float masked(float value, std::uint32_t mask) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & mask);
}

/// Writes the part with the index `part` of each number: the rounded number (1), the rounded rest (2), or the rounded
/// rest of the rest (3). The subtractions are exact. Infinities are left out, since subtracting them would raise a
/// floating-point exception. If the program flushes subnormal numbers to zero, subnormal rests become zero.
template <OperandRounding rounding, int part, bool keeps_infinities>
void round_part(const float* from, float* to, std::size_t count) {
    const RoundingLoop kernel = rounding_kernel(rounding);
    for (std::size_t first = 0; first < count; first += elements_at_once) {
        const std::size_t size = std::min(elements_at_once, count - first);
        std::array<float, elements_at_once> rest;
        std::memcpy(rest.data(), from + first, size * sizeof(float));
        std::array<float, elements_at_once> rounded;
        for (int i = 1; i < part; ++i) {
            kernel(rest.data(), rounded.data(), size);
            for (std::size_t j = 0; j < size; ++j) {
                const std::uint32_t mask = finite_mask(rounded[j]);
                rest[j] = masked(rest[j], mask) - masked(rounded[j], mask);
            }
        }
        kernel(rest.data(), rounded.data(), size);
        for (std::size_t j = 0; j < size; ++j)
            to[first + j] = keeps_infinities ? rounded[j] : masked(rounded[j], finite_mask(rounded[j]));
    }
}

template <OperandRounding rounding, int part_of_a, int part_of_b>
constexpr RoundedProduct product_of_parts() {
    constexpr bool is_largest = part_of_a == 1 && part_of_b == 1;
    return {round_part<rounding, part_of_a, is_largest>, round_part<rounding, part_of_b, is_largest>, part_of_a == 1};
}

/// All products of three parts, the smallest first. A format with fewer products uses the last ones of this list. Six
/// products have parts i and j with i + j <= 4; three products have parts with i + j <= 3.
template <OperandRounding rounding>
constexpr std::array<RoundedProduct, 9> all_products{
    product_of_parts<rounding, 3, 3>(), product_of_parts<rounding, 3, 2>(), product_of_parts<rounding, 2, 3>(),
    product_of_parts<rounding, 3, 1>(), product_of_parts<rounding, 2, 2>(), product_of_parts<rounding, 1, 3>(),
    product_of_parts<rounding, 2, 1>(), product_of_parts<rounding, 1, 2>(), product_of_parts<rounding, 1, 1>()};

constexpr std::span<const RoundedProduct> products_of_roundings[] = {
#define ROUNDING(name, ...) all_products<OperandRounding::name>,
#include "policy/formats.def"
};

}  // namespace

RoundingLoop rounding_kernel(OperandRounding rounding, InstructionSet set) {
    constexpr RoundingLoop (*kernels[])(InstructionSet) = {
#define ROUNDING(name, ...) kernel_for<OperandRounding::name>,
#include "policy/formats.def"
    };
    return kernels[static_cast<std::size_t>(rounding)](set);
}

RandomStream random_stream(std::uint64_t seed, const Level3& product) {
    system::Hash hash;
    hash.add(seed).add(hash_of(operand_a(product), part_of_a(product)));
    const Matrix b = operand_b(product);
    if (b.data != nullptr) hash.add(hash_of(b, Part::whole));
    return {hash.value()};
}

RoundingKernel stochastic_kernel(OperandRounding rounding, RandomStream& random) {
    constexpr RandomLoop loops[] = {
#define ROUNDING(name, ...) round_at_random<OperandRounding::name>,
#include "policy/formats.def"
    };
    return {loops[static_cast<std::size_t>(rounding)], random};
}

NumberFormat number_format_of(OperandRounding rounding) {
    constexpr NumberFormat significands[] = {
#define ROUNDING(name, cut_bits, ...) {mantissa_bits - (cut_bits), range<OperandRounding::name>.lowest_exponent},
#include "policy/formats.def"
    };
    return significands[static_cast<std::size_t>(rounding)];
}

std::span<const RoundedProduct> products_of_parts(Preview preview) {
    if (preview.products == 1) return {};
    return products_of_roundings[static_cast<std::size_t>(preview.rounding)].last(
        static_cast<std::size_t>(preview.products));
}

}  // namespace fp32shim::blas
