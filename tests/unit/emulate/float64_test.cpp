// Tests the emulation with operands of float64: the cases of float32, with numbers that a float32 cannot hold.
// Results must be bitwise those of the naive routine on operands rounded by the definition.
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "emulate_cases.hpp"
#include "float64_cases.hpp"
#include "naive_level3.hpp"
#include "shim/blas/emulate/in_float32.hpp"
#include "shim/blas/emulate/operand.hpp"
#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::tests {
namespace {

using blas::EmulationResult;
using blas::Level3;
using blas::Matrix;
using blas::OperandRounding;
using blas::Operation;
using blas::Part;
using blas::Preview;

void call_naive(void* count, const Level3& product) {
    ++*static_cast<int*>(count);
    naive_level3(product);
}

/// Emulates a case in guarded memory, and compares B and C with those of `expected_b` and `expected_c` bit by bit.
/// Returns the number of calls.
int check(const Float64Case& a_case, Preview preview, std::size_t limit, const Doubles& expected_b,
          const Doubles& expected_c) {
    GuardedFloats a(a_case.a), b(a_case.b), c(a_case.c);
    int calls = 0;
    const auto result = emulate(a_case.pointing_to(a.data(), b.data(), c.data()), preview, {call_naive, &calls},
                                {call_naive, &calls}, limit);
    const bool is_done = result == EmulationResult::done;
    EXPECT_EQ(is_done, calls > 0);
    EXPECT_TRUE(a.has_the_bits_of(a_case.a)) << "A was changed";
    EXPECT_TRUE(b.has_the_bits_of(is_done ? expected_b : a_case.b)) << "B is not as expected";
    EXPECT_TRUE(c.has_the_bits_of(is_done ? expected_c : a_case.c)) << "C is not as expected";
    return calls;
}

/// Returns B and C of a case after the naive routine on changed operands.
std::pair<Doubles, Doubles> after_naive(Float64Case a_case, const Doubles& a, const Doubles& b) {
    const Doubles before = a_case.b;
    a_case.a = a;
    a_case.b = b;
    naive_level3(a_case.pointing_to(a_case.a.data(), a_case.b.data(), a_case.c.data()));
    const bool in_place = a_case.c.empty();
    return {in_place ? a_case.b : before, a_case.c};
}

float as_float(double value) { return static_cast<float>(value); }
double as_tf32(double value) {
    float single = as_float(value);
    rounding_kernel(OperandRounding::tf32_away)(&single, &single, 1);
    return single;
}

class Float64 : public EveryOperation {};

TEST_P(Float64, IsTheRoutinesOwnResultOnOperandsRoundedToFloat32AndThenToTheFormat) {
    int in_blocks = 0;
    for (const std::size_t limit :
         {unlimited, std::size_t{640}, std::size_t{2560}, std::size_t{6000}, std::size_t{8192}})
        for_cases(23, 19, 7, [&](const Case& single) {
            SCOPED_TRACE(single.description());
            const Float64Case a_case(single);
            const auto [b, c] = after_naive(a_case, changed(a_case.a, as_float), changed(a_case.b, as_float));
            in_blocks += check(a_case, OperandRounding::fp32_whole, limit, b, c) > 1 ? 1 : 0;
            const auto [b2, c2] = after_naive(a_case, changed(a_case.a, as_tf32), changed(a_case.b, as_tf32));
            check(a_case, OperandRounding::tf32_away, limit, b2, c2);
        });
    EXPECT_GT(in_blocks, 0);
}

std::vector<float> narrowed(const Doubles& doubles) {
    std::vector<float> floats(doubles.size() / 2);
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = as_float(number(doubles, i));
    return floats;
}

/// Returns `doubles`, in which numbers that differ between `start` and `end` are replaced by those of `end`.
Doubles with_changes(Doubles doubles, const std::vector<float>& start, const std::vector<float>& end) {
    for (std::size_t i = 0; i < start.size(); ++i)
        if (std::memcmp(&start[i], &end[i], sizeof start[i]) != 0) set(&doubles[2 * i], end[i]);
    return doubles;
}

TEST_P(Float64, IsTheResultOfTheRoutineOfFloat32OnCopies) {
    int in_blocks = 0;
    for (const std::size_t limit :
         {unlimited, std::size_t{640}, std::size_t{2560}, std::size_t{6000}, std::size_t{8192}})
        for_cases(23, 19, 7, [&](const Case& single) {
            SCOPED_TRACE(single.description());
            const Float64Case a_case(single);
            std::vector<float> a = narrowed(a_case.a), b = narrowed(a_case.b), c = narrowed(a_case.c);
            const std::vector<float> start_b = b, start_c = c;
            const float alpha[2] = {as_float(a_case.alpha[0]), as_float(a_case.alpha[1])};
            const float beta[2] = {as_float(a_case.beta[0]), as_float(a_case.beta[1])};
            Level3 by_floats = a_case.pointing_to(a.data(), b.data(), c.data());
            by_floats.is_double = false;
            by_floats.alpha = alpha;
            if (by_floats.beta != nullptr) by_floats.beta = beta;
            naive_level3(by_floats);

            GuardedFloats to_a(a_case.a), to_b(a_case.b), to_c(a_case.c);
            const Level3 placed = a_case.pointing_to(to_a.data(), to_b.data(), to_c.data());
            GuardedFloats memory(std::vector<float>(float32_copy_bytes(placed) / sizeof(float)));
            int calls = 0;
            blas::Float32Routine in_float32{{call_naive, &calls}, reinterpret_cast<char*>(memory.data())};
            const blas::Routine routine{blas::call_in_float32, &in_float32};
            if (emulate(placed, OperandRounding::fp32_whole, routine, routine, limit) != EmulationResult::done)
                return;
            in_blocks += calls > 1 ? 1 : 0;
            EXPECT_TRUE(to_a.has_the_bits_of(a_case.a)) << "A was changed";
            EXPECT_TRUE(to_b.has_the_bits_of(with_changes(a_case.b, start_b, b))) << "B is not as expected";
            EXPECT_TRUE(to_c.has_the_bits_of(with_changes(a_case.c, start_c, c))) << "C is not as expected";
        });
    EXPECT_GT(in_blocks, 0);
}

// --- fixed-point numbers, by their definition ---

using Complex = std::complex<double>;

/// Rounds the numbers of each line of a dense matrix: of each row, or of each column.
void round_lines(std::vector<Complex>& dense, std::int64_t rows, std::int64_t columns, bool by_rows, int bits) {
    const auto at = [&](std::int64_t line, std::int64_t i) -> Complex& {
        return dense[static_cast<std::size_t>(by_rows ? line * columns + i : i * columns + line)];
    };
    for (std::int64_t line = 0; line < (by_rows ? rows : columns); ++line) {
        const std::int64_t length = by_rows ? columns : rows;
        double largest = 0;
        for (std::int64_t i = 0; i < length; ++i)
            largest = std::max({largest, std::abs(at(line, i).real()), std::abs(at(line, i).imag())});
        if (largest == 0) continue;
        const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 - bits);
        const auto rounded = [unit](double value) { return std::nearbyint(value / unit) * unit; };
        for (std::int64_t i = 0; i < length; ++i)
            at(line, i) = {rounded(at(line, i).real()), rounded(at(line, i).imag())};
    }
}

