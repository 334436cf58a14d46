// Tests products with a vector in a fixed order: every instruction set gives the bits of a plain reference in the
// documented order, and those of matrix products.
#include "shim/blas/multiply/vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "fixed_order_cases.hpp"
#include "float_settings.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "vector_cases.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::Level3;
using blas::multiply_vector_in_fixed_order;
using blas::Operation;

/// The description of a product, without its memory.
struct Shape {
    Operation operation = Operation::gemv;
    bool is_complex = false;
    bool row_major = false;
    char trans = 'N';
    char uplo = 'U';
    char diag = 'N';
    std::int64_t m = 1;
    std::int64_t n = 1;
    std::int64_t incx = 1;
    std::int64_t incy = 1;
    std::array<double, 2> alpha{1, 0};
    std::array<double, 2> beta{0, 0};

    std::string name() const {
        return std::to_string(static_cast<int>(operation)) + (is_complex ? " complex " : " real ") +
               (row_major ? "rows " : "columns ") + trans + uplo + diag + ' ' + std::to_string(m) + 'x' +
               std::to_string(n) + " increments " + std::to_string(incx) + ' ' + std::to_string(incy) + " alpha " +
               std::to_string(alpha[0]) + ' ' + std::to_string(alpha[1]) + " beta " + std::to_string(beta[0]) + ' ' +
               std::to_string(beta[1]);
    }
};

/// A product with a matrix, with its memory.
template <class Real>
class MatrixTimesVector {
  public:
    MatrixTimesVector(const Shape& shape, unsigned seed)
        : shape_(shape),
          is_update_(shape.operation == Operation::ger || shape.operation == Operation::gerc),
          ld_((shape.row_major ? shape.n : shape.m) + 3),
          matrix_(ld_ * (shape.row_major ? shape.m : shape.n), 1, shape.is_complex),
          x_(blas::transposes(shape.trans) || is_update_ ? shape.m : shape.n, shape.incx, shape.is_complex),
          y_(blas::transposes(shape.trans) || is_update_ ? shape.n : shape.m, shape.incy, shape.is_complex) {
        std::mt19937 random(seed);
        matrix_.fill(random);
        x_.fill(random);
        y_.fill(random);
        for (int i = 0; i < 2; ++i) {
            alpha_[i] = static_cast<Real>(shape.alpha[static_cast<std::size_t>(i)]);
            beta_[i] = static_cast<Real>(shape.beta[static_cast<std::size_t>(i)]);
        }
    }

    Level3 level3() {
        Level3 p{shape_.operation, shape_.is_complex, shape_.row_major};
        p.is_double = std::is_same_v<Real, double>;
        p.m = shape_.m;
        p.n = shape_.n;
        p.alpha = alpha_;
        if (is_update_) {
            p.a = x_.data();
            p.lda = shape_.incx;
            p.b = y_.data();
            p.ldb = shape_.incy;
            p.c = matrix_.data();
            p.ldc = ld_;
            return p;
        }
        p.trans_a = shape_.trans;
        p.uplo = shape_.uplo;
        p.diag = shape_.diag;
        p.a = matrix_.data();
        p.lda = ld_;
        p.b = x_.data();
        p.ldb = shape_.incx;
        if (shape_.operation == Operation::trmv) return p;
        p.beta = beta_;
        p.c = y_.data();
        p.ldc = shape_.incy;
        return p;
    }

