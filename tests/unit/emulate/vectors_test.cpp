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

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::Level3;
using blas::multiply_vector_in_fixed_order;
using blas::Operation;

constexpr std::int64_t terms_of_block = 256;

template <class Real>
struct ComplexElement {
    Real re = 0;
    Real im = 0;
};

/// Elements in memory. The room between them has NaN, which would spread if it were read.
template <class Real>
class Vector {
  public:
    Vector(std::int64_t count, std::int64_t increment, bool is_complex)
        : width_(is_complex ? 2 : 1),
          increment_(increment),
          count_(count),
          numbers_(static_cast<std::size_t>(((count - 1) * std::abs(increment) + 1) * width_),
                   std::numeric_limits<Real>::quiet_NaN()) {}
    template <class Random>
    void fill(Random& random) {
        std::uniform_real_distribution<Real> distribution(-1, 1);
        for (std::int64_t i = 0; i < count_; ++i)
            for (int part = 0; part < width_; ++part) at(i)[part] = distribution(random);
    }
    void scale(int exponent) {
        for (Real& number : numbers_) number = std::ldexp(number, exponent);
    }
    /// Returns element i of a vector as the BLAS counts them.
    Real* at(std::int64_t i) {
        return numbers_.data() + (increment_ < 0 ? i - (count_ - 1) : i) * increment_ * width_;
    }
    ComplexElement<Real> element(std::int64_t i) { return {at(i)[0], width_ == 2 ? at(i)[1] : 0}; }
    void set(std::int64_t i, ComplexElement<Real> value) {
        at(i)[0] = value.re;
        if (width_ == 2) at(i)[1] = value.im;
    }
    Real* data() { return numbers_.data(); }
    std::int64_t increment() const { return increment_; }
    bool has_the_bits_of(const Vector& other) const {
        if (numbers_.size() != other.numbers_.size()) return false;
        for (std::size_t i = 0; i < numbers_.size(); ++i) {
            if (std::isnan(numbers_[i]) && std::isnan(other.numbers_[i])) continue;
            if (std::memcmp(&numbers_[i], &other.numbers_[i], sizeof(Real)) != 0) return false;
        }
        return true;
    }

  private:
    std::int64_t width_;
    std::int64_t increment_;
    std::int64_t count_;
    std::vector<Real> numbers_;
};

/// One sum in the documented order.
template <class Real>
class Sum {
  public:
    Sum(bool is_complex, ComplexElement<Real> alpha, ComplexElement<Real> beta, ComplexElement<Real> old)
        : width_(is_complex ? 2 : 1), alpha_(alpha) {
        if (beta.re == 1 && beta.im == 0) {
            total_ = old;
        } else if (beta.re != 0 || beta.im != 0) {
            total_ = {beta.re * old.re, beta.re * old.im};
            if (beta.im != 0) total_ = {std::fma(-beta.im, old.im, total_.re), std::fma(beta.im, old.re, total_.im)};
        }
    }
    void add(ComplexElement<Real> a, ComplexElement<Real> b, std::int64_t index) {
        if (index / (terms_of_block / width_) != block_) end_block(index / (terms_of_block / width_));
        block_has_terms_ = true;
        sum_.re = std::fma(a.re, b.re, sum_.re);
        if (width_ == 1) return;
        sum_.re = std::fma(-a.im, b.im, sum_.re);
        sum_.im = std::fma(a.im, b.re, std::fma(a.re, b.im, sum_.im));
    }
    ComplexElement<Real> total() {
        end_block(0);
        return total_;
    }

  private:
    void end_block(std::int64_t next) {
        block_ = next;
        if (!block_has_terms_) return;
        total_ = {std::fma(alpha_.re, sum_.re, total_.re), std::fma(alpha_.re, sum_.im, total_.im)};
        if (alpha_.im != 0)
            total_ = {std::fma(-alpha_.im, sum_.im, total_.re), std::fma(alpha_.im, sum_.re, total_.im)};
        sum_ = {};
        block_has_terms_ = false;
    }

    int width_;
    ComplexElement<Real> alpha_;
    ComplexElement<Real> total_;
    ComplexElement<Real> sum_;
    std::int64_t block_ = 0;
    bool block_has_terms_ = false;
};

