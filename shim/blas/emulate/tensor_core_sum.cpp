#include "shim/blas/emulate/tensor_core_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {
namespace {

// These exponents stand for a factor of zero, and for a factor that is left out. They are so low that their sum with
// another factor's exponent is never the largest exponent of a step.
constexpr std::int32_t exponent_of_zero = -1000;
constexpr std::int32_t exponent_of_nothing = -2000;

constexpr int float_fraction_bits = 23;
constexpr std::int32_t float_lowest_exponent = -126;
constexpr std::int32_t exponent_bias = 127;

struct FloatParts {
    std::int32_t exponent;
    std::int32_t significand;
    bool is_finite;
};

/// Returns the exponent and significand of a float. Infinities and NaN count as 0. Numbers below 2^`lowest_exponent`
/// are subnormal. The last `cut_bits` bits of the significand of a normal number are left out.
FloatParts float_parts(float number, std::int32_t lowest_exponent, int cut_bits) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const auto biased = static_cast<std::int32_t>(bits >> float_fraction_bits & 0xff);
    const std::uint32_t fraction = bits & ((1U << float_fraction_bits) - 1);
    if (biased == 0xff) return {exponent_of_zero, 0, false};
    if (biased == 0 && fraction == 0) return {exponent_of_zero, 0, true};
    const std::int32_t exponent = std::max(biased, 1) - exponent_bias;
    const std::int32_t unit_exponent = std::max(exponent, lowest_exponent);
    const std::uint32_t whole = fraction | (biased == 0 ? 0 : 1U << float_fraction_bits);
    const int shift = std::min(cut_bits + (unit_exponent - exponent), 31);
    const auto size = static_cast<std::int32_t>(whole >> shift);
    return {unit_exponent, bits >> 31 != 0 ? -size : size, true};
}

/// Returns sum * 2^(exponent - fraction_bits), cut towards zero to `result_bits` fraction bits and to float32's
/// range.
float cut_to_float(std::int64_t sum, std::int32_t exponent, int fraction_bits, int result_bits) {
    if (sum == 0) return 0;
    const std::uint32_t sign = sum < 0 ? 1U << 31 : 0;
    const auto size = static_cast<std::uint64_t>(std::abs(sum));
    const int top = 63 - std::countl_zero(size);
    const std::int32_t own_exponent = top + exponent - fraction_bits;
    if (own_exponent > exponent_bias) return std::bit_cast<float>(sign | 0x7f800000U);
    // `bits` has the leading 1 of the sum and the 23 bits behind it.
    auto bits = static_cast<std::uint32_t>(size << (63 - top) >> (63 - float_fraction_bits));
    int cut = float_fraction_bits - result_bits;
    if (own_exponent >= float_lowest_exponent) {
        bits = bits >> cut << cut;
        const auto biased = static_cast<std::uint32_t>(own_exponent + exponent_bias);
        return std::bit_cast<float>(sign | biased << float_fraction_bits |
                                    (bits & ((1U << float_fraction_bits) - 1)));
    }
    bits >>= std::min(float_lowest_exponent - own_exponent, 31);
    return std::bit_cast<float>(sign | bits >> cut << cut);
}

/// Returns `start` plus the first `count` products of the sum with the index `sum`, added in double precision. If a
/// term is infinite or NaN, the result is infinite or NaN as IEEE 754 defines it.
double sum_in_double(const LeftFactors& left, const RightFactors& right, int count, int sum, float start) {
    double total = start;
    for (int p = 0; p < count; ++p) {
        const bool is_there =
            left.exponents[p][0] != exponent_of_nothing && right.exponents[p][sum] != exponent_of_nothing;
        if (is_there) total += static_cast<double>(left.numbers[p][0]) * static_cast<double>(right.numbers[p][sum]);
    }
    return total;
}

