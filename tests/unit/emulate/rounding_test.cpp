#include "shim/blas/emulate/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fp32shim::blas {
namespace {

constexpr OperandRounding roundings[] = {
#define ROUNDING(name, ...) OperandRounding::name,
#include "policy/formats.def"
};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

float rounded(float value, OperandRounding rounding) {
    rounding_kernel(rounding)(&value, &value, 1);
    return value;
}

/// The numbers of a format: bits behind the point, the lowest exponent of a normal number, and the largest number. A
/// format that does not saturate goes to infinity.
struct Numbers {
    int kept_bits = 10;
    int lowest_exponent = -126;
    double largest = FLT_MAX;
    bool saturates = false;
};
Numbers numbers_of(OperandRounding rounding) {
    switch (rounding) {
        case OperandRounding::bf16_even:
            return {.kept_bits = 7};
        case OperandRounding::fp32_whole:
        case OperandRounding::fp32_perturbed:  // the tests of stochastic rounding have its random form
            return {.kept_bits = 23};
        case OperandRounding::fp16_even:
            return {10, -14, 65504};
        case OperandRounding::e4m3_even:
            return {3, -6, 448, true};
        case OperandRounding::e5m2_even:
            return {2, -14, 57344, true};
        default:
            return {};
    }
}

double to_integer(double units, OperandRounding rounding) {
    if (rounding == OperandRounding::tf32_truncate) return std::trunc(units);
    return rounding == OperandRounding::tf32_away ? std::round(units) : std::nearbyint(units);
}

/// Rounds by the definition, in arithmetic: to the nearest multiple of the format's unit at this magnitude, or to the
/// next multiple towards zero.
float defined(float value, OperandRounding rounding) {
    const Numbers numbers = numbers_of(rounding);
    const float beyond =
        numbers.saturates ? static_cast<float>(numbers.largest) : std::numeric_limits<float>::infinity();
    if (std::isinf(value)) return std::copysign(beyond, value);
    if (std::isnan(value) || value == 0) return value;
    const double unit = std::ldexp(1.0, std::max(std::ilogb(value), numbers.lowest_exponent) - numbers.kept_bits);
    const double nearest = to_integer(value / unit, rounding) * unit;
    if (std::fabs(nearest) > numbers.largest) return std::copysign(beyond, value);
    return std::copysign(static_cast<float>(nearest), value);
}

/// Returns some of all bit patterns. `low`: value of the low bits, which the loop does not vary.
std::vector<float> patterns(std::uint32_t first, std::uint32_t count, int shift, std::uint32_t low) {
    std::vector<float> result(count);
    for (std::uint32_t i = 0; i < count; ++i) result[i] = from_bits(((first + i) << shift) | low);
    return result;
}

std::string difference(const std::vector<float>& from, const std::vector<float>& expected,
                       const std::vector<float>& got) {
    for (std::size_t i = 0; i < from.size(); ++i)
        if (bits_of(expected[i]) != bits_of(got[i]))
            return "pattern " + std::to_string(bits_of(from[i])) + " gives " + std::to_string(bits_of(got[i])) +
                   " instead of " + std::to_string(bits_of(expected[i]));
    return {};
}

TEST(Rounding, KeepsTenMantissaBitsForTf32AndSevenForBf16) {
    EXPECT_EQ(rounded(1.0F + 0x1p-10F, OperandRounding::tf32_away), 1.0F + 0x1p-10F);
    EXPECT_EQ(rounded(1.0F + 0x1p-12F, OperandRounding::tf32_away), 1.0F);
    EXPECT_EQ(rounded(1.0F + 0x1p-7F, OperandRounding::bf16_even), 1.0F + 0x1p-7F);
    EXPECT_EQ(rounded(1.0F + 0x1p-9F, OperandRounding::bf16_even), 1.0F);
}

TEST(Rounding, SendsTiesAwayFromZeroOrToTheEvenNeighbour) {
    const float low_tie = 1.0F + 0x1p-11F;
    const float high_tie = 1.0F + 3 * 0x1p-11F;
    EXPECT_EQ(rounded(low_tie, OperandRounding::tf32_away), 1.0F + 0x1p-10F);
    EXPECT_EQ(rounded(-low_tie, OperandRounding::tf32_away), -1.0F - 0x1p-10F);
    EXPECT_EQ(rounded(low_tie, OperandRounding::tf32_even), 1.0F);
    EXPECT_EQ(rounded(high_tie, OperandRounding::tf32_away), 1.0F + 0x1p-9F);
    EXPECT_EQ(rounded(high_tie, OperandRounding::tf32_even), 1.0F + 0x1p-9F);
    EXPECT_EQ(rounded(1.0F + 0x1p-8F, OperandRounding::bf16_even), 1.0F);
    EXPECT_EQ(rounded(1.0F + 3 * 0x1p-8F, OperandRounding::bf16_even), 1.0F + 0x1p-6F);
}

TEST(Rounding, TruncatesTowardsZeroAndNeverToInfinity) {
    const float almost = 1.0F + 0x1p-10F - 0x1p-23F;
    EXPECT_EQ(rounded(almost, OperandRounding::tf32_truncate), 1.0F);
    EXPECT_EQ(rounded(-almost, OperandRounding::tf32_truncate), -1.0F);
    EXPECT_EQ(rounded(FLT_MAX, OperandRounding::tf32_away), std::numeric_limits<float>::infinity());
    EXPECT_EQ(rounded(FLT_MAX, OperandRounding::tf32_truncate), std::ldexp(2047.0F, 117));
    const float nan = from_bits(0x7f800001);  // the bits that make it a NaN would be cut off
    EXPECT_EQ(bits_of(rounded(nan, OperandRounding::tf32_truncate)), bits_of(nan));
}

TEST(Rounding, KeepsNanInfinityAndSignedZeroAndOverflowsToInfinityButWhereItTruncates) {
    for (const OperandRounding rounding : roundings) {
        for (const std::uint32_t nan : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU})
            EXPECT_TRUE(std::isnan(rounded(from_bits(nan), rounding)));
        if (numbers_of(rounding).saturates) continue;
        EXPECT_EQ(bits_of(rounded(from_bits(0x7f800000), rounding)), 0x7f800000U);
        EXPECT_EQ(bits_of(rounded(from_bits(0xff800000), rounding)), 0xff800000U);
        EXPECT_EQ(bits_of(rounded(0.0F, rounding)), 0U);
        EXPECT_EQ(bits_of(rounded(-0.0F, rounding)), 0x80000000U);
        const std::uint32_t largest = rounding == OperandRounding::tf32_truncate ? 0x7f7fe000U
                                      : numbers_of(rounding).kept_bits == 23     ? 0x7f7fffffU
                                                                                 : 0x7f800000U;
        EXPECT_EQ(bits_of(rounded(FLT_MAX, rounding)), largest);
        EXPECT_EQ(bits_of(rounded(-FLT_MAX, rounding)), largest | 0x80000000U);
    }
}

