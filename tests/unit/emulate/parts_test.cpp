// Tests formats that split operands into parts. Results of the emulation are compared with sums of products whose
// parts are computed here, in double, and with the product of the whole operands.
#include "shim/blas/emulate/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulate_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/emulate/operand.hpp"

namespace fp32shim::tests {
namespace {

using blas::EmulationResult;
using blas::Level3;
using blas::Matrix;
using blas::OperandRounding;
using blas::Operation;
using blas::Preview;
using blas::Routine;

/// The definition of a format.
struct Definition {
    const char* name;
    Preview preview;
    int kept_bits;  ///< mantissa bits of each part
    bool ties_to_even;
    int parts;
    int largest_sum;  ///< largest i + j for which parts i and j, counted from 1, are multiplied
    int products;
    double worst_error;  ///< largest error relative to |A||B|, including the rounding of float32 sums
};
constexpr Definition definitions[] = {
    {"bf16x2", {OperandRounding::bf16_even, 3}, 7, true, 2, 3, 3, 3 * 0x1p-16},
    {"bf16x3", {OperandRounding::bf16_even, 6}, 7, true, 3, 4, 6, 0x1p-21},
    {"bf16x9", {OperandRounding::bf16_even, 9}, 7, true, 3, 6, 9, 0x1p-21},
    {"tf32x3", {OperandRounding::tf32_away, 3}, 10, false, 2, 3, 3, 0x1p-20},
};

using Values = std::vector<float>;

/// Splits a number into parts. Each part is the nearest to the rest that the parts before have left.
std::vector<double> parts_of(float value, const Definition& format) {
    std::vector<double> parts;
    double rest = value;
    for (int i = 0; i < format.parts; ++i) {
        const double unit = rest == 0 || std::isnan(rest) ? 1 : std::ldexp(1.0, std::ilogb(rest) - format.kept_bits);
        const double units = rest / unit;
        parts.push_back((format.ties_to_even ? std::nearbyint(units) : std::round(units)) * unit);
        rest -= parts.back();
    }
    return parts;
}

/// Returns part number `which`, from 0, of each value. Poison stays poison.
Values part(const Values& values, int which, const Definition& format) {
    Values result = values;
    for (float& value : result)
        if (!std::isnan(value)) value = static_cast<float>(parts_of(value, format)[static_cast<std::size_t>(which)]);
    return result;
}

void set_diagonal(const Matrix& matrix, float value) {
    for (std::int64_t i = 0; i < std::min(matrix.rows, matrix.columns); ++i) {
        auto* const element = const_cast<float*>(matrix.at(i, i));
        element[0] = value;
        if (matrix.width == 2) element[1] = 0;
    }
}

/// Multiplies one part of A by one of B, and adds the product to C if `beta` says so.
void multiply_parts(Level3 product, Values& a, Values& b, bool is_first_of_a) {
    product.a = a.data();
    product.b = b.empty() ? nullptr : b.data();
    if (product.diag == 'U') {
        set_diagonal(operand_a(product), is_first_of_a ? 1.0F : 0.0F);
        product.diag = 'N';
    }
    naive_level3(product);
}

/// Turns a rank-k update into a gemmt: the product of two different parts is not symmetric.
Level3 as_gemmt(Level3 product) {
    const char transposed = product.operation == Operation::herk ? 'C' : 'T';
    product.operation = Operation::gemmt;
    product.trans_b = product.trans_a == 'N' ? transposed : 'N';
    product.ldb = product.lda;
    return product;
}

/// Returns the defined elements of the result, which is C, or B for a trmm in place.
Values expected_of_parts(const Case& test_case, const Definition& format) {
    Level3 product = test_case.product;
    const bool in_place = product.operation == Operation::trmm && product.c == nullptr;
    const bool is_rank_k = product.operation == Operation::syrk || product.operation == Operation::herk;
    std::array<float, 2> alpha = test_case.alpha;
    std::array<float, 2> beta = test_case.beta;
    Values c = test_case.c;
    product.c = in_place ? nullptr : c.data();
    if (product.operation == Operation::herk) {
        alpha[1] = beta[1] = 0;
        const Matrix matrix = operand_c(product);
        for (std::int64_t i = 0; i < matrix.rows; ++i) const_cast<float*>(matrix.at(i, i))[1] = 0;
    }
    product.alpha = alpha.data();
    product.beta = beta.data();
    if (is_rank_k) product = as_gemmt(product);
    Values sum(test_case.b.size(), 0.0F);
    for (int i = format.parts; i >= 1; --i)
        for (int j = format.parts; j >= 1; --j) {
            if (i + j > format.largest_sum) continue;
            Values a = part(test_case.a, i - 1, format);
            Values b = part(is_rank_k ? test_case.a : test_case.b, j - 1, format);
            multiply_parts(product, a, b, i == 1);
            beta = {1.0F, 0.0F};
            if (in_place) std::transform(b.begin(), b.end(), sum.begin(), sum.begin(), std::plus<>());
        }
    return in_place ? sum : c;
}

/// Returns |alpha||A||B| + |beta||C|, element by element. For complex operands the real part has at most twice that.
Values magnitudes(Case test_case) {
    Level3 product = test_case.product;
    const bool in_place = product.operation == Operation::trmm && product.c == nullptr;
    const auto make_positive = [&](float* values, std::size_t count) {
        const std::size_t width = product.is_complex ? 2 : 1;
        for (std::size_t i = 0; i + width <= count; i += width) {
            const float imaginary = width == 2 && !std::isnan(values[i + 1]) ? std::fabs(values[i + 1]) : 0.0F;
            values[i] = std::fabs(values[i]) + imaginary;
            if (width == 2) values[i + 1] = 0;
        }
    };
    for (Values* values : {&test_case.a, &test_case.b, &test_case.c}) make_positive(values->data(), values->size());
    make_positive(test_case.alpha.data(), 2);
    make_positive(test_case.beta.data(), 2);
    product.alpha = test_case.alpha.data();
    product.beta = test_case.beta.data();
    product.a = test_case.a.data();
    product.b = test_case.b.empty() ? nullptr : test_case.b.data();
    product.c = in_place ? nullptr : test_case.c.data();
    naive_level3(product);
    return in_place ? test_case.b : test_case.c;
}

struct Counts {
    int same = 0;
    int gemm = 0;
    static void count_same(void* counts, const Level3& product) {
        ++static_cast<Counts*>(counts)->same;
        naive_level3(product);
    }
    static void count_gemm(void* counts, const Level3& product) {
        ++static_cast<Counts*>(counts)->gemm;
        naive_level3(product);
    }
};

/// Largest errors of a product, in units of |alpha||A||B| + |beta||C|.
struct Errors {
    double against_parts = 0;
    double against_whole = 0;
};

Errors errors_of(const float* found, const Values& of_parts, const Values& of_whole, const Values& magnitude,
                 std::size_t width) {
    Errors errors;
    for (std::size_t i = 0; i < of_parts.size(); ++i) {
        const double unit = magnitude[i / width * width];
        if (std::isnan(of_parts[i])) {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(of_whole[i]));
            continue;
        }
        const double difference = std::fabs(static_cast<double>(found[i]) - of_parts[i]);
        if (unit == 0) {
            EXPECT_EQ(difference, 0);
            continue;
        }
        errors.against_parts = std::max(errors.against_parts, difference / unit);
        const double error = std::fabs(static_cast<double>(found[i]) - of_whole[i]);
        errors.against_whole = std::max(errors.against_whole, error / unit);
    }
    return errors;
}

struct Checked {
    EmulationResult result{};
    Counts counts;
    Errors errors;
};

Checked check(const Case& test_case, const Definition& format, std::size_t limit) {
    SCOPED_TRACE(std::string(format.name) + ", " + test_case.description() + ", " + std::to_string(limit) + " bytes");
    Placed placed = place(test_case);
    Checked checked;
    checked.result = emulate(placed.product, format.preview, {Counts::count_same, &checked.counts},
                             {Counts::count_gemm, &checked.counts}, limit);
    const bool in_place = test_case.product.operation == Operation::trmm && test_case.product.c == nullptr;
    EXPECT_TRUE(placed.a.has_the_bits_of(test_case.a)) << "A was changed";
    if (!in_place) {
        EXPECT_TRUE(placed.b.has_the_bits_of(test_case.b)) << "B was changed";
    }
    if (checked.result != EmulationResult::done) {
        EXPECT_TRUE(placed.b.has_the_bits_of(test_case.b)) << "B was changed";
        EXPECT_TRUE(placed.c.has_the_bits_of(test_case.c)) << "C was changed";
        EXPECT_EQ(checked.counts.same + checked.counts.gemm, 0);
        return checked;
    }
    if (test_case.product.operation == Operation::herk || test_case.product.operation == Operation::her2k) {
        const Matrix c = operand_c(placed.product);
        for (std::int64_t i = 0; i < c.rows; ++i) EXPECT_EQ(c.at(i, i)[1], 0) << "the diagonal is not real";
    }
    Placed whole = place(test_case);
    naive_level3(whole.product);
    const auto* const truth = static_cast<const float*>(in_place ? whole.product.b : whole.product.c);
    const Values of_parts = expected_of_parts(test_case, format);
    checked.errors = errors_of(static_cast<const float*>(in_place ? placed.product.b : placed.product.c), of_parts,
                               Values(truth, truth + of_parts.size()), magnitudes(test_case),
                               test_case.product.is_complex ? 2 : 1);
    EXPECT_LE(checked.errors.against_parts, 0x1p-21);
    EXPECT_LE(checked.errors.against_whole, format.worst_error);
    return checked;
}

class EveryProductOfParts : public EveryOperation {
  protected:
    bool is_rank_k() const { return operation() == Operation::syrk || operation() == Operation::herk; }
};

TEST_P(EveryProductOfParts, IsTheSumOfTheProductsOfTheDefinition) {
    for (const Definition& format : definitions)
        for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 3, 4}, {16, 17, 9}})
            for_cases(m, n, k, [&](const Case& test_case) {
                const Checked checked = check(test_case, format, unlimited);
                EXPECT_EQ(checked.result, EmulationResult::done);
                EXPECT_EQ(checked.counts.same, is_rank_k() ? 0 : format.products);
                EXPECT_EQ(checked.counts.gemm, is_rank_k() ? format.products : 0);
            });
}