/// A factor of a product, dense and by rows.
struct Dense {
    std::int64_t rows, columns;
    std::vector<Complex> values;

    Complex& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
};

Complex element(const Matrix& matrix, std::int64_t i, std::int64_t j) {
    double parts[2] = {};
    std::memcpy(parts, matrix.at(i, j), sizeof(double) * (matrix.is_complex ? 2 : 1));
    return {parts[0], parts[1]};
}

/// Returns op(X) of a stored matrix, or the whole A of which one triangle is stored.
Dense dense(const Level3& product, const Matrix& matrix, char trans, bool is_a) {
    const Part part = is_a ? part_of_a(product) : Part::whole;
    const bool transposed = trans == 'T' || trans == 'C';
    const bool conjugated = trans == 'C' || trans == 'R';
    Dense result{transposed ? matrix.columns : matrix.rows, transposed ? matrix.rows : matrix.columns, {}};
    result.values.resize(static_cast<std::size_t>(matrix.rows * matrix.columns));
    for (std::int64_t i = 0; i < matrix.rows; ++i)
        for (std::int64_t j = 0; j < matrix.columns; ++j) {
            const bool is_stored = part == Part::whole || (part == Part::upper ? i <= j : i >= j);
            const bool is_triangle = product.operation == Operation::trmm;
            Complex value;
            if (is_triangle && is_a && i == j && product.diag == 'U')
                value = 1;
            else if (is_stored)
                value = element(matrix, i, j);
            else if (!is_triangle)
                value = element(matrix, j, i);
            if (product.operation == Operation::hemm && is_a && i == j) value = value.real();
            if (product.operation == Operation::hemm && is_a && !is_stored) value = std::conj(value);
            result.at(transposed ? j : i, transposed ? i : j) = conjugated ? std::conj(value) : value;
        }
    return result;
}

