// Conversions to BF16 that the loops over BF16 numbers share, and the set of these loops. Only the tile_bf16_*.cpp
// files include this file.
#pragma once

#include "shim/blas/multiply/tile_loops.hpp"

namespace fp32shim::blas {
namespace {

/// Returns 32 floats as BF16 numbers, rounded to nearest, ties to even.
inline __m512i round_32_to_bf16(const float* from) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from)));
}

/// Converts a panel of `width` columns (at most 16) to BF16, and makes the numbers of two successive indices of the
/// sum adjacent.
template <int width>
void convert_to_pairs(const float* panel, std::int64_t depth, float* to) {
    alignas(64) std::uint16_t order[32];  // picks numbers 0, 16, 1, 17, … of two successive rows of the panel
    for (int i = 0; i < 16; ++i) {
        order[2 * i] = static_cast<std::uint16_t>(i);
        order[2 * i + 1] = static_cast<std::uint16_t>(16 + i);
    }
    const __m512i pairs = _mm512_load_si512(order);
    const __mmask16 present = first_lanes(width);
    for (std::int64_t p = 0; p < depth; p += 2, to += width) {
        const Vector<float> one = _mm512_maskz_loadu_ps(present, panel + p * width);
        const Vector<float> other =
            p + 1 < depth ? _mm512_maskz_loadu_ps(present, panel + (p + 1) * width) : _mm512_setzero_ps();
        const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(other, one));
        _mm512_mask_storeu_epi32(to, present, _mm512_permutexvar_epi16(pairs, both));
    }
}

/// Converts a panel of 32 rows to BF16, and makes the numbers of two successive indices of the sum adjacent. Adds
/// zeros up to a multiple of `unit` indices.
template <int unit>
void convert_left(const float* panel, std::int64_t depth, float* to) {
    constexpr int width = 32;
    // The orders take numbers 0, 32, 1, 33, … of two successive indices: the first order takes the first 16 numbers
    // of each, and the second order takes the other 16 numbers.
    alignas(64) std::uint16_t order[2][32];
    for (int i = 0; i < 16; ++i)
        for (int half = 0; half < 2; ++half) {
            order[half][2 * i] = static_cast<std::uint16_t>(16 * half + i);
            order[half][2 * i + 1] = static_cast<std::uint16_t>(32 + 16 * half + i);
        }
    const __m512i low = _mm512_load_si512(order[0]);
    const __m512i high = _mm512_load_si512(order[1]);
    const std::int64_t padded = (depth + unit - 1) / unit * unit;
    for (std::int64_t p = 0; p < padded; p += 2, to += width) {
        const __m512i first = p < depth ? round_32_to_bf16(panel + p * width) : _mm512_setzero_si512();
        const __m512i second = p + 1 < depth ? round_32_to_bf16(panel + (p + 1) * width) : _mm512_setzero_si512();
        _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, low, second));
        _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi16(first, high, second));
    }
}

template <int rows>
void add_bf16_sums(const float* tile, const ResultTile<float>& result) {
    const Vector<float> alpha = broadcast(result.alpha);
    const Vector<float> beta = broadcast(result.beta);
    for (int j = 0; j < result.columns; ++j)
        for (int first = 0; first < result.rows; first += lanes<float>) {
            float* const at = result.data + j * result.ld + first;
            const int present = result.rows - first < lanes<float> ? result.rows - first : lanes<float>;
            const Vector<float> old = result.beta == 0 ? broadcast(0.0F) : beta * load_part(at, present);
            store_part(at, fused(alpha, load(tile + j * rows + first), old), present);
        }
}

template <void (*sum)(const float*, const float*, std::int64_t, float*), int rows, int columns>
void add_bf16_to_result(const float* left, const float* right, std::int64_t depth, const ResultTile<float>& result) {
    alignas(64) float tile[rows * columns];
    sum(left, right, depth, tile);
    add_bf16_sums<rows>(tile, result);
}

template <int rows, int columns, int unit, void (*sum)(const float*, const float*, std::int64_t, float*),
          void (*convert_right)(const float*, std::int64_t, float*),
          void (*convert_stored_right)(const float*, std::int64_t, int, std::int64_t, float*), void (*begin)(),
          void (*end)()>
constexpr TileLoops<float> bf16_loops{rows,
                                      columns,
                                      bf16_summed_at_once,
                                      sum,
                                      add_bf16_to_result<sum, rows, columns>,
                                      add_bf16_sums<rows>,
                                      add_column<float>,
                                      unit,
                                      convert_left<unit>,
                                      convert_right,
                                      convert_stored_right,
                                      begin,
                                      end};

}  // namespace
}  // namespace fp32shim::blas