TEST_P(EveryProductOfParts, HasTheErrorOfItsFormatAndNoLess) {
    double error[std::size(definitions)] = {};
    for (std::size_t i = 0; i < std::size(definitions); ++i)
        for_cases(16, 17, 3, [&](const Case& test_case) {
            error[i] = std::max(error[i], check(test_case, definitions[i], unlimited).errors.against_whole);
        });
    EXPECT_GT(error[0], 0x1p-20) << "bf16x2";
    EXPECT_GT(error[0], 8 * error[1]) << "bf16x2 and bf16x3";
}

TEST_P(EveryProductOfParts, RunsInBlocksAndStaysUntouchedWhereMemoryIsTooSmall) {
    int in_blocks = 0;
    int untouched = 0;
    for (const Definition& format : {definitions[0], definitions[2]})
        for (const auto& [m, n, k] : {std::tuple{13, 9, 7}, {5, 20, 6}})
            for (const std::size_t limit : {64U, 320U, 640U, 1280U, 2560U})
                for_cases(m, n, k, [&](const Case& test_case) {
                    const Checked checked = check(test_case, format, limit);
                    if (checked.counts.same + checked.counts.gemm > format.products) ++in_blocks;
                    if (checked.result == EmulationResult::scratch_limit) ++untouched;
                });
    EXPECT_GT(in_blocks, 0);
    EXPECT_GT(untouched, 0);
}