    void multiply_by_definition() {
        if (is_update_) return update();
        const bool is_transposed = blas::transposes(shape_.trans);
        const std::int64_t rows = is_transposed ? shape_.n : shape_.m;
        const std::int64_t columns = is_transposed ? shape_.m : shape_.n;
        const bool in_place = shape_.operation == Operation::trmv;
        Vector<Real> old_x = x_;
        for (std::int64_t i = 0; i < rows; ++i) {
            const ComplexElement<Real> one{1};
            Sum<Real> sum(shape_.is_complex, in_place ? one : alpha(),
                          in_place ? ComplexElement<Real>{} : ComplexElement<Real>{beta_[0], beta_[1]},
                          in_place ? one : y_.element(i));
            const bool is_zero = alpha_[0] == 0 && alpha_[1] == 0 && !in_place;
            for (std::int64_t j = 0; j < (is_zero ? 0 : columns); ++j) {
                if (in_place && !is_there(i, j)) continue;
                sum.add(factor(i, j), old_x.element(j), j);
            }
            (in_place ? x_ : y_).set(i, sum.total());
        }
    }

    bool has_the_bits_of(const MatrixTimesVector& other) const {
        return matrix_.has_the_bits_of(other.matrix_) && x_.has_the_bits_of(other.x_) && y_.has_the_bits_of(other.y_);
    }
    Vector<Real>& matrix() { return matrix_; }
    Vector<Real>& x() { return x_; }
    Vector<Real>& y() { return y_; }

  private:
    ComplexElement<Real> alpha() const { return {alpha_[0], shape_.is_complex ? alpha_[1] : 0}; }
    std::int64_t place(std::int64_t i, std::int64_t j) const { return shape_.row_major ? i * ld_ + j : i + j * ld_; }
    /// Returns true if a triangle has an element of op(A).
    bool is_there(std::int64_t i, std::int64_t j) const {
        const bool is_upper = (shape_.uplo == 'U') != blas::transposes(shape_.trans);
        return is_upper ? i <= j : i >= j;
    }
    /// Returns an element of op(A).
    ComplexElement<Real> factor(std::int64_t i, std::int64_t j) {
        if (blas::transposes(shape_.trans)) std::swap(i, j);
        const bool is_hermitian = shape_.operation == Operation::hemv;
        if (i == j && shape_.diag == 'U' && shape_.operation == Operation::trmv) return {1};
        if (is_hermitian && i == j) return {matrix_.element(place(i, i)).re};
        const bool is_symmetric = is_hermitian || shape_.operation == Operation::symv;
        const bool is_mirrored = is_symmetric && (shape_.uplo == 'U') != (i <= j) && i != j;
        const ComplexElement<Real> value = matrix_.element(is_mirrored ? place(j, i) : place(i, j));
        return blas::conjugates(shape_.trans) != (is_mirrored && is_hermitian) ? conjugate(value) : value;
    }
    void update() {
        const bool conjugates = shape_.operation == Operation::gerc;
        for (std::int64_t i = 0; i < shape_.m; ++i)
            for (std::int64_t j = 0; j < shape_.n; ++j) {
                const ComplexElement<Real> x = x_.element(i);
                const ComplexElement<Real> y = conjugates ? conjugate(y_.element(j)) : y_.element(j);
                Sum<Real> sum(shape_.is_complex, alpha(), {1}, matrix_.element(place(i, j)));
                if (alpha_[0] != 0 || alpha_[1] != 0) shape_.row_major ? sum.add(y, x, 0) : sum.add(x, y, 0);
                matrix_.set(place(i, j), sum.total());
            }
    }

    Shape shape_;
    bool is_update_;
    std::int64_t ld_;
    Vector<Real> matrix_, x_, y_;
    Real alpha_[2];
    Real beta_[2];
};

template <class Real>
void expect_the_bits_of_the_definition(const Shape& shape, unsigned seed) {
    MatrixTimesVector<Real> expected(shape, seed);
    expected.multiply_by_definition();
    for (const InstructionSet by : instruction_sets_here()) {
        MatrixTimesVector<Real> product(shape, seed);
        ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), by));
        ASSERT_TRUE(product.has_the_bits_of(expected))
            << shape.name() << " by " << static_cast<int>(by) << (sizeof(Real) == 8 ? " float64" : " float32");
    }
    for (const int threads : {1, 3}) {
        MatrixTimesVector<Real> product(shape, seed);
        ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), blas::best_instruction_set(),
                                                   blas::ThreadLimit{threads}));
        ASSERT_TRUE(product.has_the_bits_of(expected)) << shape.name() << " on " << threads << " threads";
    }
}

