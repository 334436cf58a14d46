// Tests products in a fixed order: right for every operation, and the same bits by every instruction set and number
// of threads.
#include "shim/blas/multiply/multiply.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "emulate_cases.hpp"
#include "fixed_order_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::multiply_in_fixed_order;

// Terms are up to 4096 in size, and may cancel.
constexpr float near = 3e-3F;

class EveryOperationInAFixedOrder : public EveryOperation {};

TEST_P(EveryOperationInAFixedOrder, IsTheProductAndTouchesNothingElse) {
    const auto check = [](const Case& test_case) {
        SCOPED_TRACE(test_case.description());
        Placed expected = place(test_case);
        naive_level3(expected.product);
        Placed placed = place(test_case);
        ASSERT_TRUE(multiply_in_fixed_order(placed.product, blas::one_thread));
        EXPECT_TRUE(placed.a.has_the_bits_of(test_case.a)) << "A was changed";
        const std::vector<float> b(expected.b.data(), expected.b.data() + test_case.b.size());
        const std::vector<float> c(expected.c.data(), expected.c.data() + test_case.c.size());
        EXPECT_TRUE(placed.b.is_near(b, near)) << "B is not as expected";
        EXPECT_TRUE(placed.c.is_near(c, near)) << "C is not as expected";
    };
    for_cases(5, 19, 18, check);
    for_cases(50, 37, 9, check);                                          // several tiles of each instruction set
    for_cases(34, 3, 300, check);                                         // several blocks of the sum
    if (operation() != blas::Operation::trmm) for_cases(0, 4, 5, check);  // the naive one needs an element
    for_cases(4, 5, 0, check);
}

TEST_P(EveryOperationInAFixedOrder, HasTheSameBitsByEveryInstructionSet) {
    // A complex number counts as two in the sum: both cross the end of a block.
    for_some_cases(1, 70, 41, is_complex() ? 135 : 270, [](const Case& test_case) {
        SCOPED_TRACE(test_case.description());
        const After expected = after(test_case, instruction_sets_here().front());
        for (const InstructionSet by : other_instruction_sets()) EXPECT_TRUE(after(test_case, by) == expected);
    });
}

TEST_P(EveryOperationInAFixedOrder, HasTheSameBitsOnThreeThreads) {
    // Large enough for two threads, so only some of the cases are tried.
    const std::int64_t size = is_complex() ? 260 : 400;
    for_some_cases(13, size, size + 10, size - 10, [](const Case& test_case) {
        SCOPED_TRACE(test_case.description());
        EXPECT_TRUE(after(test_case, three_threads) == after(test_case, blas::one_thread));
    });
}

