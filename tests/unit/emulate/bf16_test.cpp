// Tests products on BF16 units against products of rounded operands. Where the processor has no such units, only the
// choice is tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "emulate_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/emulate/rounding.hpp"
#include "shim/blas/multiply/multiply.hpp"

namespace fp32shim::tests {
namespace {

using blas::Bf16Units;

std::vector<Bf16Units> units_here() {
    std::vector<Bf16Units> here;
#if defined(__x86_64__)
    const Bf16Units best = blas::bf16_units();  // asks for AMX's registers
    if (best == Bf16Units::amx) here.push_back(Bf16Units::amx);
    using system::CpuFeature;
    if (system::may_use(CpuFeature::avx512_bf16) && system::may_use(CpuFeature::avx512bw))
        here.push_back(Bf16Units::avx512);
#endif
    return here;
}

class EveryOperationInBf16 : public EveryOperation {};

TEST_P(EveryOperationInBf16, IsTheProductOfRoundedOperandsAndTouchesNothingElse) {
    if (operation() == blas::Operation::trmm) {  // runs as called
        for_cases(100, 90, 0, [](const Case& test_case) {
            EXPECT_FALSE(blas::bf16_is_faster(test_case.product, Bf16Units::amx));
        });
        return;
    }
    if (units_here().empty()) GTEST_SKIP() << "this processor has no BF16 units";
    // Terms are up to 4096 in size, and may cancel.
    constexpr float near = 3e-3F;
    const auto check = [](const Case& test_case) {
        SCOPED_TRACE(test_case.description());
        const Expected expected = expected_after(test_case, blas::OperandRounding::bf16_even);
        for (const Bf16Units units : units_here()) {
            Placed placed = place(test_case);
            ASSERT_TRUE(blas::multiply_in_bf16(placed.product, units, blas::one_thread));
            EXPECT_TRUE(placed.a.has_the_bits_of(expected.a)) << "A was changed";
            EXPECT_TRUE(placed.b.has_the_bits_of(expected.b)) << "B was changed";
            EXPECT_TRUE(placed.c.is_near(expected.c, near)) << "C is not as expected";
        }
    };
    for_cases(5, 19, 18, check);
    for_cases(50, 37, 33, check);  // several tiles
    for_cases(34, 3, 600, check);  // several blocks of the sum
}

INSTANTIATE_TEST_SUITE_P(Real, EveryOperationInBf16, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, EveryOperationInBf16, complex_operations, name_of);

TEST(Bf16, InfinityAndNaNStay) {
    for (const Bf16Units units : units_here()) {
        Case test_case = plain_gemm(40, 40, 70);
        test_case.a[7] = std::numeric_limits<float>::infinity();
        test_case.a[9] = std::numeric_limits<float>::quiet_NaN();
        Placed placed = place(test_case);
        ASSERT_TRUE(blas::multiply_in_bf16(placed.product, units, blas::one_thread));
        for (std::size_t i = 0; i < test_case.c.size(); ++i)
            ASSERT_EQ(std::isfinite(placed.c.data()[i]), i % 40 != 7 && i % 40 != 9) << i;
    }
}

TEST(Bf16, IsChosenForLargeProductsOnly) {
    const auto is_faster = [](std::int64_t m, std::int64_t n, std::int64_t k, Bf16Units units) {
        const Case test_case = plain_gemm(m, n, k);
        return blas::bf16_is_faster(place(test_case).product, units);
    };
    EXPECT_TRUE(is_faster(1000, 1000, 1000, Bf16Units::amx));
    EXPECT_TRUE(is_faster(256, 256, 256, Bf16Units::amx));
    EXPECT_FALSE(is_faster(1000, 1000, 1000, Bf16Units::none));
    EXPECT_FALSE(is_faster(8, 8, 8, Bf16Units::amx));
    EXPECT_FALSE(is_faster(1, 2000, 2000, Bf16Units::amx));
    EXPECT_FALSE(is_faster(2000, 1, 2000, Bf16Units::amx));
    EXPECT_FALSE(is_faster(2000, 2000, 1, Bf16Units::amx));
}

TEST(Bf16, CountsTheCompletionOfATriangleOnEitherSide) {
    const auto is_faster = [](char side, std::int64_t m, std::int64_t n) {
        float number = 1;
        blas::Level3 product{blas::Operation::symm, false, false, side, 'U'};
        std::tie(product.m, product.n) = std::pair(m, n);
        std::tie(product.lda, product.ldb, product.ldc) = std::tuple(std::max(m, n), m, m);
        product.alpha = product.a = product.b = product.beta = product.c = &number;
        return blas::bf16_is_faster(product, Bf16Units::amx);
    };
    EXPECT_FALSE(is_faster('L', 1000, 300));
    EXPECT_FALSE(is_faster('R', 300, 1000));
    EXPECT_TRUE(is_faster('L', 1000, 1000));
    EXPECT_TRUE(is_faster('R', 1000, 1000));
}

}  // namespace
}  // namespace fp32shim::tests