INSTANTIATE_TEST_SUITE_P(Float32, EveryProductOfParts, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex64, EveryProductOfParts, complex_operations, name_of);

/// Returns part `which` of A, from 1, as the loops make it for its product with B's part 1.
Values get_or_make_part(const Definition& format, int which, const Values& values) {
    const auto products = blas::products_of_parts(format.preview);
    const int position[] = {0, 1, 3, 6};  // position, counted from the end, of the product of parts `which` and 1
    Values result(values.size());
    products[products.size() - static_cast<std::size_t>(position[which])].round_a(values.data(), result.data(),
                                                                                  values.size());
    return result;
}

TEST(Parts, AreTheRoundedRestsOfEachNumber) {
    std::mt19937 random(7);
    Values values(1000);
    for (float& value : values)  // keeps exponents so large that rests are not subnormal
        value =
            std::bit_cast<float>(static_cast<std::uint32_t>((random() & 0x807fffffU) | (60 + random() % 130) << 23U));
    for (const Definition& format : definitions)
        for (int which = 1; which <= format.parts; ++which) {
            const Values made = get_or_make_part(format, which, values);
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(made[i], parts_of(values[i], format)[static_cast<std::size_t>(which - 1)]) << format.name;
        }
}

TEST(Parts, OfRankKUpdatesRunInSeveralPanelsOfTheTriangle) {
    for (const auto& [operation, is_complex] : {std::pair{Operation::syrk, false}, {Operation::herk, true}})
        for_every_case(operation, is_complex, 0, 300, 2, [](const Case& test_case) {
            const Checked checked = check(test_case, definitions[0], unlimited);
            EXPECT_EQ(checked.counts.gemm, 3 * 3) << "two squares on the diagonal, one rectangle beside it";
        });
}

