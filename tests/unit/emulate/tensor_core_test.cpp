// Tests the model of tensor cores: its sums against the same rules in floating point, all operations against the
// naive routine, and the error of long sums against the published one.
#include "shim/blas/emulate/tensor_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "emulate_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/emulate/rounding.hpp"
#include "system/hash.hpp"

namespace fp32shim::tests {
namespace {

using blas::OperandRounding;
using blas::TensorCoreModel;
using policy::AccumulationModel;

constexpr AccumulationModel gpus[] = {AccumulationModel::a100, AccumulationModel::ada, AccumulationModel::hopper,
                                      AccumulationModel::b200};

float nearest_number(float number, OperandRounding rounding) {
    blas::rounding_kernel(rounding)(&number, &number, 1);
    return number;
}

double cut(double number, double unit) { return std::trunc(number / unit) * unit; }

/// Computes one step by the rules of the sources, in floating point: shifts all terms to the largest exponent, cuts
/// them, adds them, and cuts the sum. With Start::follows, adds `start` to the cut sum.
float step_of(const std::vector<float>& a, const std::vector<float>& b, float start, const TensorCoreModel& core) {
    if (core.step.start == policy::Start::follows) {
        TensorCoreModel joining = core;
        joining.step.start = policy::Start::joins;
        return start + step_of(a, b, 0, joining);
    }
    int largest = core.step.lowest_exponent;
    if (start != 0) largest = std::max(largest, std::ilogb(start));
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != 0 && b[i] != 0) largest = std::max(largest, std::ilogb(a[i]) + std::ilogb(b[i]));
    const double unit = std::ldexp(1.0, largest - core.step.bits);
    double sum = cut(start, unit);
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += cut(static_cast<double>(a[i]) * static_cast<double>(b[i]), unit);
    if (sum == 0) return 0;
    return static_cast<float>(cut(sum, std::ldexp(1.0, std::ilogb(sum) - core.step.result_bits)));
}

float model_step(const std::vector<float>& a, const std::vector<float>& b, float start, const TensorCoreModel& core) {
    blas::LeftFactors left;
    blas::RightFactors right;
    float sums[blas::sums_at_once] = {start};
    for (std::size_t i = 0; i < a.size(); ++i) {
        left.set_factor(static_cast<int>(i), 0, a[i], core);
        for (int j = 0; j < blas::sums_at_once; ++j) right.set_factor(static_cast<int>(i), j, b[i], core);
    }
    blas::add_product_block(left, right, static_cast<int>(a.size()), false, core, sums);
    return sums[0];
}

TEST(TensorCore, AStepIsThatOfTheSourcesForNumbersOfAllSizes) {
    std::mt19937 random(20261125);
    std::uniform_int_distribution<int> exponent(-20, 20);
    std::uniform_real_distribution<float> fraction(-2, 2);
    for (const OperandRounding rounding : {OperandRounding::tf32_away, OperandRounding::bf16_even,
                                           OperandRounding::fp16_even, OperandRounding::e4m3_even})
        for (const AccumulationModel gpu : gpus) {
            const TensorCoreModel core = blas::tensor_core_model(gpu, rounding).value();
            for (int i = 0; i < 20'000; ++i) {
                const auto number = [&] {
                    const int size =
                        rounding == OperandRounding::e4m3_even ? exponent(random) / 4 : exponent(random) / 2;
                    return nearest_number(std::ldexp(fraction(random), size), rounding);
                };
                std::vector<float> a(static_cast<std::size_t>(core.step.products)), b(a.size());
                std::ranges::generate(a, number);
                std::ranges::generate(b, number);
                const float start = i % 3 == 0 ? 0 : std::ldexp(fraction(random), exponent(random));
                ASSERT_EQ(model_step(a, b, start, core), step_of(a, b, start, core)) << i;
            }
        }
}

/// Returns the relative error of the product of a row of `k` positive numbers and a column of them.
double relative_error_of_a_long_sum(AccumulationModel gpu, std::int64_t k) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(0, 1);
    Case test_case = plain_gemm(1, 1, k);
    for (auto* operand : {&test_case.a, &test_case.b})
        for (float& number : *operand) number = nearest_number(uniform(random), OperandRounding::tf32_away);
    test_case.c = {0};
    double exact = 0;
    for (std::size_t i = 0; i < test_case.a.size(); ++i)
        exact += static_cast<double>(test_case.a[i]) * static_cast<double>(test_case.b[i]);
    Placed placed = place(test_case);
    blas::Preview preview = OperandRounding::tf32_away;
    preview.accumulation = gpu;
    EXPECT_EQ(blas::emulate(placed.product, preview, {}, {}, unlimited), blas::EmulationResult::done);
    return (*static_cast<const float*>(placed.product.c) - exact) / exact;
}

