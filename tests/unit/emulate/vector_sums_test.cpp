// Tests sums over vectors in a fixed order: every instruction set gives the bits of a plain reference in the
// documented order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fixed_order_cases.hpp"
#include "float_settings.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/blas/multiply/vectors.hpp"
#include "vector_cases.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::Level3;
using blas::multiply_vector_in_fixed_order;
using blas::Operation;

template <class Real>
ComplexElement<Real> dot_by_definition(Vector<Real>& x, Vector<Real>& y, std::int64_t count, bool is_complex,
                                       bool conjugates) {
    Sum<Real> sum(is_complex, {1}, {}, {});
    for (std::int64_t i = 0; i < count; ++i)
        sum.add(conjugates ? conjugate(x.element(i)) : x.element(i), y.element(i), i);
    return sum.total();
}

/// A sum, and what its additions lost.
struct WideSum {
    double sum = 0;
    double lost = 0;

    void add(double number) {
        const double before = std::exchange(sum, sum + number);
        const double part = sum - before;
        lost += (before - (sum - part)) + (number - part);
    }
    void add(WideSum other) {
        add(other.sum);
        lost += other.lost;
    }
    double total() const { return sum + lost; }
};

/// Returns `start` plus the sum of blocks of 65,536 numbers, of which `add(sum, index)` adds each to one of `sums` in
/// turn.
template <class Add>
double in_turn(std::int64_t count, std::size_t sums, Add add, double start = 0) {
    constexpr std::int64_t of_block = 65536;
    WideSum total{start};
    for (std::int64_t first = 0; first < count; first += of_block) {
        std::vector<WideSum> own(sums);
        for (std::int64_t i = first; i < std::min(first + of_block, count); ++i)
            add(own[static_cast<std::size_t>(i) % sums], i);
        WideSum block;
        for (const WideSum& each : own) block.add(each);
        total.add(block);
    }
    return total.total();
}

template <class Real>
Level3 sum_over(Operation operation, bool is_complex, Vector<Real>& a, Vector<Real>& b, std::int64_t count,
                void* to) {
    Level3 product{operation, is_complex};
    product.is_double = std::is_same_v<Real, double>;
    product.k = count;
    product.a = a.data();
    product.lda = a.increment();
    product.b = b.data();
    product.ldb = b.increment();
    product.c = to;
    return product;
}

template <class Real>
void expect_sums_of_the_definition(std::int64_t count, std::int64_t incx, std::int64_t incy, bool is_complex) {
    SCOPED_TRACE(std::to_string(count) + ' ' + std::to_string(incx) + ' ' + std::to_string(incy) +
                 (is_complex ? " complex" : " real") + (sizeof(Real) == 8 ? " float64" : " float32"));
    Vector<Real> x(count, incx, is_complex);
    Vector<Real> y(count, incy, is_complex);
    std::mt19937 random(static_cast<unsigned>(count));
    x.fill(random);
    y.fill(random);
    const int width = is_complex ? 2 : 1;
    const auto number = [&](std::int64_t i) { return x.at(i / width)[i % width]; };
    const auto magnitudes = static_cast<Real>(
        in_turn(count * width, 32, [&](WideSum& sum, std::int64_t i) { sum.sum += std::abs(double{number(i)}); }));
    const auto norm = static_cast<Real>(
        std::sqrt(in_turn(count * width, sizeof(Real) == 4 ? 32 : 16, [&](WideSum& sum, std::int64_t i) {
            const double x = number(i);
            if (sizeof(Real) == 4) return void(sum.sum = std::fma(x, x, sum.sum));
            sum.add(x * x);
            sum.lost += std::fma(x, x, -(x * x));
        })));
    for (const InstructionSet by : instruction_sets_here()) {
        for (const bool conjugates : {false, true}) {
            const ComplexElement<Real> dot = dot_by_definition(x, y, count, is_complex, conjugates);
            Real found[2] = {-1, 0};
            ASSERT_TRUE(multiply_vector_in_fixed_order(
                sum_over(conjugates ? Operation::dotc : Operation::dot, is_complex, x, y, count, found), by,
                threads_by(by)));
            ASSERT_EQ(found[0], dot.re);
            ASSERT_EQ(found[1], dot.im);
        }
        Real found = -1;
        ASSERT_TRUE(multiply_vector_in_fixed_order(sum_over(Operation::asum, is_complex, x, y, count, &found), by,
                                                   threads_by(by)));
        ASSERT_EQ(found, incx > 0 ? magnitudes : 0);
        ASSERT_TRUE(multiply_vector_in_fixed_order(sum_over(Operation::nrm2, is_complex, x, y, count, &found), by,
                                                   threads_by(by)));
        ASSERT_EQ(found, norm);
    }
}

