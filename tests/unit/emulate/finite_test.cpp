#include "shim/level3/finite.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace fp32shim::blas {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float number_with(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Finite, NumbersAreBadIfAllBitsOfTheirExponentAreSet) {
    for (std::uint32_t exponent = 0; exponent <= 0xff; ++exponent)
        for (const std::uint32_t mantissa : {0U, 1U, 0x400000U, 0x7fffffU})
            for (const std::uint32_t sign : {0U, 0x80000000U}) {
                const std::vector<float> numbers(19, number_with(sign | exponent << 23 | mantissa));
                EXPECT_EQ(all_finite(numbers.data(), numbers.size()), exponent != 0xff)
                    << exponent << " " << mantissa;
            }
}

TEST(Finite, OneBadNumberIsFoundAtEveryPlaceOfEveryLength) {
    for (std::size_t begin = 0; begin < 9; ++begin)
        for (const std::size_t count : {0U, 1U, 3U, 8U, 31U, 255U, 256U, 257U, 600U}) {
            std::vector<float> numbers(begin + count + 1, 1.0F);
            numbers.back() = infinity;  // an element after the end, which must not be examined
            EXPECT_TRUE(all_finite(numbers.data() + begin, count));
            for (std::size_t index = begin; index < begin + count; ++index) {
                numbers[index] = number_with(0xff800001U);  // a signalling NaN counts as not finite
                EXPECT_FALSE(all_finite(numbers.data() + begin, count)) << begin << " " << count << " " << index;
                numbers[index] = 1.0F;
            }
        }
}

TEST(Finite, SearchesRaiseNoFloatingPointException) {
    const std::vector<float> numbers(300, number_with(0x7f800001U));
    std::feclearexcept(FE_ALL_EXCEPT);
    EXPECT_FALSE(all_finite(numbers.data(), numbers.size()));
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

TEST(Finite, OnlyElementsOfAPartCount) {
    std::vector<float> numbers(35, 1.0F);
    const Matrix matrix{.data = numbers.data(), .rows = 5, .columns = 5, .ld = 7};
    EXPECT_FALSE(first_nonfinite({matrix}));
    numbers[5 + 2 * 7] = infinity;  // padding between columns must not be examined
    EXPECT_FALSE(first_nonfinite({matrix}));
    numbers[3 + 1 * 7] = infinity;  // row 3, column 1: below the diagonal
    EXPECT_FALSE(first_nonfinite({matrix, Part::upper}));
    const auto found = first_nonfinite({matrix, Part::lower});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->row, 3);
    EXPECT_EQ(found->column, 1);
    EXPECT_FALSE(found->is_nan);
    Matrix by_rows = matrix;
    by_rows.row_major = true;
    EXPECT_FALSE(first_nonfinite({by_rows, Part::lower}));
    EXPECT_EQ(first_nonfinite({by_rows})->column, 3);
}

TEST(Finite, ADiagonalThatIsNotReadDoesNotCount) {
    std::vector<float> numbers(18, 1.0F);
    const Matrix matrix{
        .data = numbers.data(), .rows = 3, .columns = 3, .ld = 3, .row_major = false, .width = 2, .is_complex = true};
    numbers[2 * (1 + 1 * 3) + 1] = number_with(0x7fc00000U);
    EXPECT_TRUE(first_nonfinite({matrix, Part::upper})->is_nan);
    EXPECT_FALSE(first_nonfinite({matrix, Part::upper, true}));
    numbers[2 * (0 + 2 * 3) + 1] = infinity;
    EXPECT_EQ(first_nonfinite({matrix, Part::upper, true})->column, 2);
}

TEST(Finite, SeesNanAndInfinityOfFloat64InTheUpperHalfOnly) {
    for (std::size_t count = 1; count < 300; ++count) {
        std::vector<double> numbers(count, 0x1.00000ff800000p0);  // the lower half would be infinity as a float32
        const auto is_finite = [&] {
            return all_finite(reinterpret_cast<const float*>(numbers.data()), 2 * count, true);
        };
        EXPECT_TRUE(is_finite());
        for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
            numbers[count - 1] = bad;
            EXPECT_FALSE(is_finite()) << count;
            const Matrix matrix{.data = reinterpret_cast<const float*>(numbers.data()),
                                .rows = 1,
                                .columns = static_cast<std::int64_t>(count),
                                .ld = 1,
                                .width = 2,
                                .is_double = true};
            EXPECT_EQ(first_nonfinite({matrix})->column, static_cast<std::int64_t>(count) - 1);
            EXPECT_EQ(first_nonfinite({matrix})->is_nan, std::isnan(bad));
        }
    }
}

}  // namespace
}  // namespace fp32shim::blas