// docs/choosing-a-precision.md has these figures, by the models of arXiv:2511.10909 and arXiv:2512.07004.
TEST(TensorCore, ALongSumOfOneSignIsTooSmall) {
    EXPECT_NEAR(relative_error_of_a_long_sum(AccumulationModel::a100, 65'536), -8e-4, 1e-4);
    EXPECT_NEAR(relative_error_of_a_long_sum(AccumulationModel::hopper, 65'536), -4e-4, 5e-5);
    EXPECT_LT(std::abs(relative_error_of_a_long_sum(AccumulationModel::hopper, 8)), 1e-6);
}

TEST(TensorCore, InfinityAndNaNAreThoseOfIeee) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const TensorCoreModel core =
        blas::tensor_core_model(AccumulationModel::hopper, OperandRounding::tf32_away).value();
    EXPECT_EQ(model_step({infinity, 1}, {2, 1}, 1, core), infinity);
    EXPECT_EQ(model_step({-infinity, 1}, {2, 1}, 1, core), -infinity);
    EXPECT_TRUE(std::isnan(model_step({infinity, 1}, {0, 1}, 1, core)));
    EXPECT_TRUE(std::isnan(model_step({infinity, -infinity}, {1, 1}, 0, core)));
    EXPECT_EQ(model_step({1, 1}, {1, 1}, -infinity, core), -infinity);
    EXPECT_EQ(model_step({3e38F, 0}, {2, 1}, 0, core), infinity);
}

class EveryOperationOnATensorCore : public EveryOperation {};

TEST_P(EveryOperationOnATensorCore, IsTheProductAndTouchesNothingElse) {
    for (const AccumulationModel gpu : gpus)
        for_cases(5, 19, 18, [gpu](const Case& test_case) {
            SCOPED_TRACE(test_case.description());
            Placed placed = place(test_case);
            blas::Preview preview = OperandRounding::tf32_away;
            preview.accumulation = gpu;
            ASSERT_EQ(blas::emulate(placed.product, preview, {}, {}, unlimited), blas::EmulationResult::done);
            const Expected expected = expected_after(test_case, OperandRounding::tf32_away);
            EXPECT_TRUE(placed.a.has_the_bits_of(expected.a)) << "A was changed";
            EXPECT_TRUE(placed.b.is_near(expected.b, 5e-4F)) << "B is not as expected";
            EXPECT_TRUE(placed.c.is_near(expected.c, 5e-4F)) << "C is not as expected";
        });
}

INSTANTIATE_TEST_SUITE_P(Real, EveryOperationOnATensorCore, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, EveryOperationOnATensorCore, complex_operations, name_of);

/// Rounds numbers at random, by the random numbers that start at a seed.
void round_at_random(OperandRounding rounding, std::uint64_t seed, const float* from, float* to,
                     std::size_t count = 1) {
    blas::RandomStream random{system::Hash().add(seed).value()};
    blas::stochastic_kernel(rounding, random)(from, to, count);
}

/// Returns the mean of a number that is rounded at random, over many seeds.
double mean_over_seeds(float number, OperandRounding rounding, int seeds) {
    double sum = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        float to = 0;
        round_at_random(rounding, static_cast<std::uint64_t>(seed), &number, &to);
        sum += to;
    }
    return sum / seeds;
}

TEST(StochasticRounding, IsUnbiasedAndOnlyGoesToTheTwoNeighbours) {
    constexpr int seeds = 4000;
    for (const OperandRounding rounding :
         {OperandRounding::tf32_away, OperandRounding::bf16_even, OperandRounding::fp16_even,
          OperandRounding::e4m3_even, OperandRounding::e5m2_even})
        for (const float number : {1.1F, -3.7F, 0.0123F, 100.3F}) {
            const auto [fraction_bits, lowest_exponent] = blas::number_format_of(rounding);
            const double unit = std::ldexp(1.0, std::max(std::ilogb(number), lowest_exponent) - fraction_bits);
            EXPECT_NEAR(mean_over_seeds(number, rounding, seeds), number, 5 * 0.5 * unit / std::sqrt(seeds))
                << number;
            for (std::uint64_t seed = 0; seed < 100; ++seed) {
                float to = 0;
                round_at_random(rounding, seed, &number, &to);
                EXPECT_LT(std::abs(to - number), unit);
                EXPECT_EQ(nearest_number(to, rounding), to);
            }
        }
}

TEST(StochasticRounding, LeavesNumbersOfTheFormatNaNAndInfinityAlone) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float number : {0.0F, -0.0F, 1.0F, -1.5F, 0x1p-120F, infinity, -infinity})
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            float to = 7;
            round_at_random(OperandRounding::tf32_away, seed, &number, &to);
            EXPECT_EQ(std::signbit(to), std::signbit(number));
            EXPECT_EQ(to, number);
        }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float to = 0;
    round_at_random(OperandRounding::bf16_even, 1, &nan, &to);
    EXPECT_TRUE(std::isnan(to));
}