TEST(Rounding, HasSubnormalNumbersInNarrowFormats) {
    EXPECT_EQ(rounded(0x1p-24F, OperandRounding::fp16_even), 0x1p-24F);
    EXPECT_EQ(rounded(0x1p-25F, OperandRounding::fp16_even), 0.0F);
    EXPECT_EQ(rounded(0x1.8p-24F, OperandRounding::fp16_even), 0x1p-23F);
    EXPECT_EQ(rounded(0x1p-9F, OperandRounding::e4m3_even), 0x1p-9F);
    EXPECT_EQ(rounded(-0x1p-10F, OperandRounding::e4m3_even), -0.0F);
    EXPECT_EQ(rounded(0x1p-16F, OperandRounding::e5m2_even), 0x1p-16F);
}

TEST(Rounding, OverflowsToInfinityInFp16AndSaturatesInFormatsOf8Bits) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(rounded(65519.0F, OperandRounding::fp16_even), 65504.0F);
    EXPECT_EQ(rounded(65520.0F, OperandRounding::fp16_even), infinity);
    for (const float large : {464.0F, 1000.0F, FLT_MAX, infinity}) {
        EXPECT_EQ(rounded(large, OperandRounding::e4m3_even), 448.0F);
        EXPECT_EQ(rounded(-large, OperandRounding::e4m3_even), -448.0F);
    }
    EXPECT_EQ(rounded(infinity, OperandRounding::e5m2_even), 57344.0F);
}

TEST(Rounding, IsTheNearestMultipleOfTheFormatsUnit) {
    for (const std::uint32_t low : {0U, 0x001U, 0x3ffU}) {
        const std::vector<float> from = patterns(0, 1U << 22, 10, low);
        for (const OperandRounding rounding : roundings) {
            std::vector<float> expected(from.size());
            for (std::size_t i = 0; i < from.size(); ++i) expected[i] = defined(from[i], rounding);
            std::vector<float> got(from.size());
            rounding_kernel(rounding)(from.data(), got.data(), from.size());
            EXPECT_EQ(difference(from, expected, got), "");
        }
    }
}

TEST(Rounding, IsBitwiseTheSameOnEveryInstructionSet) {
    constexpr std::uint32_t chunk = 1U << 18;
    std::vector<float> expected(chunk);
    std::vector<float> got(chunk);
    for (std::uint32_t first = 0; first < 1U << 24; first += chunk) {
        // The low bits differ from chunk to chunk: ties, just below, just above and in between.
        const std::uint32_t lows[] = {0x00, 0xff, 0x01, 0x80};
        const std::vector<float> from = patterns(first, chunk, 8, lows[first / chunk % 4]);
        for (const OperandRounding rounding : roundings) {
            rounding_kernel(rounding, InstructionSet::plain)(from.data(), expected.data(), chunk);
            for (const InstructionSet set : instruction_sets) {
                if (!is_available(set)) continue;
                rounding_kernel(rounding, set)(from.data(), got.data(), chunk);
                ASSERT_EQ(difference(from, expected, got), "");
            }
        }
    }
}

TEST(Rounding, WritesExactlyTheGivenCountAtAnyAlignmentAlsoInPlace) {
    constexpr float untouched = 1.2345678F;
    for (const InstructionSet set : instruction_sets) {
        if (!is_available(set)) continue;
        const RoundingLoop kernel = rounding_kernel(OperandRounding::tf32_away, set);
        for (std::size_t offset = 0; offset < 17; ++offset) {
            for (std::size_t count = 0; count < 70; ++count) {
                std::vector<float> values(100, untouched);
                kernel(values.data() + offset, values.data() + offset, count);
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const bool inside = i >= offset && i < offset + count;
                    ASSERT_EQ(values[i], inside ? defined(untouched, OperandRounding::tf32_away) : untouched);
                }
            }
        }
    }
}

}  // namespace
}  // namespace fp32shim::blas
