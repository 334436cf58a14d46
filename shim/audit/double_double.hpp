// Numbers with twice the digits of float64, which serve as references for float64 results. The algorithms are those
// of T. J. Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 18
// (1971).
#pragma once

namespace fp32shim::blas {

/// The unevaluated sum of two float64 numbers, of which `low` is at most half a unit in the last place of `high`. The
/// sum has about 106 bits, and the range of float64. The product of two such sums may be NaN if one of them is beyond
/// 2^996.
struct DoubleDouble {
    double high = 0;
    double low = 0;

    constexpr DoubleDouble() = default;
    // This constructor is implicit, since each float64 is a DoubleDouble.
    constexpr DoubleDouble(double value) : high(value) {}
    constexpr DoubleDouble(double by_high, double by_low) : high(by_high), low(by_low) {}
    explicit operator double() const { return high + low; }
};

/// If numbers are below 2 to the power of this exponent in magnitude, their sums and products are not NaN.
inline constexpr int safe_exponent_of_double_double = 480;

namespace double_double {

/// Returns x + y as an exact sum of two float64 numbers, if |x| >= |y|.
inline DoubleDouble fast_two_sum(double x, double y) {
    const double sum = x + y;
    return {sum, y - (sum - x)};
}

/// Returns x + y as an exact sum of two float64 numbers.
inline DoubleDouble two_sum(double x, double y) {
    const double sum = x + y;
    const double part_of_y = sum - x;
    return {sum, (x - (sum - part_of_y)) + (y - part_of_y)};
}

/// Splits `x` into two numbers of 26 bits each, whose sum is `x`.
inline DoubleDouble split(double x) {
    const double shifted = x * 0x8000001p0;
    const double high = shifted - (shifted - x);
    return {high, x - high};
}

/// Returns x * y as an exact sum of two float64 numbers, if neither the product nor its last bits leave the range of
/// float64.
inline DoubleDouble two_product(double x, double y) {
    const double product = x * y;
    const DoubleDouble a = split(x);
    const DoubleDouble b = split(y);
    return {product, ((a.high * b.high - product) + a.high * b.low + a.low * b.high) + a.low * b.low};
}

}  // namespace double_double

inline DoubleDouble operator+(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble sum = double_double::two_sum(x.high, y.high);
    return double_double::fast_two_sum(sum.high, sum.low + (x.low + y.low));
}

inline DoubleDouble operator*(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble product = double_double::two_product(x.high, y.high);
    return double_double::fast_two_sum(product.high, product.low + (x.high * y.low + x.low * y.high));
}

inline DoubleDouble operator-(DoubleDouble x) { return {-x.high, -x.low}; }
inline DoubleDouble operator-(DoubleDouble x, DoubleDouble y) { return x + -y; }

}  // namespace fp32shim::blas
