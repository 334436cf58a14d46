// Tests triangular solves in a fixed order: right for every side, triangle, transposition, diagonal, layout and type,
// and the same bits by every instruction set and number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "fixed_order_cases.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::Level3;
using Wide = std::complex<long double>;

/// A solve, whose solution is known if that is asked for. Elements that must not be read are signalling NaN.
template <class Number>
struct Problem {
    Level3 solve;
    Number alpha = Number(1.5F);
    std::vector<Number> a, b, solution;

    static constexpr bool is_complex = !std::is_floating_point_v<Number>;

    Problem(Level3 arguments, std::uint32_t seed, bool has_known_solution = false) : solve(arguments) {
        solve.operation = blas::Operation::trsm;
        solve.is_complex = is_complex;
        solve.is_double = sizeof(Number) == (is_complex ? 16 : 8);
        if constexpr (is_complex) alpha = Number(1.5F, -0.25F);
        const std::int64_t order = solve.side == 'L' ? solve.m : solve.n;
        solve.lda = order + 2;
        solve.ldb = (solve.row_major ? solve.n : solve.m) + 1;
        const Number poison(std::numeric_limits<float>::signaling_NaN());
        a.assign(static_cast<std::size_t>(order * solve.lda), poison);
        b.assign(static_cast<std::size_t>((solve.row_major ? solve.m : solve.n) * solve.ldb), poison);
        std::mt19937 random(seed);
        for (std::int64_t i = 0; i < order; ++i)
            for (std::int64_t j = 0; j < order; ++j) {
                const bool is_stored = solve.uplo == 'U' ? i <= j : i >= j;
                if (!is_stored || (i == j && solve.diag == 'U')) continue;
                at(a, solve.lda, i, j) =
                    i == j ? Number(2) + any(random) : any(random) / Number(static_cast<float>(order));
            }
        solution = b;
        for (std::int64_t i = 0; i < solve.m; ++i)
            for (std::int64_t j = 0; j < solve.n; ++j) at(solution, solve.ldb, i, j) = any(random);
        if (!has_known_solution) {
            b.swap(solution);
            return;
        }
        for (std::int64_t i = 0; i < solve.m; ++i)
            for (std::int64_t j = 0; j < solve.n; ++j) {
                Wide sum = 0;
                for (std::int64_t p = 0; p < order; ++p)
                    sum += solve.side == 'L' ? op(i, p) * Wide(at(solution, solve.ldb, p, j))
                                             : Wide(at(solution, solve.ldb, i, p)) * op(p, j);
                if constexpr (is_complex)
                    at(b, solve.ldb, i, j) = Number(sum / Wide(alpha));
                else
                    at(b, solve.ldb, i, j) = static_cast<Number>(sum.real() / alpha);
            }
    }

    static Number any(std::mt19937& random) {
        const auto part = [&] { return std::uniform_real_distribution<float>(-1, 1)(random); };
        if constexpr (is_complex)
            return Number(part(), part());
        else
            return part();
    }
    Number& at(std::vector<Number>& of, std::int64_t ld, std::int64_t i, std::int64_t j) const {
        return of[static_cast<std::size_t>(solve.row_major ? i * ld + j : i + j * ld)];
    }
    Wide op(std::int64_t i, std::int64_t j) {
        if (solve.trans_a != 'N') std::swap(i, j);
        if (i == j && solve.diag == 'U') return 1;
        if (solve.uplo == 'U' ? i > j : i < j) return 0;
        const Wide value = at(a, solve.lda, i, j);
        return solve.trans_a == 'C' ? std::conj(value) : value;
    }

    template <class By>
    std::vector<Number> solved(By by) const {
        Level3 placed = solve;
        std::vector<Number> x = b;
        placed.alpha = &alpha;
        placed.a = a.data();
        placed.b = x.data();
        EXPECT_TRUE(blas::multiply_in_fixed_order(placed, by));
        return x;
    }
};

template <class Number>
bool have_same_bits(const std::vector<Number>& x, const std::vector<Number>& y) {
    return std::memcmp(x.data(), y.data(), x.size() * sizeof(Number)) == 0;
}

template <class Number>
class SolvesInAFixedOrder : public testing::Test {
  protected:
    template <class Check>
    void for_every_problem(std::int64_t m, std::int64_t n, const Check& check) {
        std::uint32_t seed = 0;
        for (const bool row_major : {false, true})
            for (const char side : {'L', 'R'})
                for (const char uplo : {'U', 'L'})
                    for (const char trans : {'N', 'T', 'C'})
                        for (const char diag : {'N', 'U'}) {
                            Level3 solve{.row_major = row_major,
                                         .side = side,
                                         .uplo = uplo,
                                         .trans_a = trans,
                                         .diag = diag,
                                         .m = m,
                                         .n = n};
                            SCOPED_TRACE((std::string{row_major ? 'r' : 'c', side, uplo, trans, diag}));
                            check(solve, ++seed);
                        }
    }
};

using NumbersOfSolves = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(SolvesInAFixedOrder, NumbersOfSolves);

