// Tests the fused multiply-add of float64 numbers for processors without an instruction for it, under every setting
// of the processor.
#include "shim/blas/multiply/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "float_settings.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::tests {
namespace {

#if defined(__x86_64__)
__attribute__((target("fma"), noinline)) double by_the_instruction(double a, double b, double c) {
    return _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)));
}
#else
__attribute__((noinline)) double by_the_instruction(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

class RandomNumbers {
  public:
    /// Returns a number whose exponent is about `exponent`, now and then a special one.
    double number(int exponent) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        constexpr double special[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0x1p-1074,
                                      -0x1.fp-1030,
                                      0x1p-1022,
                                      -0x1p-1022,
                                      infinity,
                                      -infinity,
                                      0x1.fffffffffffffp1023,
                                      std::numeric_limits<double>::quiet_NaN()};
        if (below(16) == 0) return special[below(std::size(special))];
        // Few bits make ties, and many make inexact products.
        const std::uint64_t mask = ~std::uint64_t{0} << below(53);
        const double fraction = std::bit_cast<double>((random_() & mask) >> 12 | std::uint64_t{1023} << 52);
        return std::ldexp(below(2) == 0 ? fraction : -fraction, exponent);
    }
    /// Returns a number that makes a difficult sum with a * b.
    double addend(double a, double b) {
        const double product = a * b;
        switch (below(4)) {
            case 0:  // cancels nearly or wholly
                return -product * (1 + static_cast<double>(below(5)) * 0x1p-52);
            case 1:
                return std::ldexp(below(2) == 0 ? 1.0 : -1.5, exponent_of(product) + between(-110, 110));
            case 2:
                return std::ldexp(product, between(-110, 110));
            default:
                return number(between(-1080, 1023));
        }
    }
    int between(int least, int most) {
        return least + static_cast<int>(below(static_cast<std::size_t>(most - least + 1)));
    }

  private:
    std::size_t below(std::size_t end) { return random_() % end; }
    static int exponent_of(double x) { return std::isfinite(x) && x != 0 ? std::ilogb(x) : 0; }

    std::mt19937_64 random_{17};
};

template <class Expected>
void expect_fused(FloatSettings settings, int tries, Expected expected) {
    SCOPED_TRACE(settings.name());
    RandomNumbers numbers;
    for (int i = 0; i < tries; ++i) {
        // Products of any size, products around the smallest normal number, and ordinary ones.
        const int of_product = i % 3 == 0   ? numbers.between(-2100, 2046)
                               : i % 3 == 1 ? numbers.between(-1140, -1000)
                                            : 0;
        const int of_a = std::clamp(numbers.between(-20, 20) + of_product / 2, -1074, 1023);
        const double a = numbers.number(of_a);
        const double b = numbers.number(std::clamp(of_product - of_a, -1074, 1023));
        const double c = numbers.addend(a, b);
        const WithFloatSettings in_force(settings);
        const double found = blas::fused_multiply_add_plain(a, b, c);
        const double exact = expected(a, b, c);
        if (std::isnan(exact))
            ASSERT_TRUE(std::isnan(found)) << std::hexfloat << a << ' ' << b << ' ' << c;
        else
            ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(exact))
                << std::hexfloat << a << ' ' << b << ' ' << c << ": " << found << ", not " << exact;
    }
}

TEST(FusedMultiplyAdd, OfFloat64IsThatOfTheCLibraryInEveryRoundingMode) {
    for (const FloatSettings settings : all_float_settings())
        if (!settings.flushes_operands && !settings.flushes_results)
            expect_fused(settings, 300'000, [](double a, double b, double c) { return std::fma(a, b, c); });
}

TEST(FusedMultiplyAdd, OfFloat64IsThatOfTheProcessorUnderEverySetting) {
#if defined(__x86_64__)
    if (!system::may_use(system::CpuFeature::fma)) GTEST_SKIP() << "this processor has no fused multiply-adds";
#endif
    for (const FloatSettings settings : all_float_settings()) expect_fused(settings, 300'000, by_the_instruction);
}

}  // namespace
}  // namespace fp32shim::tests