template <class Real>
ComplexElement<Real> conjugate(ComplexElement<Real> x) {
    return {x.re, -x.im};
}

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
    MatrixTimesVector<Real> product(shape, seed);
    ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3()));
    ASSERT_TRUE(product.has_the_bits_of(expected)) << shape.name();
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
        for (unsigned i = 0; i < 60; ++i) {
            const Shape shape = shapes.of(operation, i < 50 ? 90 : 640);
            expect_the_bits_of_the_definition<float>(shape, i);
            expect_the_bits_of_the_definition<double>(shape, i);
            if (HasFatalFailure()) return;
        }
}

// Several groups of rows and several blocks of the sum.
TEST(Vectors, LongColumnsAndRowsHaveTheBitsOfTheDefinition) {
    for (const bool is_complex : {false, true})
        for (const bool row_major : {false, true})
            for (const auto& [m, n] : {std::pair{1100, 270}, std::pair{3, 1100}}) {
                Shape shape{Operation::gemv, is_complex, row_major};
                shape.m = m;
                shape.n = n;
                shape.beta = {0.5, 0};
                expect_the_bits_of_the_definition<float>(shape, 1);
                expect_the_bits_of_the_definition<double>(shape, 1);
            }
}

// The same products of matrices: column 0 of one, and of 33.
TEST(Vectors, ProductsWithAMatrixHaveTheBitsOfMatrixProducts) {
    Shapes shapes;
    for (const std::int64_t columns : {1, 33})
        for (const Operation operation : {Operation::gemv, Operation::symv, Operation::hemv, Operation::trmv})
            for (unsigned i = 0; i < 20; ++i) {
                Shape shape = shapes.of(operation, 400);
                shape.row_major = false;
                shape.incx = shape.incy = 1;
                if (operation == Operation::trmv) shape.alpha = {1, 0};
                MatrixTimesVector<float> product(shape, i);
                Level3 matrix = product.level3();
                const bool is_transposed = blas::transposes(shape.trans);
                const int width = shape.is_complex ? 2 : 1;
                const std::int64_t k = is_transposed ? shape.m : shape.n;
                std::vector<float> b(static_cast<std::size_t>(k * columns * width), 0.25F);
                std::vector<float> c(static_cast<std::size_t>((is_transposed ? shape.n : shape.m) * columns * width));
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
                    MatrixTimesVector<float> with_vector(shape, i);
                    ASSERT_TRUE(multiply_vector_in_fixed_order(with_vector.level3(), by));
                    std::vector<float> b_after = b;
                    std::vector<float> c_after = c;
                    matrix.b = b_after.data();
                    if (matrix.c != nullptr) matrix.c = c_after.data();
                    ASSERT_TRUE(blas::multiply_in_fixed_order(matrix, by));
                    const bool in_place = operation == Operation::trmv;
                    const std::size_t size = static_cast<std::size_t>(matrix.m * width) * sizeof(float);
                    ASSERT_EQ(std::memcmp((in_place ? b_after : c_after).data(),
                                          (in_place ? with_vector.x() : with_vector.y()).data(), size),
                              0)
                        << shape.name() << " by " << static_cast<int>(by);
                }
            }
}

template <class Real>
ComplexElement<Real> dot_by_definition(Vector<Real>& x, Vector<Real>& y, std::int64_t count, bool is_complex,
                                       bool conjugates) {
    Sum<Real> sum(is_complex, {1}, {}, {});
    for (std::int64_t i = 0; i < count; ++i)
        sum.add(conjugates ? conjugate(x.element(i)) : x.element(i), y.element(i), i);
    return sum.total();
}

/// Returns the sum of the numbers `of(0)`, `of(1)`, …, by `add(sum, number)`, in blocks.
template <class Real, class Of, class Add>
Real in_blocks(std::int64_t count, Real start, Of of, Add add) {
    for (std::int64_t first = 0; first < count; first += terms_of_block) {
        Real sum = 0;
        for (std::int64_t i = first; i < std::min(first + terms_of_block, count); ++i) sum = add(sum, of(i));
        start += sum;
    }
    return start;
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
    const Real magnitudes =
        in_blocks(count * width, Real{0}, number, [](Real sum, Real value) { return sum + std::abs(value); });
    const auto norm = static_cast<Real>(std::sqrt(in_blocks(count * width, 0.0, number, [](double sum, Real value) {
        return std::fma(double{value}, double{value}, sum);
    })));
    for (const InstructionSet by : instruction_sets_here()) {
        for (const bool conjugates : {false, true}) {
            const ComplexElement<Real> dot = dot_by_definition(x, y, count, is_complex, conjugates);
            Real found[2] = {-1, 0};
            ASSERT_TRUE(multiply_vector_in_fixed_order(
                sum_over(conjugates ? Operation::dotc : Operation::dot, is_complex, x, y, count, found), by));
            ASSERT_EQ(found[0], dot.re);
            ASSERT_EQ(found[1], dot.im);
        }
        Real found = -1;
        ASSERT_TRUE(multiply_vector_in_fixed_order(sum_over(Operation::asum, is_complex, x, y, count, &found), by));
        ASSERT_EQ(found, incx > 0 ? magnitudes : 0);
        ASSERT_TRUE(multiply_vector_in_fixed_order(sum_over(Operation::nrm2, is_complex, x, y, count, &found), by));
        ASSERT_EQ(found, norm);
    }
}