/// Adds alpha left right to what is expected of C, or stores it, with the written triangle and the arithmetic of the
/// naive routine.
class ExpectedC {
  public:
    ExpectedC(const Level3& product, Matrix result) : product_(product), result_(result) {}

    void update(const Dense& left, const Dense& right, Complex alpha, Complex beta) const {
        for (std::int64_t i = 0; i < left.rows; ++i)
            for (std::int64_t j = 0; j < right.columns; ++j) {
                if (is_triangle() && (product_.uplo == 'U' ? i > j : i < j)) continue;
                result_.is_complex ? update_element<Complex>(left, right, alpha, beta, i, j)
                                   : update_element<double>(left, right, alpha, beta, i, j);
            }
    }

  private:
    bool is_hermitian() const {
        return product_.operation == Operation::herk || product_.operation == Operation::her2k;
    }
    bool is_triangle() const {
        const Operation operation = product_.operation;
        return is_hermitian() || operation == Operation::syrk || operation == Operation::syr2k ||
               operation == Operation::gemmt;
    }
    template <class Number>
    static Number as(Complex value) {
        if constexpr (std::is_same_v<Number, double>)
            return value.real();
        else
            return value;
    }
    template <class Number>
    void update_element(Dense left, Dense right, Complex alpha, Complex beta, std::int64_t i, std::int64_t j) const {
        Number sum{};
        for (std::int64_t p = 0; p < left.columns; ++p) sum += as<Number>(left.at(i, p)) * as<Number>(right.at(p, j));
        Number value = as<Number>(alpha) * sum;
        if (beta != Complex{}) {
            Complex old = element(result_, i, j);
            if (is_hermitian() && i == j) old = old.real();
            value += as<Number>(beta) * as<Number>(old);
        }
        const Complex whole = is_hermitian() && i == j ? Complex(std::real(value)) : Complex(value);
        const double parts[2] = {whole.real(), whole.imag()};
        std::memcpy(const_cast<float*>(result_.at(i, j)), parts, sizeof(double) * (result_.is_complex ? 2 : 1));
    }

    const Level3& product_;
    Matrix result_;
};

/// Returns B and C of a case after a product of fixed-point numbers of `bits` bits.
std::pair<Doubles, Doubles> after_fixed_point(const Float64Case& a_case, int bits) {
    Doubles a = a_case.a, b = a_case.b, b_after = a_case.b, c = a_case.c;
    const Level3 product = a_case.pointing_to(a.data(), b.data(), c.data());
    const Operation operation = product.operation;
    const bool hermitian = operation == Operation::herk || operation == Operation::her2k;
    const Complex alpha(a_case.alpha[0], product.is_complex && operation != Operation::herk ? a_case.alpha[1] : 0);
    const Complex beta(a_case.beta[0], product.is_complex && !hermitian ? a_case.beta[1] : 0);
    const bool in_place = operation == Operation::trmm && product.c == nullptr;
    Matrix result = in_place ? operand_b(product) : operand_c(product);
    if (in_place) result.data = b_after.data();
    const ExpectedC expected(product, result);
    const auto add = [&](Dense left, Dense right, Complex factor, Complex start) {
        round_lines(left.values, left.rows, left.columns, true, bits);
        round_lines(right.values, right.rows, right.columns, false, bits);
        expected.update(left, right, factor, start);
    };
    const char transposed = hermitian ? 'C' : 'T';
    const char other = product.trans_a == 'N' ? transposed : 'N';
    const Matrix stored_a = operand_a(product);
    const Matrix stored_b = operand_b(product);
    switch (operation) {
        case Operation::gemm:
        case Operation::gemmt:
            add(dense(product, stored_a, product.trans_a, true), dense(product, stored_b, product.trans_b, false),
                alpha, beta);
            break;
        case Operation::syrk:
        case Operation::herk:
            add(dense(product, stored_a, product.trans_a, true), dense(product, stored_a, other, true), alpha, beta);
            break;
        case Operation::syr2k:
        case Operation::her2k:
            add(dense(product, stored_a, product.trans_a, true), dense(product, stored_b, other, false), alpha, beta);
            add(dense(product, stored_b, product.trans_a, false), dense(product, stored_a, other, true),
                hermitian ? std::conj(alpha) : alpha, 1);
            break;
        default: {
            const Dense whole_a =
                dense(product, stored_a, operation == Operation::trmm ? product.trans_a : 'N', true);
            const Dense whole_b = dense(product, stored_b, 'N', false);
            if (product.side == 'L')
                add(whole_a, whole_b, alpha, in_place ? 0 : beta);
            else
                add(whole_b, whole_a, alpha, in_place ? 0 : beta);
        }
    }
    return {b_after, c};
}