TEST(StochasticRounding, MovesNumbersOfFp32ByAtMostOneUnitAndNeverToInfinity) {
    constexpr float largest = std::numeric_limits<float>::max();
    for (const float number : {1.5F, -3.7e-12F, largest, -largest, 1e-45F})
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            float to = 7;
            round_at_random(OperandRounding::fp32_perturbed, seed, &number, &to);
            EXPECT_TRUE(to == number || to == std::nextafter(number, 2 * number) ||
                        to == std::nextafter(number, 0.0F));
            EXPECT_TRUE(std::isfinite(to));
        }
}

TEST(StochasticRounding, RoundsEqualNumbersIndependently) {
    constexpr int count = 3000;
    const std::vector<float> ones(count, 1.0F);
    std::vector<float> moved(count), again(count), other(count);
    round_at_random(OperandRounding::fp32_perturbed, 5, ones.data(), moved.data(), count);
    round_at_random(OperandRounding::fp32_perturbed, 5, ones.data(), again.data(), count);
    round_at_random(OperandRounding::fp32_perturbed, 6, ones.data(), other.data(), count);
    EXPECT_EQ(moved, again);
    EXPECT_NE(moved, other);
    for (const float neighbour : {std::nextafter(1.0F, 0.0F), 1.0F, std::nextafter(1.0F, 2.0F)})
        EXPECT_NEAR(static_cast<double>(std::ranges::count(moved, neighbour)), count / 3.0, 150) << neighbour;
}

TEST(StochasticRounding, DrawsByTheSeedAndTheElementsOfTheOperandsAlone) {
    std::vector<float> a(6, 1.0F), b(6, 1.0F), c(4);
    blas::Level3 product{.operation = blas::Operation::gemm, .trans_a = 'N', .trans_b = 'N', .m = 2, .n = 2, .k = 3};
    product.a = a.data();
    product.b = b.data();
    product.c = c.data();
    product.lda = product.ldc = 2;
    product.ldb = 3;
    const std::uint64_t first = blas::random_stream(1, product).start;
    const std::vector<float> elsewhere = a;
    product.a = elsewhere.data();
    c[0] = 7;
    EXPECT_EQ(blas::random_stream(1, product).start, first);
    EXPECT_NE(blas::random_stream(2, product).start, first);
    b[5] = 2;
    EXPECT_NE(blas::random_stream(1, product).start, first);
}

}  // namespace
}  // namespace fp32shim::tests