TEST(Vectors, SumsHaveTheBitsOfTheDefinition) {
    for (const std::int64_t count :
         {1, 2, 3, 7, 127, 128, 129, 255, 256, 257, 700, 1024, 1025, 1300, 4096, 5000, 9001})
        for (const bool is_complex : {false, true})
            for (const auto& [incx, incy] : {std::pair{1, 1}, {2, 1}, {1, -1}, {-3, 2}}) {
                expect_sums_of_the_definition<float>(count, incx, incy, is_complex);
                expect_sums_of_the_definition<double>(count, incx, incy, is_complex);
                if (HasFatalFailure()) return;
            }
}

TEST(Vectors, ADotHasTheBitsOfAMatrixProductOfOneElement) {
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

TEST(Vectors, DotsInDoublePrecisionAreRoundedOnce) {
    for (const std::int64_t count : {1, 3, 256, 300, 1100, 3000, 9000})
        for (const std::int64_t increment : {1, -2}) {
            Vector<float> x(count, 1, false);
            Vector<float> y(count, increment, false);
            std::mt19937 random(5);
            x.fill(random);
            y.fill(random);
            const auto from = [&](double start) {
                return in_blocks(
                    count, start, [&](std::int64_t i) { return double{*x.at(i)} * double{*y.at(i)}; },
                    [](double sum, double value) { return sum + value; });
            };
            const float alpha = 0.3F;
            for (const InstructionSet by : instruction_sets_here()) {
                double wide = -1;
                ASSERT_TRUE(
                    multiply_vector_in_fixed_order(sum_over(Operation::dsdot, false, x, y, count, &wide), by));
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

TEST(Vectors, ANormOverflowsOnlyWhereItIsTooLarge) {
    expect_norms_without_overflow<float>();
    expect_norms_without_overflow<double>();
}

TEST(Vectors, NothingIsASumOfZero) {
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

// A row of a triangle has neither an infinity that it does not read, nor zero times it. Nor do numbers beside a
// matrix take part.
TEST(Vectors, InfinityIsWhereTheDefinitionHasItAndRaisesNoFlag) {
    Shapes shapes;
    for (const Operation operation : with_matrix)
        for (unsigned i = 0; i < 30; ++i) {
            Shape shape = shapes.of(operation, 300);
            shape.is_complex = operation == Operation::hemv || operation == Operation::gerc;
            if (shape.alpha[0] == 0) shape.alpha[0] = 1;
            if (shape.is_complex) shape.alpha[1] = shape.beta[1] = 0;
            const auto with_infinity = [&] {
                MatrixTimesVector<float> product(shape, i);
                const std::int64_t count = blas::transposes(shape.trans) ? shape.m : shape.n;
                if (operation == Operation::ger || operation == Operation::gerc)
                    *product.y().at(shape.n / 2) = std::numeric_limits<float>::infinity();
                else
                    *product.x().at(count / 2) = std::numeric_limits<float>::infinity();
                return product;
            };
            MatrixTimesVector<float> expected = with_infinity();
            std::feclearexcept(FE_ALL_EXCEPT);
            expected.multiply_by_definition();
            const int invalid = std::fetestexcept(FE_INVALID);
            for (const InstructionSet by : instruction_sets_here()) {
                MatrixTimesVector<float> product = with_infinity();
                std::feclearexcept(FE_ALL_EXCEPT);
                ASSERT_TRUE(multiply_vector_in_fixed_order(product.level3(), by));
                EXPECT_EQ(std::fetestexcept(FE_INVALID), invalid) << shape.name() << static_cast<int>(by);
                ASSERT_TRUE(product.has_the_bits_of(expected)) << shape.name();
            }
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
