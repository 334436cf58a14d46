// Tests products in a fixed order under the settings of the processor that a program may choose: a rounding mode, and
// subnormal numbers that are taken for zero, or become zero.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emulate_cases.hpp"
#include "fixed_order_cases.hpp"
#include "float_settings.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;

float of_bits(std::uint_fast32_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// Makes some numbers subnormal, some zeros of either sign, and some so small that their products are subnormal.
void make_small(std::vector<float>& numbers, std::mt19937& random, int exponent) {
    for (float& number : numbers) {
        if (std::isnan(number)) continue;  // is not read
        const auto kind = random() % 8;
        if (kind == 0) number = 0;
        if (kind == 1) number = -0.0F;
        if (kind == 2) number = of_bits(random() % (1U << 23) | (random() & 1U) << 31);
        if (kind > 2) number = std::ldexp(number, exponent + static_cast<int>(random() % 6));
    }
}

class EveryOperationUnderFloatSettings : public EveryOperation {
  protected:
    /// Checks cases with numbers whose products are around the smallest normal number.
    void check_cases(std::array<float, 2> alpha, std::array<float, 2> beta) {
        std::mt19937 random(7);
        // Only some of the cases, since each runs under many settings.
        for_some_cases(11, 35, 26, is_complex() ? 130 : 258, [&](const Case& original) {
            Case test_case = original;
            test_case.alpha = alpha;
            test_case.beta = beta;
            make_small(test_case.a, random, -66);
            make_small(test_case.b, random, -66);
            make_small(test_case.c, random, -130);
            for (const FloatSettings settings : all_float_settings()) {
                SCOPED_TRACE(test_case.description() + ' ' + settings.name());
                const WithFloatSettings in_force(settings);
                const After expected = after(test_case, instruction_sets_here().front());
                for (const InstructionSet by : other_instruction_sets())
                    ASSERT_TRUE(after(test_case, by) == expected) << static_cast<int>(by);
            }
        });
    }
};

TEST_P(EveryOperationUnderFloatSettings, HasTheSameBitsByEveryInstructionSetWhereCIsKept) {
    check_cases({1, 0}, {1, 0});
}
TEST_P(EveryOperationUnderFloatSettings, HasTheSameBitsByEveryInstructionSetWhereCIsScaled) {
    check_cases({-1, 0}, {0.5F, 0});
}
TEST_P(EveryOperationUnderFloatSettings, HasTheSameBitsByEveryInstructionSetWhereCIsOverwritten) {
    check_cases({0.75F, 0}, {0, 0});
}
TEST_P(EveryOperationUnderFloatSettings, HasTheSameBitsByEveryInstructionSetWhereNothingIsMultiplied) {
    check_cases({0, 0}, {-1, 0});
}

INSTANTIATE_TEST_SUITE_P(Real, EveryOperationUnderFloatSettings, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, EveryOperationUnderFloatSettings, complex_operations, name_of);

// A triangle beside an infinity is summed up element by element, in plain code.
TEST(FloatSettings, AnElementThatIsSummedUpByItselfHasTheBitsOfATile) {
    constexpr std::int64_t m = 40;
    std::mt19937 random(5);
    std::vector<float> a(m * m);
    std::vector<float> columns(2 * m);
    for (float& number : a) number = static_cast<float>(random() % 100'000) * 0x1p-17F - 0.375F;
    for (float& number : columns) number = static_cast<float>(random() % 100'000) * 0x1p-80F;
    const float alpha = 0.75F;
    for (const FloatSettings settings : all_float_settings()) {
        SCOPED_TRACE(settings.name());
        const auto product_of = [&](std::vector<float> b) {
            blas::Level3 product{blas::Operation::trmm, false, false, 'L', 'L', 'N', 0, 'N', m, 2};
            product.alpha = &alpha;
            product.a = a.data();
            product.lda = m;
            product.b = b.data();
            product.ldb = m;
            const WithFloatSettings in_force(settings);
            EXPECT_TRUE(multiply_in_fixed_order(product, instruction_sets_here().back()));
            return b;
        };
        const std::vector<float> expected = product_of(columns);
        std::vector<float> with_infinity = columns;
        with_infinity[m] = INFINITY;  // in the second column
        const std::vector<float> found = product_of(with_infinity);
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), m * sizeof(float)), 0);
    }
}

TEST(FloatSettings, APlainFusedMultiplyAddIsThatOfTheProcessor) {
#if defined(__x86_64__)
    if (!system::may_use(system::CpuFeature::fma)) GTEST_SKIP() << "this processor has no fused multiply-adds";
#endif
    std::mt19937 random(13);
    const float special[] = {0.0F, -0.0F, 1.0F, -1.0F, 0x1p-149F, -0x1.fp-128F, 0x1p-126F, 0x1.fffffep127F, INFINITY};
    const auto number = [&] {
        if (random() % 12 == 0) return special[random() % std::size(special)];
        const float fraction = of_bits(random() % (1U << 23) | 0x3f800000U | (random() & 1U) << 31);
        return std::ldexp(fraction, static_cast<int>(random() % 150) - 80);
    };
    for (const FloatSettings settings : all_float_settings()) {
        SCOPED_TRACE(settings.name());
        for (int i = 0; i < 60'000; ++i) {
            const float a = number();
            const float b = number();
            const float near = -a * b * (1 + static_cast<float>(random() % 5) * 0x1p-23F);
            const float c = i % 3 == 0   ? near
                            : i % 3 == 1 ? std::ldexp(a * b, static_cast<int>(random() % 60) - 30)
                                         : number();
            const WithFloatSettings in_force(settings);
            const float found = blas::fused_multiply_add_plain(a, b, c);
            const float expected = fused_by_the_processor(a, b, c);
            if (std::isnan(expected))
                ASSERT_TRUE(std::isnan(found)) << a << ' ' << b << ' ' << c;
            else
                ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
                    << std::hexfloat << a << ' ' << b << ' ' << c;
        }
    }
}

// A thread of a product has the settings of the thread that called it.
TEST(FloatSettings, HoldInEveryThreadOfAProduct) {
    Case test_case = plain_gemm(400, 400, 400);
    for (const FloatSettings settings : all_float_settings()) {
        SCOPED_TRACE(settings.name());
        const WithFloatSettings in_force(settings);
        EXPECT_TRUE(after(test_case, three_threads) == after(test_case, blas::one_thread));
    }
}

}  // namespace
}  // namespace fp32shim::tests
