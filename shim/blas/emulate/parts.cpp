#include "shim/blas/emulate/parts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace fp32shim::blas {
namespace {

constexpr std::size_t elements_at_once = 256;

/// Returns all bits set if the number is finite, otherwise no bits.
std::uint32_t finite_mask(float value) {
    constexpr std::uint32_t infinity = 0x7f800000;
    return (std::bit_cast<std::uint32_t>(value) & infinity) == infinity ? 0 : ~0U;
}

float masked(float value, std::uint32_t mask) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & mask);
}

/// Writes the given part of each number: the number itself rounded (1), the rounded rest (2), or the rounded rest of
/// the rest (3). The subtractions are exact. Infinities are left out, since subtracting them would raise a
/// floating-point exception. If the program flushes subnormal numbers to zero, subnormal rests become zero.
template <OperandRounding rounding, int part, bool keeps_infinities>
void round_part(const float* from, float* to, std::size_t count) {
    const RoundingLoop kernel = rounding_kernel(rounding);
    for (std::size_t first = 0; first < count; first += elements_at_once) {
        const std::size_t size = std::min(elements_at_once, count - first);
        std::array<float, elements_at_once> rest;
        std::memcpy(rest.data(), from + first, size * sizeof(float));
        std::array<float, elements_at_once> rounded;
        for (int i = 1; i < part; ++i) {
            kernel(rest.data(), rounded.data(), size);
            for (std::size_t j = 0; j < size; ++j) {
                const std::uint32_t mask = finite_mask(rounded[j]);
                rest[j] = masked(rest[j], mask) - masked(rounded[j], mask);
            }
        }
        kernel(rest.data(), rounded.data(), size);
        for (std::size_t j = 0; j < size; ++j)
            to[first + j] = keeps_infinities ? rounded[j] : masked(rounded[j], finite_mask(rounded[j]));
    }
}

template <OperandRounding rounding, int part_of_a, int part_of_b>
constexpr RoundedProduct product_of_parts() {
    constexpr bool is_largest = part_of_a == 1 && part_of_b == 1;
    return {round_part<rounding, part_of_a, is_largest>, round_part<rounding, part_of_b, is_largest>, part_of_a == 1};
}

/// All products of three parts, smallest first. A format with fewer products uses the last ones: six products are
/// those of parts i and j with i + j <= 4, three are those with i + j <= 3.
template <OperandRounding rounding>
constexpr std::array<RoundedProduct, 9> all_products{
    product_of_parts<rounding, 3, 3>(), product_of_parts<rounding, 3, 2>(), product_of_parts<rounding, 2, 3>(),
    product_of_parts<rounding, 3, 1>(), product_of_parts<rounding, 2, 2>(), product_of_parts<rounding, 1, 3>(),
    product_of_parts<rounding, 2, 1>(), product_of_parts<rounding, 1, 2>(), product_of_parts<rounding, 1, 1>()};

constexpr std::span<const RoundedProduct> products_of_roundings[] = {
#define ROUNDING(name, ...) all_products<OperandRounding::name>,
#include "policy/formats.def"
};

}  // namespace

std::span<const RoundedProduct> products_of_parts(Preview preview) {
    if (preview.products == 1) return {};
    return products_of_roundings[static_cast<std::size_t>(preview.rounding)].last(
        static_cast<std::size_t>(preview.products));
}

}  // namespace fp32shim::blas