class Shapes {
  public:
    Shape of(Operation operation, std::int64_t most) {
        Shape shape{operation, below(2) == 0, below(2) == 0};
        if (operation == Operation::hemv || operation == Operation::gerc) shape.is_complex = true;
        const bool is_square =
            operation != Operation::gemv && operation != Operation::ger && operation != Operation::gerc;
        shape.m = 1 + below(below(3) == 0 ? 20 : most);
        shape.n = is_square ? shape.m : 1 + below(below(3) == 0 ? 20 : most);
        constexpr char transpositions[] = {'N', 'T', 'C', 'R'};
        if (operation == Operation::gemv || operation == Operation::trmv)
            shape.trans = transpositions[below(operation == Operation::gemv ? 4 : 3)];
        shape.uplo = below(2) == 0 ? 'U' : 'L';
        if (operation == Operation::trmv) shape.diag = below(3) == 0 ? 'U' : 'N';
        constexpr std::int64_t increments[] = {1, 1, 1, 2, 3, -1, -2};
        shape.incx = increments[below(7)];
        shape.incy = increments[below(7)];
        constexpr double scalars[] = {1, 1, 0, -1, 0.7, 1.3};
        shape.alpha = {scalars[below(6)], scalars[below(6)]};
        shape.beta = {scalars[below(6)], scalars[below(6)]};
        if (!shape.is_complex || below(2) == 0) shape.alpha[1] = shape.beta[1] = 0;
        return shape;
    }
    std::int64_t below(std::int64_t end) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
    }

  private:
    std::mt19937_64 random_{23};
};

constexpr Operation with_matrix[] = {Operation::gemv, Operation::symv, Operation::hemv,
                                     Operation::ger,  Operation::gerc, Operation::trmv};

TEST(Vectors, ProductsWithAMatrixHaveTheBitsOfTheDefinition) {
    Shapes shapes;
    for (const Operation operation : with_matrix)
        for (unsigned i = 0; i < 60 / test::one_case_in; ++i) {
            const Shape shape = shapes.of(operation, i % 6 == 4 ? 640 : 90);
            expect_the_bits_of_the_definition<float>(shape, i);
            expect_the_bits_of_the_definition<double>(shape, i);
            if (HasFatalFailure()) return;
        }
}

// Several groups of rows and several blocks of the sum.
TEST(Vectors, LongColumnsAndRowsHaveTheBitsOfTheDefinitionOnOneThreadAndThree) {
    for (const bool is_complex : {false, true})
        for (const bool row_major : {false, true}) {
            for (const Operation operation : {Operation::symv, Operation::trmv}) {
                Shape shape{is_complex && operation == Operation::symv ? Operation::hemv : operation, is_complex,
                            row_major};
                shape.uplo = row_major == is_complex ? 'U' : 'L';
                shape.m = shape.n = 800;
                expect_the_bits_of_the_definition<float>(shape, 1);
                expect_the_bits_of_the_definition<double>(shape, 1);
            }
            for (const auto& [m, n] : {std::pair{1100, 270}, std::pair{3, 1100}}) {
                Shape shape{Operation::gemv, is_complex, row_major};
                shape.m = m;
                shape.n = n;
                shape.beta = {0.5, 0};
                expect_the_bits_of_the_definition<float>(shape, 1);
                expect_the_bits_of_the_definition<double>(shape, 1);
            }
        }
}

