#include "gpu_check/products/format.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace gpu {
namespace {

// Largest distances from a reference at which a result matches the reference. Sums in float32 have far smaller errors
// for k up to 8192, and the references of two formats are farther apart. Tensor cores truncate their sums towards
// zero, while other units round them. Truncating after every 8 products moves a result by 1.6e-5 at k = 2048 and by
// 5.5e-5 at k = 8192.
constexpr double fp32_match_distance = 2e-5;
constexpr double lower_match_distance = 1e-4;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounds away the last `bits` bits of a number's mantissa. If this rounds up, the carry may raise the exponent, up
/// to infinity.
float drop_bits(float value, int bits, Rounding::Ties ties) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = 1U << (bits - 1);
    const std::uint32_t is_odd = (word >> bits) & 1U;
    const std::uint32_t added = ties == Rounding::truncate ? 0 : ties == Rounding::away ? half : half - 1 + is_odd;
    return std::bit_cast<float>((word + added) >> bits << bits);
}

float rounded_to_fp16(float value, Rounding::Ties ties) {
    constexpr float largest = 65504;
    constexpr float smallest_normal = 0x1p-14F;
    constexpr float unit_of_subnormals = 0x1p-24F;
    const float size = std::abs(value);
    if (size < smallest_normal) {
        const float units = value / unit_of_subnormals;
        const float whole = ties == Rounding::even   ? std::nearbyint(units)
                            : ties == Rounding::away ? std::round(units)
                                                     : std::trunc(units);
        return whole * unit_of_subnormals;
    }
    const float result = drop_bits(value, 13, ties);
    if (std::abs(result) <= largest) return result;
    return std::copysign(ties == Rounding::truncate ? largest : std::numeric_limits<float>::infinity(), value);
}

bool is_finite(Complex value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

/// Returns the root mean square (rms) of `result` minus `reference`, divided by the rms of `exact`. Counts only the
/// elements that `is_chosen` marks and that are finite. Returns infinity if an element is finite in only one of
/// `result` and `reference`, or if no element is finite.
double distance(std::span<const Complex> result, const std::vector<Complex>& reference,
                const std::vector<Complex>& exact, const std::vector<bool>& is_chosen) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        if (!is_chosen[i]) continue;
        if (is_finite(result[i]) != is_finite(reference[i])) return infinity;
        if (!is_finite(result[i])) continue;
        difference += std::norm(result[i] - reference[i]);
        size += std::norm(exact[i]);
    }
    return size == 0 ? infinity : std::sqrt(difference / size);
}

const char* name_of(Rounding::Format format) {
    constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16"};
    return names[format];
}

std::string match_of(Rounding rounding) {
    constexpr const char* words[] = {"ties to even", "ties away from zero", "truncated"};
    return std::string(name_of(rounding.format)) + " operands, " + words[rounding.ties];
}

/// The errors of a result, once over all elements, and once over the elements whose operands are in the range of
/// FP16.
struct ResultErrors {
    double of_all = infinity;
    double in_range_of_fp16 = infinity;
};

/// Names a format by the size of the error alone. This is needed if no reference can match, because the library
/// rounds sums of operands (3m) or intermediate results (trsm). `tf32` and `bf16` are the errors of operands
/// truncated to these formats.
const char* format_by_level(const ResultErrors& errors, double tf32, double bf16) {
    // Rounding to the nearest number of BF16 makes half of the error that truncating makes. So the limit lies, on a
    // logarithmic scale, halfway between the largest error of TF32 and the smallest of BF16.
    const double limit_of_tf32 = std::sqrt(tf32 * bf16 / 2);
    if (errors.of_all < limit_of_tf32) return "tf32";
    if (errors.of_all < 2 * bf16) return "bf16";
    return errors.in_range_of_fp16 < limit_of_tf32 ? "fp16" : "wrong";
}

}  // namespace

float rounded(float value, Rounding rounding) {
    if (!std::isfinite(value)) return value;
    switch (rounding.format) {
        case Rounding::fp32:
            break;
        case Rounding::tf32:
            return drop_bits(value, 13, rounding.ties);
        case Rounding::bf16:
            return drop_bits(value, 16, rounding.ties);
        case Rounding::fp16:
            return rounded_to_fp16(value, rounding.ties);
    }
    return value;
}

Complex rounded(std::complex<float> value, Rounding rounding) {
    return {rounded(value.real(), rounding), rounded(value.imag(), rounding)};
}

MeasuredRounding identify_rounding(std::span<const Complex> result, const std::vector<bool>& is_in_range_of_fp16,
                                   const std::function<std::vector<Complex>(Rounding)>& reference) {
    const std::vector<Complex> exact = reference({});
    const std::vector<bool> all(exact.size(), true);
    const double error = distance(result, exact, exact, all);
    if (error < fp32_match_distance) return {"fp32", "exact operands", error};
    // The exact operands are not among the candidates, because the result of a solve in TF32 is closer to the
    // solution with exact operands than to the solution with any rounded ones.
    Rounding nearest;
    double least = infinity;
    double truncated[4] = {};  // errors of a product if its operands are truncated to each format
    for (const Rounding rounding : all_roundings) {
        const std::vector<Complex> candidate = reference(rounding);
        if (rounding.ties == Rounding::truncate) truncated[rounding.format] = distance(candidate, exact, exact, all);
        const double from_candidate = distance(result, candidate, exact, all);
        if (from_candidate >= least) continue;
        least = from_candidate;
        nearest = rounding;
    }
    if (least < lower_match_distance) return {name_of(nearest.format), match_of(nearest), error};
    const ResultErrors errors{error, distance(result, exact, exact, is_in_range_of_fp16)};
    return {format_by_level(errors, truncated[Rounding::tf32], truncated[Rounding::bf16]), "level", error};
}

}  // namespace gpu