TEST(SumsOverVectors, SumsHaveTheBitsOfTheDefinition) {
    for (const std::int64_t count :
         {1, 2, 3, 7, 127, 128, 129, 255, 256, 257, 700, 1024, 1025, 1300, 4096, 5000, 9001, 70000})
        for (const bool is_complex : {false, true})
            for (const auto& [incx, incy] : {std::pair{1, 1}, {2, 1}, {1, -1}, {-3, 2}, {0, 1}}) {
                expect_sums_of_the_definition<float>(count, incx, incy, is_complex);
                expect_sums_of_the_definition<double>(count, incx, incy, is_complex);
                if (HasFatalFailure()) return;
            }
}

TEST(SumsOverVectors, ADotHasTheBitsOfAMatrixProductOfOneElement) {
    for (const std::int64_t count : {5, 300, 5000})
        for (const bool is_complex : {false, true}) {
            Vector<float> x(count, 1, is_complex);
            Vector<float> y(count, 1, is_complex);
            std::mt19937 random(3);
            x.fill(random);
            y.fill(random);
            constexpr float one[] = {1, 0};
            constexpr float zero[] = {0, 0};
            float expected[2] = {0, 0};
            Level3 matrix = sum_over(Operation::gemm, is_complex, x, y, count, expected);
            matrix.trans_a = is_complex ? 'C' : 'T';
            matrix.trans_b = 'N';
            matrix.m = matrix.n = matrix.ldc = 1;
            matrix.lda = matrix.ldb = count;
            matrix.alpha = one;
            matrix.beta = zero;
            for (const InstructionSet by : instruction_sets_here()) {
                float found[2] = {-1, 0};
                ASSERT_TRUE(blas::multiply_in_fixed_order(matrix, by));
                ASSERT_TRUE(
                    multiply_vector_in_fixed_order(sum_over(Operation::dotc, is_complex, x, y, count, found), by));
                EXPECT_EQ(found[0], expected[0]);
                EXPECT_EQ(found[1], expected[1]);
            }
        }
}

TEST(SumsOverVectors, DotsInDoublePrecisionAreRoundedOnce) {
    for (const std::int64_t count : {1, 3, 256, 300, 1100, 3000, 9000, 140000})
        for (const std::int64_t increment : {1, -2}) {
            Vector<float> x(count, 1, false);
            Vector<float> y(count, increment, false);
            std::mt19937 random(5);
            x.fill(random);
            y.fill(random);
            const auto from = [&](double start) {
                return in_turn(
                    count, 16, [&](WideSum& sum, std::int64_t i) { sum.add(double{*x.at(i)} * double{*y.at(i)}); },
                    start);
            };
            const float alpha = 0.3F;
            for (const InstructionSet by : instruction_sets_here()) {
                double wide = -1;
                ASSERT_TRUE(multiply_vector_in_fixed_order(sum_over(Operation::dsdot, false, x, y, count, &wide), by,
                                                           threads_by(by)));
                EXPECT_EQ(wide, from(0));
                float narrow = -1;
                Level3 product = sum_over(Operation::sdsdot, false, x, y, count, &narrow);
                product.alpha = &alpha;
                ASSERT_TRUE(multiply_vector_in_fixed_order(product, by));
                EXPECT_EQ(narrow, static_cast<float>(from(double{alpha})));
            }
        }
}

