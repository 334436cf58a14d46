// Vectors and sums for the tests of products with a vector, in plain code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fp32shim::tests {

inline constexpr std::int64_t terms_of_block = 256;
inline constexpr std::int64_t terms_of_part = 32;

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
        if (index / (terms_of_part / width_) != part_) end_part(index / (terms_of_part / width_));
        if (index / (terms_of_block / width_) != block_) end_block(index / (terms_of_block / width_));
        block_has_terms_ = true;
        of_part_.re = std::fma(a.re, b.re, of_part_.re);
        if (width_ == 1) return;
        of_part_.re = std::fma(-a.im, b.im, of_part_.re);
        of_part_.im = std::fma(a.im, b.re, std::fma(a.re, b.im, of_part_.im));
    }
    ComplexElement<Real> total() {
        end_part(0);
        end_block(0);
        return total_;
    }

  private:
    void end_part(std::int64_t next) {
        part_ = next;
        sum_ = {sum_.re + of_part_.re, sum_.im + of_part_.im};
        of_part_ = {};
    }
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
    ComplexElement<Real> of_part_;
    std::int64_t part_ = 0;
    std::int64_t block_ = 0;
    bool block_has_terms_ = false;
};

template <class Real>
ComplexElement<Real> conjugate(ComplexElement<Real> x) {
    return {x.re, -x.im};
}

}  // namespace fp32shim::tests