// Compares each product with column 0 of a product of the same matrix and another, which has 1 column, or 33.
template <class Real>
void expect_the_bits_of_matrix_products() {
    Shapes shapes;
    for (const std::int64_t columns : {1, 33})
        for (const Operation operation : {Operation::gemv, Operation::symv, Operation::hemv, Operation::trmv})
            for (unsigned i = 0; i < 20 / test::one_case_in; ++i) {
                Shape shape = shapes.of(operation, 400);
                shape.row_major = false;
                shape.incx = shape.incy = 1;
                if (operation == Operation::trmv) shape.alpha = {1, 0};
                MatrixTimesVector<Real> product(shape, i);
                Level3 matrix = product.level3();
                const bool is_transposed = blas::transposes(shape.trans);
                const int width = shape.is_complex ? 2 : 1;
                const std::int64_t k = is_transposed ? shape.m : shape.n;
                std::vector<Real> b(static_cast<std::size_t>(k * columns * width), Real{0.25});
                std::vector<Real> c(static_cast<std::size_t>((is_transposed ? shape.n : shape.m) * columns * width));
                std::copy_n(product.x().data(), k * width, b.data());
                std::copy_n(product.y().data(), c.size() / static_cast<std::size_t>(columns), c.data());
                matrix.b = b.data();
                matrix.c = c.data();
                matrix.ldb = k;
                matrix.ldc = is_transposed ? shape.n : shape.m;
                matrix.m = matrix.ldc;
                matrix.n = columns;
                matrix.trans_b = 'N';
                if (operation == Operation::gemv) {
                    matrix.operation = Operation::gemm;
                    matrix.k = k;
                } else {
                    matrix.side = 'L';
                    matrix.operation = operation == Operation::symv   ? Operation::symm
                                       : operation == Operation::hemv ? Operation::hemm
                                                                      : Operation::trmm;
                    if (operation == Operation::trmv) matrix.c = nullptr;
                }
                for (const InstructionSet by : instruction_sets_here()) {
                    MatrixTimesVector<Real> with_vector(shape, i);
                    ASSERT_TRUE(multiply_vector_in_fixed_order(with_vector.level3(), by));
                    std::vector<Real> b_after = b;
                    std::vector<Real> c_after = c;
                    matrix.b = b_after.data();
                    if (matrix.c != nullptr) matrix.c = c_after.data();
                    ASSERT_TRUE(blas::multiply_in_fixed_order(matrix, by));
                    const bool in_place = operation == Operation::trmv;
                    const std::size_t size = static_cast<std::size_t>(matrix.m * width) * sizeof(Real);
                    ASSERT_EQ(std::memcmp((in_place ? b_after : c_after).data(),
                                          (in_place ? with_vector.x() : with_vector.y()).data(), size),
                              0)
                        << shape.name() << " by " << static_cast<int>(by);
                }
            }
}

TEST(Vectors, ProductsWithAMatrixHaveTheBitsOfMatrixProducts) {
    expect_the_bits_of_matrix_products<float>();
    expect_the_bits_of_matrix_products<double>();
}

// Where a row does not read an infinity, because it lies in the other triangle, its sum has neither the infinity nor
// zero times it. The numbers between the columns of a matrix do not take part either.
template <class Real>
void expect_infinity_as_defined(const Shape& shape, unsigned seed, bool in_matrix) {
    const auto with_infinity = [&] {
        MatrixTimesVector<Real> product(shape, seed);
        constexpr Real infinity = std::numeric_limits<Real>::infinity();
        const bool is_update = shape.operation == Operation::ger || shape.operation == Operation::gerc;
        const bool x_has_rows = is_update || blas::transposes(shape.trans);
        if (in_matrix && !is_update)
            *product.matrix().at(shape.m / 2 + shape.n / 2) = infinity;
        else
            *product.x().at((x_has_rows ? shape.m : shape.n) / 2) = infinity;
        if (in_matrix && is_update) *product.y().at(shape.n - 1) = -infinity;
        return product;
    };
    MatrixTimesVector<Real> expected = with_infinity();
    std::feclearexcept(FE_ALL_EXCEPT);
    expected.multiply_by_definition();
    const int invalid = std::fetestexcept(FE_INVALID);
    for (const InstructionSet by : instruction_sets_here()) {
        MatrixTimesVector<Real> product = with_infinity();
        std::feclearexcept(FE_ALL_EXCEPT);
        ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), by));
        ASSERT_EQ(std::fetestexcept(FE_INVALID), invalid) << shape.name() << " by " << static_cast<int>(by);
        ASSERT_TRUE(product.has_the_bits_of(expected)) << shape.name() << " by " << static_cast<int>(by);
    }
}

