// Tests products of float64 in a fixed order: right for every operation, and the same bits by every instruction set
// and number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "fixed_order_cases.hpp"
#include "float64_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;

template <class By>
After after(const Float64Case& a_case, By by) {
    GuardedFloats a(a_case.a), b(a_case.b), c(a_case.c);
    EXPECT_TRUE(blas::multiply_in_fixed_order(a_case.pointing_to(a.data(), b.data(), c.data()), by));
    EXPECT_TRUE(a.has_the_bits_of(a_case.a)) << "A was changed";
    return {{b.data(), b.data() + a_case.b.size()}, {c.data(), c.data() + a_case.c.size()}};
}

/// Returns the largest difference of numbers that both are no poison.
double distance(const Doubles& x, const Doubles& y) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size() / 2; ++i)
        if (!std::isnan(number(y, i))) largest = std::max(largest, std::abs(number(x, i) - number(y, i)));
    return largest;
}

class EveryOperationOfFloat64InAFixedOrder : public EveryOperation {};

TEST_P(EveryOperationOfFloat64InAFixedOrder, IsTheProductAndTouchesNothingElse) {
    const auto check = [](const Case& single) {
        SCOPED_TRACE(single.description());
        Float64Case expected(single);
        naive_level3(expected.pointing_to(expected.a.data(), expected.b.data(), expected.c.data()));
        const After result = after(Float64Case(single), blas::one_thread);
        constexpr double near = 1e-9;  // terms are up to 4096 in size, and the naive routine rounds its sums, too
        EXPECT_LT(distance(result.b, expected.b), near);
        EXPECT_LT(distance(result.c, expected.c), near);
    };
    for_cases(5, 19, 18, check);
    for_cases(50, 37, 9, check);   // several tiles of each instruction set
    for_cases(34, 3, 300, check);  // several blocks of the sum
    for_cases(4, 5, 0, check);
}

TEST_P(EveryOperationOfFloat64InAFixedOrder, HasTheSameBitsByEveryInstructionSet) {
    for_some_cases(1, 70, 41, is_complex() ? 135 : 270, [](const Case& single) {
        SCOPED_TRACE(single.description());
        const Float64Case a_case(single);
        const After expected = after(a_case, instruction_sets_here().front());
        for (const InstructionSet by : other_instruction_sets()) EXPECT_TRUE(after(a_case, by) == expected);
    });
}

TEST_P(EveryOperationOfFloat64InAFixedOrder, HasTheSameBitsOnThreeThreads) {
    const std::int64_t size = is_complex() ? 260 : 400;  // large enough for two threads, so only some cases are tried
    for_some_cases(13, size, size + 10, size - 10, [](const Case& single) {
        SCOPED_TRACE(single.description());
        const Float64Case a_case(single);
        EXPECT_TRUE(after(a_case, three_threads) == after(a_case, blas::one_thread));
    });
}

INSTANTIATE_TEST_SUITE_P(Real, EveryOperationOfFloat64InAFixedOrder, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, EveryOperationOfFloat64InAFixedOrder, complex_operations, name_of);

TEST(FixedOrderOfFloat64, IsThatOfTheDefinition) {
    constexpr std::int64_t m = 45;
    constexpr std::int64_t n = 31;
    for (const std::int64_t k : {1, 7, 32, 33, 256, 257, 700}) {
        Case single = plain_gemm(m, n, k);
        single.alpha = {1.25F, 0};
        const Float64Case a_case(single);
        const After result = after(a_case, blas::one_thread);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double c = 0;
                for (std::int64_t first = 0; first < k; first += blas::summed_at_once) {
                    const std::int64_t end = std::min(first + blas::summed_at_once, k);
                    double sum = 0;
                    for (std::int64_t begin = first; begin < end; begin += blas::summed_in_chain) {
                        double part = 0;
                        for (std::int64_t p = begin; p < std::min(begin + blas::summed_in_chain, end); ++p)
                            part = std::fma(number(a_case.a, static_cast<std::size_t>(i + p * m)),
                                            number(a_case.b, static_cast<std::size_t>(p + j * k)), part);
                        sum += part;
                    }
                    c = std::fma(1.25, sum, c);
                }
                ASSERT_EQ(number(result.c, static_cast<std::size_t>(i + j * m)), c) << k << ' ' << i << ' ' << j;
            }
    }
}

}  // namespace
}  // namespace fp32shim::tests
