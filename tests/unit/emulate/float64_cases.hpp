// The cases of emulate_cases.hpp with operands of float64.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "emulate_cases.hpp"

namespace fp32shim::tests {

/// Float64 numbers in the memory of floats, two for each.
using Doubles = std::vector<float>;

inline double number(const Doubles& doubles, std::size_t i) {
    double value = 0;
    std::memcpy(&value, &doubles[2 * i], sizeof value);
    return value;
}
inline void set(float* at, double value) { std::memcpy(at, &value, sizeof value); }

template <class Change>
Doubles changed(Doubles doubles, const Change& change) {
    for (std::size_t i = 0; i < doubles.size() / 2; ++i) {
        // Poison stays as it is: copying a signalling NaN as a number may change it.
        if (const double value = number(doubles, i); !std::isnan(value)) set(&doubles[2 * i], change(value));
    }
    return doubles;
}

/// Returns numbers near those of `floats`, with bits beyond a float32.
inline Doubles widened(const std::vector<float>& floats) {
    constexpr std::uint64_t poison = 0x7ff0123456789abc;
    Doubles doubles(2 * floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i) {
        if (std::isnan(floats[i]))
            std::memcpy(&doubles[2 * i], &poison, sizeof poison);
        else
            set(&doubles[2 * i], floats[i] * (1 + 0x1p-30 * static_cast<double>(1 + i % 7)));
    }
    return doubles;
}

struct Float64Case {
    blas::Level3 product;
    double alpha[2], beta[2];
    Doubles a, b, c;

    explicit Float64Case(const Case& single)
        : product(single.product),
          alpha{single.alpha[0], single.alpha[1]},
          beta{single.beta[0], single.beta[1]},
          a(widened(single.a)),
          b(widened(single.b)),
          c(widened(single.c)) {
        product.is_double = true;
    }

    blas::Level3 pointing_to(float* to_a, float* to_b, float* to_c) const {
        blas::Level3 placed = product;
        const bool in_place = product.operation == blas::Operation::trmm && c.empty();
        placed.alpha = alpha;
        placed.beta = in_place ? nullptr : beta;
        placed.a = to_a;
        placed.b = b.empty() ? nullptr : to_b;
        placed.c = in_place ? nullptr : to_c;
        return placed;
    }
};

}  // namespace fp32shim::tests
