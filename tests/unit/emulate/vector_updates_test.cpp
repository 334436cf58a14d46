// Tests axpy, rot, and updates of symmetric matrices in a fixed order: the bits that the definition has, by every
// instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "fixed_order_cases.hpp"
#include "shim/blas/multiply/vectors.hpp"
#include "vector_cases.hpp"

namespace fp32shim::tests {
namespace {

using blas::InstructionSet;
using blas::Level3;
using blas::multiply_vector_in_fixed_order;
using blas::Operation;

constexpr std::int64_t increments[] = {1, 2, -1, -3};

template <class Real>
class VectorUpdates : public testing::Test {
  protected:
    Vector<Real> filled(std::int64_t count, std::int64_t increment, bool is_complex) {
        Vector<Real> vector(count, increment, is_complex);
        vector.fill(random_);
        return vector;
    }
    Level3 of(Operation operation, bool is_complex) const {
        Level3 product{operation, is_complex};
        product.is_double = std::is_same_v<Real, double>;
        product.alpha = alpha_;
        product.beta = beta_;
        return product;
    }

    std::mt19937 random_{7};
    Real alpha_[2] = {Real{0.7}, Real{-1.3}};
    Real beta_[2] = {Real{-0.4}, 0};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(VectorUpdates, Types);

// The operands have neither -0 nor infinities, where the bits may differ, since a sum of one term begins at 0.
TYPED_TEST(VectorUpdates, AxpyHasTheBitsOfAnOuterProductWithOneColumn) {
    using Real = TypeParam;
    for (const bool is_complex : {false, true})
        for (const std::int64_t count : {1, 7, 33, 600})
            for (const std::int64_t incx : increments)
                for (const std::int64_t incy : increments) {
                    Vector<Real> x = this->filled(count, incx, is_complex);
                    const Vector<Real> y = this->filled(count, incy, is_complex);
                    Vector<Real> column(count, 1, is_complex);
                    for (std::int64_t i = 0; i < count; ++i) column.set(i, Vector<Real>(y).element(i));
                    constexpr Real one[] = {1, 0};
                    Level3 outer = this->of(Operation::ger, is_complex);
                    outer.m = outer.ldc = count;
                    outer.n = outer.ldb = 1;
                    outer.a = x.data();
                    outer.lda = incx;
                    outer.b = one;
                    outer.c = column.data();
                    ASSERT_TRUE(multiply_vector_in_fixed_order(outer));
                    for (const InstructionSet by : instruction_sets_here()) {
                        Vector<Real> found = y;
                        Level3 axpy = this->of(Operation::axpy, is_complex);
                        axpy.k = count;
                        axpy.a = x.data();
                        axpy.lda = incx;
                        axpy.c = found.data();
                        axpy.ldc = incy;
                        ASSERT_TRUE(multiply_vector_in_fixed_order(axpy, by));
                        for (std::int64_t i = 0; i < count; ++i) {
                            ASSERT_EQ(found.element(i).re, column.element(i).re)
                                << count << ' ' << incx << ' ' << incy;
                            ASSERT_EQ(found.element(i).im, column.element(i).im)
                                << count << ' ' << incx << ' ' << incy;
                        }
                    }
                }
}

TYPED_TEST(VectorUpdates, RotAddsTheTermsOfTheCosineToThoseOfTheSine) {
    using Real = TypeParam;
    const Real cosine = this->alpha_[0], sine = this->beta_[0];
    for (const bool is_complex : {false, true})
        for (const std::int64_t count : {1, 5, 40})
            for (const std::int64_t incx : increments)
                for (const std::int64_t incy : {std::int64_t{1}, incx})
                    for (const InstructionSet by : instruction_sets_here()) {
                        const Vector<Real> x = this->filled(count, incx, is_complex);
                        const Vector<Real> y = this->filled(count, incy, is_complex);
                        Vector<Real> found_x = x, found_y = y;
                        Level3 rot = this->of(Operation::rot, is_complex);
                        rot.k = count;
                        rot.a = found_x.data();
                        rot.lda = incx;
                        rot.b = found_y.data();
                        rot.ldb = incy;
                        ASSERT_TRUE(multiply_vector_in_fixed_order(rot, by));
                        for (std::int64_t i = 0; i < count; ++i)
                            for (int part = 0; part < (is_complex ? 2 : 1); ++part) {
                                const Real a = Vector<Real>(x).at(i)[part], b = Vector<Real>(y).at(i)[part];
                                ASSERT_EQ(found_x.at(i)[part], std::fma(cosine, a, sine * b));
                                ASSERT_EQ(found_y.at(i)[part], std::fma(cosine, b, -(sine * a)));
                            }
                    }
}

/// Compares an update of one triangle of a 70 × 70 matrix with the same triangle after outer products.
template <class Real>
void expect_the_bits_of_outer_products(const Level3& update, std::int64_t incx, std::int64_t incy,
                                       InstructionSet by) {
    constexpr std::int64_t n = 70;
    const bool is_hermitian = update.operation == Operation::her || update.operation == Operation::her2;
    const bool has_b = update.operation == Operation::syr2 || update.operation == Operation::her2;
    std::mt19937 random(11);
    Vector<Real> x(n, incx, update.is_complex), y(n, incy, update.is_complex), before(n * n, 1, update.is_complex);
    x.fill(random);
    y.fill(random);
    before.fill(random);
    Vector<Real> found = before, expected = before;
    Level3 product = update;
    product.n = product.ldc = n;
    product.a = x.data();
    product.lda = incx;
    product.b = has_b ? y.data() : nullptr;
    product.ldb = has_b ? incy : 0;
    product.c = found.data();
    ASSERT_TRUE(multiply_vector_in_fixed_order(product, by, threads_by(by)));

    const auto* const alpha = static_cast<const Real*>(update.alpha);
    const Real alphas[2][2] = {{alpha[0], update.operation == Operation::her ? 0 : alpha[1]},
                               {alpha[0], is_hermitian ? -alpha[1] : alpha[1]}};
    Level3 outer = product;
    outer.operation = is_hermitian ? Operation::gerc : Operation::ger;
    outer.uplo = 0;
    outer.m = n;
    outer.c = expected.data();
    for (int term = 0; term < (has_b ? 2 : 1); ++term) {
        const bool is_second = term == 1;
        outer.alpha = alphas[term];
        outer.a = is_second ? y.data() : x.data();
        outer.lda = is_second ? incy : incx;
        outer.b = has_b && !is_second ? y.data() : x.data();
        outer.ldb = has_b && !is_second ? incy : incx;
        ASSERT_TRUE(multiply_vector_in_fixed_order(outer));
    }
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t at = update.row_major ? i * n + j : i + j * n;
            const bool is_formed = update.uplo == 'U' ? i <= j : i >= j;
            Vector<Real>& source = is_formed ? expected : before;
            ComplexElement<Real> wanted = source.element(at);
            if (is_hermitian && i == j) wanted.im = 0;
            ASSERT_EQ(found.element(at).re, wanted.re) << i << ' ' << j;
            ASSERT_EQ(found.element(at).im, wanted.im) << i << ' ' << j;
        }
}

TYPED_TEST(VectorUpdates, OfTinyAndOfHugeVectorsNeitherUnderflowNorOverflowBeforeTheyAreScaled) {
    using Real = TypeParam;
    const Real tiny = std::ldexp(Real{1}, std::numeric_limits<Real>::min_exponent + 6);
    for (const bool is_complex : {false, true})
        for (const Real size : {tiny, 1 / tiny})
            for (const InstructionSet by : instruction_sets_here()) {
                const Real x[] = {size, 0}, alpha[] = {3 / size, 0};
                Real found[] = {0, 0};
                Level3 outer = this->of(Operation::ger, is_complex);
                outer.m = outer.n = outer.lda = outer.ldb = outer.ldc = 1;
                outer.a = outer.b = x;
                outer.alpha = alpha;
                outer.c = found;
                ASSERT_TRUE(multiply_vector_in_fixed_order(outer, by));
                ASSERT_EQ(found[0], 3 * size);
            }
}

TYPED_TEST(VectorUpdates, OfSymmetricMatricesHaveTheBitsOfOuterProductsAndTouchNothingElse) {
    for (const Operation operation : {Operation::syr, Operation::syr2, Operation::her, Operation::her2})
        for (const bool row_major : {false, true})
            for (const char uplo : {'U', 'L'})
                for (const std::int64_t incx : increments)
                    for (const InstructionSet by : instruction_sets_here()) {
                        const bool is_complex = operation == Operation::her || operation == Operation::her2;
                        Level3 update = this->of(operation, is_complex);
                        update.row_major = row_major;
                        update.uplo = uplo;
                        SCOPED_TRACE(std::to_string(static_cast<int>(operation)) + uplo + (row_major ? " rows" : ""));
                        expect_the_bits_of_outer_products<TypeParam>(update, incx, 2, by);
                        if (this->HasFatalFailure()) return;
                    }
}

}  // namespace
}  // namespace fp32shim::tests