TEST(Vectors, InfinityIsWhereTheDefinitionHasItAndRaisesNoOtherFlag) {
    Shapes shapes;
    for (const Operation operation : with_matrix)
        for (unsigned i = 0; i < 40 / test::one_case_in; ++i) {
            Shape shape = shapes.of(operation, 300);
            if (shape.alpha[0] == 0) shape.alpha[0] = 1;
            if (shape.is_complex) shape.alpha[1] = shape.beta[1] = 0;
            expect_infinity_as_defined<float>(shape, i, i % 2 == 0);
            expect_infinity_as_defined<double>(shape, i, i % 2 == 0);
            if (HasFatalFailure()) return;
        }
}

TEST(Vectors, BetaZeroDoesNotReadTheResultAndAlphaZeroNotTheFactors) {
    for (const InstructionSet by : instruction_sets_here())
        for (const bool is_complex : {false, true}) {
            Shape shape{Operation::gemv, is_complex};
            shape.m = 35;
            shape.n = 20;
            MatrixTimesVector<float> product(shape, 1);
            for (std::int64_t i = 0; i < shape.m; ++i) *product.y().at(i) = std::numeric_limits<float>::quiet_NaN();
            ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), by));
            for (std::int64_t i = 0; i < shape.m; ++i) ASSERT_TRUE(std::isfinite(*product.y().at(i)));
            shape.alpha = {0, 0};
            shape.beta = {2, 0};
            MatrixTimesVector<float> scaled(shape, 1);
            *scaled.matrix().at(3) = *scaled.x().at(0) = std::numeric_limits<float>::quiet_NaN();
            const float before = *scaled.y().at(3);
            ASSERT_TRUE(multiply_vector_in_fixed_order(scaled.level3(), by));
            ASSERT_EQ(*scaled.y().at(3), 2 * before);
        }
}

template <class Real>
void expect_equal_bits_under_all_settings(const Shape& shape, unsigned seed) {
    // Products are around the smallest normal number.
    const auto small = [&] {
        MatrixTimesVector<Real> product(shape, seed);
        const int exponent = std::numeric_limits<Real>::min_exponent;
        product.matrix().scale(exponent / 2);
        product.x().scale(exponent / 2);
        product.y().scale(exponent - 3);
        return product;
    };
    for (const FloatSettings settings : all_float_settings()) {
        SCOPED_TRACE(shape.name() + ' ' + settings.name());
        MatrixTimesVector<Real> first = small();
        for (const InstructionSet by : instruction_sets_here()) {
            MatrixTimesVector<Real> product = small();
            {
                const WithFloatSettings in_force(settings);
                ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), by));
            }
            if (by == InstructionSet::plain) first = product;
            ASSERT_TRUE(product.has_the_bits_of(first)) << static_cast<int>(by);
        }
    }
}

TEST(Vectors, HaveTheSameBitsByEveryInstructionSetUnderEverySetting) {
    Shapes shapes;
    for (const Operation operation : with_matrix)
        for (unsigned i = 0; i < 8; ++i) {
            const Shape shape = shapes.of(operation, 60);
            expect_equal_bits_under_all_settings<float>(shape, i);
            expect_equal_bits_under_all_settings<double>(shape, i);
            if (HasFatalFailure()) return;
        }
}

}  // namespace
}  // namespace fp32shim::tests
