// Tests the emulation with a naive routine as the provider's. Its results must be bitwise those of the same routine
// on operands rounded by the definition, however small the scratch memory and however many the blocks.
#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/arguments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
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
using blas::Routine;

/// Imitates the provider: calls the naive routine, and examines the arguments.
struct Provider {
    const Level3* program = nullptr;  ///< the product that the program asked for
    int calls = 0;
    std::size_t scratch_seen = 0;  ///< largest distance, in one call, between the ends of its copies
    std::string complaint;

    void call(const Level3& product) {
        ++calls;
        if (!arguments_are_valid(product)) complaint = "arguments of a block are not valid";
        if (product.row_major != program->row_major) complaint = "layout was changed";
        const Matrix a = operand_a(product);
        const bool b_is_copy = product.b != nullptr && product.b != program->b;
        const Matrix b = b_is_copy ? operand_b(product) : a;
        const auto end = [](const Matrix& m) { return m.data + (m.ld * (m.outer() - 1) + m.inner()) * m.width; };
        const auto* const first = std::min(a.data, b.data);
        scratch_seen =
            std::max(scratch_seen, sizeof(float) * static_cast<std::size_t>(std::max(end(a), end(b)) - first));
        naive_level3(product);
    }
    static void entry(void* context, const Level3& product) { static_cast<Provider*>(context)->call(product); }
    Routine routine() { return {entry, this}; }
};

struct Outcome {
    EmulationResult result{};
    int same_calls = 0;
    int gemm_calls = 0;
};

/// Emulates a case in guarded memory, and compares all of A, B and C bit by bit.
Outcome check(const Case& test_case, std::size_t limit, OperandRounding rounding = OperandRounding::tf32_away) {
    SCOPED_TRACE(test_case.description() + ", " + std::to_string(limit) + " bytes");
    Placed placed = place(test_case);
    EXPECT_TRUE(arguments_are_valid(placed.product));
    EXPECT_TRUE(multiplies(placed.product));
    Provider same{&placed.product, 0, 0, {}};
    Provider gemm{&placed.product, 0, 0, {}};
    const EmulationResult result = emulate(placed.product, rounding, same.routine(), gemm.routine(), limit);
    EXPECT_EQ(same.complaint + gemm.complaint, "");
    EXPECT_LE(same.scratch_seen, limit);
    EXPECT_LE(gemm.scratch_seen, limit);
    if (result == EmulationResult::done) {
        const Expected expected = expected_after(test_case, rounding);
        EXPECT_TRUE(placed.a.has_the_bits_of(expected.a)) << "A was changed";
        EXPECT_TRUE(placed.b.has_the_bits_of(expected.b)) << "B is not as expected";
        EXPECT_TRUE(placed.c.has_the_bits_of(expected.c)) << "C is not as expected";
    } else {
        EXPECT_EQ(same.calls + gemm.calls, 0);
        EXPECT_TRUE(placed.a.has_the_bits_of(test_case.a)) << "A was changed";
        EXPECT_TRUE(placed.b.has_the_bits_of(test_case.b)) << "B was changed";
        EXPECT_TRUE(placed.c.has_the_bits_of(test_case.c)) << "C was changed";
    }
    return {result, same.calls, gemm.calls};
}

class EveryProduct : public EveryOperation {};

TEST_P(EveryProduct, IsTheRoutinesOwnResultOnRoundedOperands) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 3, 4}, {16, 17, 33}, {70, 66, 65}})
        for_cases(m, n, k, [](const Case& test_case) {
            const Outcome outcome = check(test_case, unlimited);
            EXPECT_EQ(outcome.result, EmulationResult::done);
            EXPECT_EQ(outcome.same_calls, 1);
            EXPECT_EQ(outcome.gemm_calls, 0);
        });
}

TEST_P(EveryProduct, RoundsInEachOfTheFourWays) {
    for (const OperandRounding rounding : {OperandRounding::tf32_away, OperandRounding::tf32_even,
                                           OperandRounding::tf32_truncate, OperandRounding::bf16_even})
        for_cases(7, 9, 8, [&](const Case& test_case) { check(test_case, unlimited, rounding); });
}

TEST_P(EveryProduct, HasTheSameBitsInBlocksAsAtOnce) {
    int in_blocks = 0;
    for (const auto& [m, n, k] : {std::tuple{23, 19, 7}, {9, 40, 12}, {40, 9, 12}, {33, 34, 1}})
        for (const std::size_t limit : {64U, 128U, 192U, 320U, 640U, 960U, 1280U, 1536U, 2560U, 5120U})
            for_cases(m, n, k, [&](const Case& test_case) {
                const Outcome outcome = check(test_case, limit);
                if (outcome.same_calls + outcome.gemm_calls > 1) ++in_blocks;
            });
    EXPECT_GT(in_blocks, 0);
}

TEST_P(EveryProduct, StaysUntouchedWhereNotEvenOneRowAndOneColumnFit) {
    for_cases(20, 21, 22, [](const Case& test_case) {
        const Outcome outcome = check(test_case, 32);
        EXPECT_EQ(outcome.result, EmulationResult::scratch_limit);
    });
}

INSTANTIATE_TEST_SUITE_P(Float32, EveryProduct, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex64, EveryProduct, complex_operations, name_of);