TEST_P(Float64, IsTheRoutinesOwnResultOnFixedPointNumbersInEachRowAndColumn) {
    for (const int bits : {8, 23, 40, 53})
        for (const std::size_t limit : {unlimited, std::size_t{2560}})
            for_cases(9, 11, 7, [&](const Case& single) {
                SCOPED_TRACE(single.description() + ", bits " + std::to_string(bits));
                const Float64Case a_case(single);
                const auto [b, c] = after_fixed_point(a_case, bits);
                Preview preview = OperandRounding::fp32_whole;
                preview.fixed_point_bits = bits;
                check(a_case, preview, limit, b, c);
            });
}

INSTANTIATE_TEST_SUITE_P(Real, Float64, real_operations, name_of);
INSTANTIATE_TEST_SUITE_P(Complex, Float64, complex_operations, name_of);

std::uint64_t rounded_bits(double value, OperandRounding rounding) {
    float memory[2];
    std::memcpy(memory, &value, sizeof value);
    blas::RoundingKernel(blas::rounding_kernel(rounding)).for_float64()(memory, memory, 2);
    std::uint64_t bits = 0;
    std::memcpy(&bits, memory, sizeof bits);
    return bits;
}

TEST(Float64Rounding, IsTheNearestFloat32AlsoWhereItIsSubnormalOrTooLarge) {
    std::uint64_t random = 1;
    const auto check_number = [](double value) {
        const double expected = static_cast<float>(value);
        EXPECT_EQ(rounded_bits(value, OperandRounding::fp32_whole), std::bit_cast<std::uint64_t>(expected)) << value;
    };
    for (int i = 0; i < 200'000; ++i) {
        random = random * 6364136223846793005 + 1442695040888963407;
        const double value =
            std::ldexp(1 + static_cast<double>(random >> 12) * 0x1p-52, static_cast<int>(random % 300) - 160);
        check_number(i % 2 == 0 ? value : -value);
    }
    for (int exponent = -1074; exponent < 1024; ++exponent)
        for (const double significand : {1.0, 1 + 0x1p-24, 1 + 0x1p-23, 1 + 3 * 0x1p-24, 1.5, 2 - 0x1p-52})
            check_number(std::ldexp(significand, exponent));
    for (const double value : {0.0, -0.0, static_cast<double>(FLT_MAX), FLT_MAX * (1 + 0x1p-25), DBL_MAX, DBL_MIN,
                               std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})
        check_number(value);
}

TEST(Float64Rounding, KeepsTheBitsOfNan) {
    for (const std::uint64_t nan : {0x7ff0000000000001U, 0x7ff8000000000000U, 0xffffffffffffffffU}) {
        EXPECT_EQ(rounded_bits(std::bit_cast<double>(nan), OperandRounding::bf16_even), nan);
        EXPECT_EQ(rounded_bits(std::bit_cast<double>(nan), OperandRounding::e4m3_even), nan);
    }
}

}  // namespace
}  // namespace fp32shim::tests