template <class Real>
Real norm_of(std::vector<Real> numbers, InstructionSet by) {
    Level3 product{Operation::nrm2};
    Real norm = -1;
    product.is_double = std::is_same_v<Real, double>;
    product.k = static_cast<std::int64_t>(numbers.size());
    product.a = numbers.data();
    product.lda = 1;
    product.c = &norm;
    EXPECT_TRUE(multiply_vector_in_fixed_order(product, by));
    return norm;
}

template <class Real>
void expect_norms_without_overflow() {
    using Limits = std::numeric_limits<Real>;
    const Real large = std::ldexp(Real{1}, Limits::max_exponent - 4);
    for (const InstructionSet by : instruction_sets_here()) {
        EXPECT_EQ(norm_of<Real>({}, by), 0);
        EXPECT_EQ(norm_of<Real>({0, 0}, by), 0);
        EXPECT_EQ(norm_of<Real>({Limits::max()}, by), Limits::max());
        EXPECT_EQ(norm_of<Real>({Limits::max(), Limits::max()}, by), Limits::infinity());
        EXPECT_EQ(norm_of<Real>({large * 3, large * -4, 1}, by), large * 5);
        EXPECT_EQ(norm_of<Real>({Limits::denorm_min() * 3, Limits::denorm_min() * 4}, by), Limits::denorm_min() * 5);
        EXPECT_EQ(norm_of<Real>({Limits::min() * 3, Limits::min() * 4}, by), Limits::min() * 5);
        EXPECT_EQ(norm_of<Real>({1, -Limits::infinity(), 1}, by), Limits::infinity());
        EXPECT_TRUE(std::isnan(norm_of<Real>({1, Limits::quiet_NaN(), Limits::infinity()}, by)));
    }
}

TEST(SumsOverVectors, ANormOverflowsOnlyWhereItIsTooLarge) {
    expect_norms_without_overflow<float>();
    expect_norms_without_overflow<double>();
}

TEST(SumsOverVectors, NothingIsASumOfZero) {
    Vector<float> x(4, 1, false);
    const float alpha = 7;
    for (const InstructionSet by : instruction_sets_here())
        for (const std::int64_t count : {0, -1})
            for (const Operation operation :
                 {Operation::dot, Operation::dotc, Operation::nrm2, Operation::asum, Operation::sdsdot}) {
                float found = -1;
                Level3 product = sum_over(operation, false, x, x, count, &found);
                product.alpha = &alpha;
                ASSERT_TRUE(multiply_vector_in_fixed_order(product, by));
                EXPECT_EQ(found, operation == Operation::sdsdot ? 7 : 0);
            }
}

template <class Real>
void expect_equal_sums_under_all_settings(std::int64_t count, bool is_complex) {
    std::mt19937 random(9);
    Vector<Real> x(count, 1, is_complex);
    Vector<Real> y(count, 1, is_complex);
    x.fill(random);
    y.fill(random);
    // Products are around the smallest normal number.
    x.scale(std::numeric_limits<Real>::min_exponent / 2);
    y.scale(std::numeric_limits<Real>::min_exponent / 2);
    for (const FloatSettings settings : all_float_settings())
        for (const Operation operation : {Operation::dot, Operation::dotc, Operation::asum, Operation::nrm2}) {
            Real expected[2] = {};
            for (const InstructionSet by : instruction_sets_here()) {
                Real found[2] = {};
                {
                    const WithFloatSettings in_force(settings);
                    ASSERT_TRUE(
                        multiply_vector_in_fixed_order(sum_over(operation, is_complex, x, y, count, found), by));
                }
                if (by == InstructionSet::plain) std::copy_n(found, 2, expected);
                ASSERT_EQ(std::memcmp(found, expected, sizeof found), 0)
                    << settings.name() << ' ' << static_cast<int>(operation) << " by " << static_cast<int>(by);
            }
        }
}

TEST(SumsOverVectors, HaveTheSameBitsByEveryInstructionSetUnderEverySetting) {
    for (const std::int64_t count : {40, 1300, 5000})
        for (const bool is_complex : {false, true}) {
            expect_equal_sums_under_all_settings<float>(count, is_complex);
            expect_equal_sums_under_all_settings<double>(count, is_complex);
        }
}

}  // namespace
}  // namespace fp32shim::tests