void set_infinite_sums(const LeftFactors& left, const RightFactors& right, int count, bool is_negative,
                       const float (&starts)[sums_at_once], float (&sums)[sums_at_once]) {
    for (int j = 0; j < sums_at_once; ++j) {
        const double total = sum_in_double(left, right, count, j, is_negative ? -starts[j] : starts[j]);
        if (std::isnan(total)) sums[j] = std::bit_cast<float>(0x7fffffffU);  // the NaN that tensor cores give
        if (std::isinf(total)) sums[j] = static_cast<float>(is_negative ? -total : total);
    }
}

__attribute__((always_inline)) inline void add_product_block_inline(const LeftFactors& left,
                                                                    const RightFactors& right, int count,
                                                                    bool is_negative, const TensorCoreModel& core,
                                                                    float (&sums)[sums_at_once]) {
    const int sum_bits = core.step.bits;
    std::int32_t largest[sums_at_once];
    std::int64_t totals[sums_at_once];
    bool are_finite = left.are_finite && right.are_finite;
    std::int32_t start_exponents[sums_at_once];
    for (int j = 0; j < sums_at_once; ++j) {
        const FloatParts start = float_parts(sums[j], float_lowest_exponent, 0);
        are_finite &= start.is_finite;
        start_exponents[j] = start.exponent;
        totals[j] = start.significand;
        largest[j] = std::max(start.exponent, core.step.lowest_exponent);
    }
    for (int p = 0; p < count; ++p)
        for (int j = 0; j < sums_at_once; ++j)
            largest[j] = std::max(largest[j], left.exponents[p][0] + right.exponents[p][j]);

    const int wider = std::max(sum_bits - float_fraction_bits, 0);
    const int narrower = std::max(float_fraction_bits - sum_bits, 0);
    for (int j = 0; j < sums_at_once; ++j) {
        const int shift = std::min(largest[j] - start_exponents[j] + narrower, 62);
        const std::int64_t size = std::abs(totals[j]) << wider >> shift;
        totals[j] = totals[j] < 0 ? -size : size;
    }
    const int product_shift = sum_bits - 2 * core.factor_fraction_bits;
    for (int p = 0; p < count; ++p) {
        // The magnitude of a product is below 4, so it has at most 27 bits after the shift to the sum's fraction
        // bits.
        const std::int32_t factor =
            (is_negative ? -left.significands[p][0] : left.significands[p][0]) * (1 << product_shift);
        for (int j = 0; j < sums_at_once; ++j) {
            const std::int32_t product = factor * right.significands[p][j];
            const std::int32_t shift = std::min(largest[j] - left.exponents[p][0] - right.exponents[p][j], 31);
            const std::int32_t size = std::abs(product) >> shift;
            totals[j] += product < 0 ? -size : size;
        }
    }
    float starts[sums_at_once];
    std::copy_n(sums, sums_at_once, starts);
    for (int j = 0; j < sums_at_once; ++j)
        sums[j] = cut_to_float(totals[j], largest[j], sum_bits, core.step.result_bits);
    if (!are_finite) set_infinite_sums(left, right, count, is_negative, starts, sums);
}

}  // namespace

template <int sums>
void BlockFactors<sums>::set_factor(int product, int sum, float number, const TensorCoreModel& core) {
    const FloatParts parts =
        float_parts(number, core.lowest_exponent, float_fraction_bits - core.factor_fraction_bits);
    exponents[product][sum] = parts.exponent;
    significands[product][sum] = parts.significand;
    numbers[product][sum] = number;
    are_finite &= parts.is_finite;
}

template <int sums>
void BlockFactors<sums>::leave_out_factor(int product, int sum) {
    exponents[product][sum] = exponent_of_nothing;
    significands[product][sum] = 0;
}

template struct BlockFactors<1>;
template struct BlockFactors<sums_at_once>;

void add_product_block(const LeftFactors& left, const RightFactors& right, int count, bool is_negative,
                       const TensorCoreModel& core, float (&sums)[sums_at_once]) {
    if (core.step.start == policy::Start::joins) {
        add_product_block_inline(left, right, count, is_negative, core, sums);
        return;
    }
    float products[sums_at_once] = {};
    add_product_block_inline(left, right, count, is_negative, core, products);
    for (int j = 0; j < sums_at_once; ++j) sums[j] += products[j];
}

}  // namespace fp32shim::blas
