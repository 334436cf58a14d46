#include "gpu_check/products/format.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>

namespace gpu {

namespace {

// Limit for errors that still count as FP32. Summing in float32 errs far less for k up to 8192, and two formats lie
// far more apart. Tensor cores truncate their sums, while other units round them. With 4 products a step, that moves
// a result by 1e-5 at k = 2048 and by 4e-5 at 8192, always towards zero.
constexpr double matching_fp32 = 2e-5;
constexpr double matching_lower = 1e-4;

/// Returns the unit to which a value is rounded in a format with `explicit_bits` mantissa bits. An exponent below
/// `least_exponent` counts as that exponent.
double quantum(double value, int explicit_bits, int least_exponent) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0, std::max(exponent - 1, least_exponent) - explicit_bits);
}

double distance(std::span<const Complex> result, const std::vector<Complex>& reference) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        difference += std::norm(result[i] - reference[i]);
        size += std::norm(reference[i]);
    }
    const double relative = std::sqrt(difference / size);
    return std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

const char* format_of(Rounding rounding) {
    switch (rounding) {
        case Rounding::none:
            return "fp32";
        case Rounding::tf32_away:
        case Rounding::tf32_even:
        case Rounding::tf32_truncated:
            return "tf32";
        case Rounding::bf16:
            return "bf16";
        case Rounding::fp16:
            return "fp16";
    }
    return "wrong";
}

const char* match_of(Rounding rounding) {
    switch (rounding) {
        case Rounding::none:
            return "exact operands";
        case Rounding::tf32_away:
        case Rounding::tf32_even:
            return "tf32 operands, nearest";
        case Rounding::tf32_truncated:
            return "tf32 operands, truncated";
        case Rounding::bf16:
            return "bf16 operands";
        case Rounding::fp16:
            return "fp16 operands";
    }
    return "";
}

/// Names a format by the size of the error alone. Needed when no reference can match, because the library rounds sums
/// of operands (3m) or intermediate results (trsm).
const char* format_by_level(double error) {
    if (error < 1e-3) return "tf32";
    if (error < 4e-3) return "bf16";
    if (error < 0.1) return "fp16";
    return "wrong";
}

}  // namespace

double rounded(double value, Rounding rounding) {
    if (value == 0 || !std::isfinite(value)) return value;
    constexpr int float32_least_exponent = -126;
    switch (rounding) {
        case Rounding::none:
            return value;
        case Rounding::tf32_away: {
            const double unit = quantum(value, 10, float32_least_exponent);
            return std::round(value / unit) * unit;
        }
        case Rounding::tf32_even: {
            const double unit = quantum(value, 10, float32_least_exponent);
            return std::nearbyint(value / unit) * unit;
        }
        case Rounding::tf32_truncated: {
            const double unit = quantum(value, 10, float32_least_exponent);
            return std::trunc(value / unit) * unit;
        }
        case Rounding::bf16: {
            const double unit = quantum(value, 7, float32_least_exponent);
            return std::nearbyint(value / unit) * unit;
        }
        case Rounding::fp16: {
            const double unit = quantum(value, 10, -14);
            const double near = std::nearbyint(value / unit) * unit;
            return std::abs(near) > 65504 ? std::copysign(std::numeric_limits<double>::infinity(), value) : near;
        }
    }
    return value;
}

Complex rounded(Complex value, Rounding rounding) {
    return {rounded(value.real(), rounding), rounded(value.imag(), rounding)};
}

std::string scientific(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    return text;
}

Measured judge(std::span<const Complex> result, const std::vector<std::vector<Complex>>& references) {
    const double error = distance(result, references[0]);
    if (error < matching_fp32) return {"fp32", match_of(Rounding::none), error};
    // Skips the exact operands: a solve in TF32 is closer to their result than to that of any rounded operands.
    std::size_t nearest = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t r = 1; r < references.size(); ++r) {
        const double candidate = distance(result, references[r]);
        if (candidate < least) {
            least = candidate;
            nearest = r;
        }
    }
    if (least < matching_lower) return {format_of(all_roundings[nearest]), match_of(all_roundings[nearest]), error};
    return {format_by_level(error), "level", error};
}

}  // namespace gpu