TEST(Emulate, MultipliesPanelsOfASingleColumnWhenTheSummedDimensionIsHuge) {
    constexpr std::int64_t k = 10000;
    for (const char trans_a : {'N', 'T'})
        for (const char trans_b : {'N', 'T'}) {
            const Outcome outcome = check(plain_gemm(3, 2, k, trans_a, trans_b), 2 * (k + 48) * sizeof(float));
            EXPECT_EQ(outcome.result, EmulationResult::done);
            EXPECT_EQ(outcome.same_calls, 6);
        }
}

TEST(Emulate, RoundsAsLittleAsItCanWhenOneOperandFits) {
    // A is 64x64 and stays in scratch memory; B is 64x640 and passes through it in a few wide panels.
    const Outcome outcome = check(plain_gemm(64, 640, 64), (64 * 80 + 160 * 80) * sizeof(float));
    EXPECT_EQ(outcome.result, EmulationResult::done);
    EXPECT_LE(outcome.same_calls, 5);
}

TEST(Emulate, NeedsGemmForTheBlocksBesideTheDiagonal) {
    for (const Operation operation : {Operation::gemmt, Operation::syrk, Operation::syr2k})
        for_every_case(operation, false, 0, 40, 16, [](const Case& test_case) {
            const Outcome outcome = check(test_case, 2048);
            EXPECT_EQ(outcome.result, EmulationResult::done);
            EXPECT_GT(outcome.same_calls, 1);
            EXPECT_GT(outcome.gemm_calls, 0);
            Placed placed = place(test_case);
            Provider same{&placed.product, 0, 0, {}};
            EXPECT_EQ(emulate(placed.product, OperandRounding::tf32_away, same.routine(), {}, 2048),
                      EmulationResult::scratch_limit);
            EXPECT_EQ(same.calls, 0);
            EXPECT_TRUE(placed.c.has_the_bits_of(test_case.c));
        });
}

TEST(Emulate, StreamsSeveralPanelsPastThoseItKeepsOfATriangle) {
    for (const Operation operation : {Operation::gemmt, Operation::syrk, Operation::syr2k})
        for_every_case(operation, false, 0, 800, 1, [](const Case& test_case) {
            // Space for two kept panels of 256 and one streamed panel; twice that for rank-2k updates.
            const bool has_two_terms = test_case.product.operation == Operation::syr2k;
            const Outcome outcome = check(test_case, (has_two_terms ? 2 : 1) * 790 * sizeof(float));
            EXPECT_EQ(outcome.result, EmulationResult::done);
            EXPECT_EQ(outcome.same_calls, 4);
        });
}

TEST(Emulate, FillsInASymmetricOperandThatDoesNotFit) {
    for (const Operation operation : {Operation::symm, Operation::hemm})
        for_every_case(operation, true, 30, 31, 0, [](const Case& test_case) {
            const Outcome outcome = check(test_case, 4096);
            EXPECT_EQ(outcome.result, EmulationResult::done);
            EXPECT_EQ(outcome.same_calls, 0);
            EXPECT_GT(outcome.gemm_calls, 1);
        });
}

TEST(Emulate, RoundsOnceWhereBothOperandsAreTheSameMatrix) {
    Case test_case = plain_gemm(20, 20, 20, 'N', 'T');
    Placed placed = place(test_case);
    placed.product.b = placed.product.a;
    struct Seen {
        bool same_copy = false;
        static void entry(void* context, const Level3& product) {
            static_cast<Seen*>(context)->same_copy = product.a == product.b && product.lda == product.ldb;
            naive_level3(product);
        }
    } seen;
    emulate(placed.product, OperandRounding::tf32_away, {Seen::entry, &seen}, {}, unlimited);
    EXPECT_TRUE(seen.same_copy);
    test_case.b = test_case.a;
    EXPECT_TRUE(placed.c.has_the_bits_of(expected_after(test_case, OperandRounding::tf32_away).c));
}

TEST(Emulate, TakesOverlappingOperandsForWhatTheyAre) {
    // B overlaps A, starting one column later.
    Case test_case = plain_gemm(8, 8, 8);
    test_case.a.resize(9 * 8, 0.1F);
    Placed placed = place(test_case);
    placed.product.b = placed.a.data() + 8;
    Provider same{&placed.product, 0, 0, {}};
    emulate(placed.product, OperandRounding::tf32_away, same.routine(), {}, unlimited);
    test_case.b.assign(test_case.a.begin() + 8, test_case.a.end());
    EXPECT_TRUE(placed.c.has_the_bits_of(expected_after(test_case, OperandRounding::tf32_away).c));
}

TEST(Emulate, PassesNanAndInfinityOnToTheRoutine) {
    Case test_case = plain_gemm(6, 5, 4);
    test_case.a[0] = std::numeric_limits<float>::quiet_NaN();
    test_case.a[1] = std::numeric_limits<float>::infinity();
    test_case.a[2] = std::numeric_limits<float>::max();
    Placed placed = place(test_case);
    Provider same{&placed.product, 0, 0, {}};
    emulate(placed.product, OperandRounding::tf32_away, same.routine(), {}, unlimited);
    const auto* const c = static_cast<const float*>(placed.product.c);
    for (int j = 0; j < 5; ++j) {
        EXPECT_TRUE(std::isnan(c[6 * j]));
        EXPECT_TRUE(std::isinf(c[6 * j + 1]));
        EXPECT_TRUE(std::isinf(c[6 * j + 2])) << "the largest float is beyond the largest TF32";
        EXPECT_TRUE(std::isfinite(c[6 * j + 3]));
    }
}

}  // namespace
}  // namespace fp32shim::tests