TYPED_TEST(SolvesInAFixedOrder, FindTheSolutionAndTouchNothingElse) {
    const auto check = [](const Level3& solve, std::uint32_t seed) {
        const Problem<TypeParam> problem(solve, seed, true);
        const std::vector<TypeParam> x = problem.solved(blas::one_thread);
        const double near = problem.solve.is_double ? 1e-13 : 1e-4;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (std::isnan(std::abs(problem.solution[i])))
                ASSERT_EQ(std::memcmp(&x[i], &problem.b[i], sizeof x[i]), 0) << "outside the matrix: " << i;
            else
                ASSERT_LT(std::abs(x[i] - problem.solution[i]), near) << i;
        }
    };
    this->for_every_problem(5, 7, check);
    this->for_every_problem(1, 3, check);
    this->for_every_problem(70, 33, check);
    this->for_every_problem(33, 70, check);
}

TYPED_TEST(SolvesInAFixedOrder, HaveTheSameBitsByEveryInstructionSetAndForAColumnOfManyOrOne) {
    this->for_every_problem(135, 70, [](const Level3& solve, std::uint32_t seed) {
        if (seed % test::one_case_in != 0) return;
        const Problem<TypeParam> problem(solve, seed);
        const std::vector<TypeParam> expected = problem.solved(blas::one_thread);
        for (const InstructionSet by : instruction_sets_here())
            EXPECT_TRUE(have_same_bits(problem.solved(by), expected));
        Problem<TypeParam> single = problem;
        (problem.solve.side == 'L' ? single.solve.n : single.solve.m) = 1;
        std::vector<TypeParam> alone = single.solved(blas::one_thread);
        std::vector<TypeParam> many = expected;
        for (std::int64_t i = 0; i < single.solve.m; ++i)
            for (std::int64_t j = 0; j < single.solve.n; ++j)
                ASSERT_EQ(problem.at(alone, problem.solve.ldb, i, j), problem.at(many, problem.solve.ldb, i, j));
    });
}

TYPED_TEST(SolvesInAFixedOrder, OfAVectorHaveTheBitsOfAMatrixOfOneColumnForEveryIncrement) {
    this->for_every_problem(150, 1, [](const Level3& solve, std::uint32_t seed) {
        if (solve.side == 'R') return;
        const Problem<TypeParam> problem(solve, seed);
        // The triangle is the left factor of a column-major solve.
        Problem<TypeParam> matrix = problem;
        matrix.alpha = TypeParam(1);
        if (solve.row_major) {
            matrix.solve.row_major = false;
            matrix.solve.uplo = solve.uplo == 'U' ? 'L' : 'U';
            matrix.solve.trans_a = solve.trans_a == 'N' ? 'T' : solve.trans_a == 'T' ? 'N' : 'R';
            matrix.solve.ldb = solve.m;
            for (std::int64_t i = 0; i < solve.m; ++i)
                matrix.b[static_cast<std::size_t>(i)] = problem.b[static_cast<std::size_t>(i * solve.ldb)];
        }
        const std::vector<TypeParam> expected = matrix.solved(blas::one_thread);
        for (const std::int64_t increment : {1, 2, -1, -3}) {
            const auto place = [&](std::int64_t i) {
                return static_cast<std::size_t>((increment < 0 ? i - (solve.m - 1) : i) * increment);
            };
            std::vector<TypeParam> x(static_cast<std::size_t>(solve.m * std::abs(increment)));
            for (std::int64_t i = 0; i < solve.m; ++i) x[place(i)] = matrix.b[static_cast<std::size_t>(i)];
            Level3 vector = problem.solve;
            vector.operation = blas::Operation::trsv;
            vector.n = solve.m;
            vector.m = 0;
            vector.a = problem.a.data();
            vector.b = x.data();
            vector.ldb = increment;
            ASSERT_TRUE(blas::multiply_in_fixed_order(vector, blas::one_thread));
            for (std::int64_t i = 0; i < solve.m; ++i)
                ASSERT_EQ(std::memcmp(&x[place(i)], &expected[static_cast<std::size_t>(i)], sizeof(TypeParam)), 0)
                    << increment << ' ' << i;
        }
    });
}

TYPED_TEST(SolvesInAFixedOrder, HaveTheSameBitsOnThreeThreads) {
    this->for_every_problem(375, 375, [](const Level3& solve, std::uint32_t seed) {
        if (seed % 11 != 0) return;  // only some, since these are large enough for two threads
        const Problem<TypeParam> problem(solve, seed);
        EXPECT_TRUE(have_same_bits(problem.solved(three_threads), problem.solved(blas::one_thread)));
    });
}

TEST(SolveInAFixedOrder, ByAlphaZeroReadsNothing) {
    Problem<float> problem({.side = 'L', .uplo = 'L', .trans_a = 'N', .diag = 'N', .m = 9, .n = 4}, 1);
    problem.alpha = 0;
    for (float& number : problem.a) number = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x = problem.solved(blas::one_thread);
    for (std::int64_t j = 0; j < 4; ++j)
        for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(x[static_cast<std::size_t>(i + j * 10)], 0);
}

}  // namespace
}  // namespace fp32shim::tests
