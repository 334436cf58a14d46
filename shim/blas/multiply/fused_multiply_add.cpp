#include "shim/blas/multiply/tile.hpp"

#if defined(__aarch64__)

namespace fp32shim::blas {

double fused_multiply_add_plain(double a, double b, double c) { return __builtin_fma(a, b, c); }

}  // namespace fp32shim::blas

#else

#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "shim/audit/double_double.hpp"

namespace fp32shim::blas {
namespace {

constexpr int fraction_bits = 52;
constexpr int least_exponent = -1022;
__extension__ using Wide = unsigned __int128;

int exponent_field(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> fraction_bits & 0x7ff); }
bool is_finite(double x) { return exponent_field(x) != 0x7ff; }

/// The rounding and flush-to-zero settings of the processor (MXCSR).
struct FloatSettings {
    unsigned bits = _mm_getcsr();

    enum Rounding : unsigned { nearest, down, up, to_zero };
    unsigned rounding() const { return bits >> 13 & 3; }
    bool flushes_results_to_zero() const { return (bits >> 15 & 1) != 0; }
};

/// Returns true if no number in add_quickly() overflows, and none is smaller than the normal numbers.
bool stays_in_normal_range(double a, double b, double c) {
    const auto is_in = [](double x, int least, int most) {
        const int exponent = exponent_field(x) - 1023;
        return least <= exponent && exponent <= most;
    };
    return is_in(a, -450, 450) && is_in(b, -450, 450) && (c == 0 || is_in(c, -900, 900));
}

/// Returns a * b + c if the processor rounds to nearest. The second-to-last sum is rounded to odd, so that the last
/// sum is rounded as the exact sum would be (Boldo, Melquiond: "Emulation of FMA and correctly rounded sums", 2008).
double add_quickly(double a, double b, double c) {
    const DoubleDouble product = double_double::two_product(a, b);
    const DoubleDouble low = double_double::two_sum(c, product.low);
    const DoubleDouble high = double_double::two_sum(product.high, low.high);
    const DoubleDouble rest = double_double::two_sum(low.low, high.low);
    auto bits = std::bit_cast<std::uint64_t>(rest.high);
    if (rest.low != 0 && (bits & 1) == 0) bits += (rest.low > 0) == (rest.high > 0) ? 1 : ~std::uint64_t{0};
    return high.high + std::bit_cast<double>(bits);
}

/// The number ±magnitude · 2^exponent. After normalized(), bit `top` is the highest bit of a magnitude that is not 0.
struct Unrounded {
    static constexpr int top = 125;
    Wide magnitude = 0;
    int exponent = 0;
    bool is_negative = false;

    static int highest_bit(Wide magnitude) {
        const auto high = static_cast<std::uint64_t>(magnitude >> 64);
        return high != 0 ? 127 - std::countl_zero(high)
                         : 63 - std::countl_zero(static_cast<std::uint64_t>(magnitude));
    }
    static Unrounded of(double x) {
        const auto fraction = std::bit_cast<std::uint64_t>(x) & ((std::uint64_t{1} << fraction_bits) - 1);
        const int field = exponent_field(x);
        return {field == 0 ? fraction : fraction | std::uint64_t{1} << fraction_bits, std::max(field, 1) - 1075,
                std::signbit(x)};
    }
    Unrounded normalized() const {
        const int shift = top - highest_bit(magnitude);
        return {magnitude << shift, exponent - shift, is_negative};
    }
    /// Returns the same number written with the larger exponent `other`. If bits are lost, the last bit is set, so
    /// that the number still counts as inexact.
    Unrounded with_exponent(int other) const {
        const int shift = other - exponent;
        if (shift > top) return {1, other, is_negative};
        const Wide kept = magnitude >> shift;
        return {kept | static_cast<Wide>((kept << shift) != magnitude), other, is_negative};
    }
};

Unrounded multiply(const Unrounded& a, const Unrounded& b) {
    return {a.magnitude * b.magnitude, a.exponent + b.exponent, a.is_negative != b.is_negative};
}

/// Returns a + b. Precondition: neither number is 0.
Unrounded add(const Unrounded& a, const Unrounded& b) {
    Unrounded one = a.normalized();
    Unrounded other = b.normalized();
    const int exponent = std::max(one.exponent, other.exponent);
    one = one.with_exponent(exponent);
    other = other.with_exponent(exponent);
    if (one.is_negative == other.is_negative) return {one.magnitude + other.magnitude, exponent, one.is_negative};
    if (one.magnitude < other.magnitude) std::swap(one, other);
    return {one.magnitude - other.magnitude, exponent, one.is_negative};
}

/// Returns the magnitude of `x` as a whole number of units of 2^last, rounded in the direction `rounding`.
std::uint64_t in_units(const Unrounded& x, int last, unsigned rounding) {
    const int left = x.exponent - (last - 2);  // two more bits are kept: one for half a unit, and one for the rest
    const auto quarters =
        static_cast<std::uint64_t>(left >= 0 ? x.magnitude << left : x.with_exponent(last - 2).magnitude);
    const auto units = quarters >> 2;
    const auto rest = quarters & 3;
    const bool is_away = rounding == FloatSettings::nearest ? rest > 2 || (rest == 2 && (units & 1) != 0)
                         : rounding == FloatSettings::up    ? rest != 0 && !x.is_negative
                         : rounding == FloatSettings::down  ? rest != 0 && x.is_negative
                                                            : false;
    return units + (is_away ? 1 : 0);
}

double rounded(const Unrounded& x, FloatSettings settings) {
    const unsigned rounding = settings.rounding();
    if (x.magnitude == 0) return rounding == FloatSettings::down ? -0.0 : 0.0;
    const double sign = x.is_negative ? -1 : 1;
    const int exponent = x.exponent + Unrounded::highest_bit(x.magnitude);
    // If results are flushed to zero, the processor replaces a result by zero if it is tiny when rounded to as many
    // bits as a normal number has.
    if (settings.flushes_results_to_zero() && exponent < least_exponent &&
        (exponent < least_exponent - 1 ||
         in_units(x, exponent - fraction_bits, rounding) < std::uint64_t{1} << (fraction_bits + 1)))
        return sign * 0.0;
    const int last = std::max(exponent, least_exponent) - fraction_bits;
    // The units of a normal number include its implicit bit, which adds 1 to the field of the exponent. So the field
    // begins at a value that is smaller by 1.
    const std::uint64_t bits = (static_cast<std::uint64_t>(last - least_exponent + fraction_bits) << fraction_bits) +
                               in_units(x, last, rounding);
    volatile double largest = std::numeric_limits<double>::max();
    if (bits >= std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity())) return sign * largest * 2;
    return std::bit_cast<double>(bits | std::uint64_t{x.is_negative} << 63);
}

}  // namespace

double fused_multiply_add_plain(double a, double b, double c) {
    const FloatSettings settings;
    if (settings.rounding() == FloatSettings::nearest && stays_in_normal_range(a, b, c)) return add_quickly(a, b, c);
    if (!is_finite(a) || !is_finite(b) || a == 0 || b == 0) return a * b + c;
    if (!is_finite(c)) return c + c;
    const Unrounded product = multiply(Unrounded::of(a), Unrounded::of(b));
    return rounded(c == 0 ? product : add(product, Unrounded::of(c)), settings);
}

}  // namespace fp32shim::blas

#endif