TEST_P(EveryOperationInAFixedOrder, HasNaNAndInfinityWhereTheDefinitionHasThem) {
    if (operation() == blas::Operation::trmm) return;  // the naive routine multiplies by the zeros of a triangle
    for_some_cases(1, 33, 35, 270, [](const Case& original) {
        Case test_case = original;
        std::vector<float>& operand = test_case.b.empty() ? test_case.a : test_case.b;
        operand[operand.size() / 2] = std::numeric_limits<float>::infinity();
        SCOPED_TRACE(test_case.description());
        Placed expected = place(test_case);
        naive_level3(expected.product);
        for (const InstructionSet by : instruction_sets_here()) {
            const After result = after(test_case, by);
            for (std::size_t i = 0; i < result.c.size(); ++i)
                ASSERT_EQ(std::isfinite(result.c[i]), std::isfinite(expected.c.data()[i])) << i;
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Real, EveryOperationInAFixedOrder, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, EveryOperationInAFixedOrder, complex_operations, name_of);

TEST(FixedOrder, IsThatOfTheDefinition) {
    for (const std::int64_t k : {1, 7, 32, 33, 256, 257, 700}) {
        Case test_case = plain_gemm(45, 31, k);
        test_case.alpha = {1.25F, 0};
        const After result = after(test_case, blas::one_thread);
        for (std::int64_t i = 0; i < 45; ++i)
            for (std::int64_t j = 0; j < 31; ++j) {
                float c = 0;
                for (std::int64_t first = 0; first < k; first += blas::summed_at_once) {
                    const std::int64_t end = std::min(first + blas::summed_at_once, k);
                    float sum = 0;
                    for (std::int64_t begin = first; begin < end; begin += blas::summed_in_chain) {
                        float part = 0;
                        for (std::int64_t p = begin; p < std::min(begin + blas::summed_in_chain, end); ++p)
                            part = std::fma(test_case.a[static_cast<std::size_t>(i + p * 45)],
                                            test_case.b[static_cast<std::size_t>(p + j * k)], part);
                        sum += part;
                    }
                    c = std::fma(1.25F, sum, c);
                }
                ASSERT_EQ(result.c[static_cast<std::size_t>(i + j * 45)], c) << k << ' ' << i << ' ' << j;
            }
    }
}

TEST(FixedOrder, APlainFusedMultiplyAddIsThatOfTheProcessorForNumbersOfAllSizes) {
    std::mt19937 random(11);
    std::uniform_int_distribution<int> exponent(-149, 127);
    std::uniform_real_distribution<float> fraction(-2, 2);
    const float special[] = {0.0F, -0.0F, 1.0F, 0x1p-149F, 0x1.fffffep127F, std::numeric_limits<float>::infinity()};
    const auto number = [&](int size) {
        return random() % 16 == 0 ? special[random() % std::size(special)] : std::ldexp(fraction(random), size);
    };
    for (int i = 0; i < 400'000; ++i) {
        const int size = exponent(random);
        const float a = number(size);
        const float b = number(exponent(random));
        // Sums that nearly cancel, and ties, are the difficult ones.
        const float c = i % 3 == 0   ? -a * b * (1 + static_cast<float>(random() % 5) * 0x1p-23F)
                        : i % 3 == 1 ? std::ldexp(a * b, static_cast<int>(random() % 60) - 30)
                                     : number(exponent(random));
        const float expected = std::fma(a, b, c);
        const float found = blas::fused_multiply_add_plain(a, b, c);
        if (std::isnan(expected))
            ASSERT_TRUE(std::isnan(found)) << a << ' ' << b << ' ' << c;
        else
            ASSERT_EQ(std::memcmp(&found, &expected, sizeof(float)), 0) << a << ' ' << b << ' ' << c;
    }
}

// An infinity is neither in the sums of rows that do not read it, nor is zero times it.
TEST(FixedOrder, ATriangleKeepsAnInfinityOutOfTheRowsThatDoNotReadIt) {
    constexpr std::int64_t m = 300;
    constexpr std::int64_t n = 20;
    constexpr std::int64_t infinite = 270;
    const float one = 1;
    for (const char uplo : {'L', 'U'})
        for (const InstructionSet by : instruction_sets_here()) {
            std::vector<float> a(m * m, 1.0F);
            std::vector<float> b(m * n, 1.0F);
            b[infinite] = std::numeric_limits<float>::infinity();
            blas::Level3 product{blas::Operation::trmm, false, false, 'L', uplo, 'N', 0, 'N', m, n};
            product.alpha = &one;
            product.a = a.data();
            product.lda = m;
            product.b = b.data();
            product.ldb = m;
            std::feclearexcept(FE_ALL_EXCEPT);
            ASSERT_TRUE(multiply_in_fixed_order(product, by));
            EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
            for (std::int64_t i = 0; i < m; ++i) {
                const bool reads_it = uplo == 'L' ? i >= infinite : i <= infinite;
                const auto terms = static_cast<float>(uplo == 'L' ? i + 1 : m - i);
                ASSERT_EQ(b[static_cast<std::size_t>(i)], reads_it ? std::numeric_limits<float>::infinity() : terms);
                ASSERT_EQ(b[static_cast<std::size_t>(i + m)], terms);
            }
        }
}

// -0 + 0 is 0. Each instruction set has tiles of another size, and so adds more or fewer zeros of a triangle.
TEST(FixedOrder, ATrianglesZerosMakeNoDifferenceBesideMinusZero) {
    constexpr std::int64_t m = 300;
    constexpr std::int64_t first_block = 256;
    const float alpha = 1e-30F;
    for (const InstructionSet by : instruction_sets_here()) {
        const std::vector<float> a(m * m, 1e-30F);
        std::vector<float> b(m, -1e-30F);
        std::fill_n(b.begin(), first_block,
                    -1.0F);  // alpha times the sum of the first block is -0; that of others too
        blas::Level3 product{blas::Operation::trmm, false, false, 'L', 'L', 'N', 0, 'N', m, 1};
        product.alpha = &alpha;
        product.a = a.data();
        product.lda = m;
        product.b = b.data();
        product.ldb = m;
        ASSERT_TRUE(multiply_in_fixed_order(product, by));
        for (std::size_t i = 0; i < m; ++i) {
            ASSERT_EQ(b[i], 0) << i;
            ASSERT_EQ(std::signbit(b[i]), i < first_block || i == m - 1) << i;  // the last row has no zeros
        }
    }
}

// numpy warns of "invalid value encountered in matmul" if it finds the flag set.
TEST(FixedOrder, RaisesNoFlagOfAnInvalidOperationBesideInfinity) {
    for (const std::int64_t rows : {1, 5, 17, 40}) {
        Case test_case = plain_gemm(rows, 5, 300);
        for (float& number : test_case.a) number = 1;
        for (float& number : test_case.b) number = 1;
        test_case.b[3] = std::numeric_limits<float>::infinity();
        for (const std::int64_t k : {4, 300}) {
            test_case.product.k = k;
            for (const InstructionSet by : instruction_sets_here()) {
                std::feclearexcept(FE_ALL_EXCEPT);
                const After result = after(test_case, by);
                EXPECT_EQ(std::fetestexcept(FE_INVALID), 0) << rows << ' ' << k;
                EXPECT_EQ(result.c.front(), std::numeric_limits<float>::infinity());
            }
        }
    }
}

TEST(FixedOrder, ARealAlphaRaisesNoFlagOfAnInvalidOperationBesideAnInfinityOfComplexNumbers) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr std::int64_t m = 40;
    const float alpha[] = {1, 0};
    const float beta[] = {0.5F, 0};
    const float one[] = {1, 0};
    const std::vector<float> a(2 * m, 1.0F);
    for (const InstructionSet by : instruction_sets_here()) {
        std::vector<float> c(2 * m, infinity);
        blas::Level3 product{blas::Operation::gemm, true, false, 0, 0, 'N', 'N', 0, m, 1, 1};
        product.alpha = alpha;
        product.beta = beta;
        product.a = a.data();
        product.lda = m;
        product.b = one;
        product.ldb = 1;
        product.c = c.data();
        product.ldc = m;
        std::feclearexcept(FE_ALL_EXCEPT);
        ASSERT_TRUE(multiply_in_fixed_order(product, by));
        EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
        EXPECT_EQ(c[0], infinity);
    }
}

// alpha and beta of herk are real: their imaginary parts must not meet an infinity.
TEST(FixedOrder, ARealFactorOfComplexNumbersMakesNoNaN) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float alpha = 1;
    const float beta = 0.5F;
    for (const InstructionSet by : instruction_sets_here()) {
        const float a[] = {1, 0, 2, 0};
        float c[] = {1, 0, 1, infinity, 1, infinity, 1, 0};
        blas::Level3 product{blas::Operation::herk, true, false, 0, 'U', 'N', 0, 0, 0, 2, 1};
        product.alpha = &alpha;
        product.beta = &beta;
        product.a = a;
        product.lda = 2;
        product.c = c;
        product.ldc = 2;
        ASSERT_TRUE(multiply_in_fixed_order(product, by));
        EXPECT_EQ(c[4], 2.5F);
        EXPECT_EQ(c[5], infinity);
        EXPECT_EQ(c[6], 4.5F);
    }
}

TEST(FixedOrder, AlphaZeroDoesNotReadTheFactors) {
    Case test_case = plain_gemm(9, 8, 7);
    test_case.alpha = {0, 0};
    test_case.beta = {2, 0};
    for (float& number : test_case.a) number = std::numeric_limits<float>::quiet_NaN();
    for (float& number : test_case.c) number = 3;
    for (const float number : after(test_case, blas::one_thread).c) EXPECT_EQ(number, 6);
}

}  // namespace
}  // namespace fp32shim::tests