TEST(Parts, GiveInfinitiesAndNanAsFloat32Does) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const Definition& format : definitions) {
        Case test_case = plain_gemm(6, 5, 4);
        for (float& value : test_case.b) value = 1.0F;  // 1 is exact in every format, so no rest remains
        test_case.a[0] = std::numeric_limits<float>::quiet_NaN();
        test_case.a[1] = infinity;
        test_case.a[2] = -infinity;
        test_case.a[3] = infinity;
        test_case.a[9] = -infinity;
        Placed placed = place(test_case);
        Counts counts;
        emulate(placed.product, format.preview, {Counts::count_same, &counts}, {}, unlimited);
        const auto* const c = static_cast<const float*>(placed.product.c);
        for (int j = 0; j < 5; ++j) {
            EXPECT_TRUE(std::isnan(c[6 * j])) << format.name;
            EXPECT_EQ(c[6 * j + 1], infinity) << format.name;
            EXPECT_EQ(c[6 * j + 2], -infinity) << format.name;
            EXPECT_TRUE(std::isnan(c[6 * j + 3])) << format.name << ": infinity minus infinity";
            EXPECT_TRUE(std::isfinite(c[6 * j + 4])) << format.name;
        }
    }
}

TEST(Parts, RaiseNoFloatingPointException) {
    Values values(600, std::numeric_limits<float>::infinity());
    values[1] = std::numeric_limits<float>::max();
    values[2] = std::numeric_limits<float>::quiet_NaN();
    values[3] = 0.1F;
    Values parts(values.size());
    for (const Definition& format : definitions)
        for (const blas::RoundedProduct& product : blas::products_of_parts(format.preview)) {
            std::feclearexcept(FE_ALL_EXCEPT);
            product.round_a(values.data(), parts.data(), values.size());
            product.round_b(values.data(), parts.data(), values.size());
            EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0) << format.name;
        }
}

TEST(Parts, OfOneMatrixThatIsBothOperandsAreCopiedSeparately) {
    Case test_case = plain_gemm(20, 20, 20, 'N', 'T');
    Placed placed = place(test_case);
    placed.product.b = placed.product.a;
    test_case.b = test_case.a;
    for (const Definition& format : definitions) {
        Counts counts;
        emulate(placed.product, format.preview, {Counts::count_same, &counts}, {}, unlimited);
        const Values expected = expected_of_parts(test_case, format);
        const auto* const c = static_cast<const float*>(placed.product.c);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_LE(std::fabs(c[i] - expected[i]), 0x1p-21 * magnitudes(test_case)[i]) << format.name;
    }
}

}  // namespace
}  // namespace fp32shim::tests
