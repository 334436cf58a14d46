// The innermost loops, over vectors of the instruction set that the including file is compiled for. Only the
// tile_*.cpp files include this file, and they include nothing that other files inline: the linker could take their
// copy, and the processor may lack its instructions.
//
// Every element of a tile is one chain of fused multiply-adds. Vectors run over rows, never over the sum, so all
// instruction sets give the same bits.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fp32shim::blas {
namespace {

#if defined(__AVX512F__)

using Vector = __m512;
enum : int { lanes = 16 };  // floats of a vector
inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
inline Vector broadcast(float value) { return _mm512_set1_ps(value); }
inline Vector fused_multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
inline __mmask16 first(int count) { return static_cast<__mmask16>((1U << count) - 1); }
inline Vector load_part(const float* from, int count) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(*from), first(count), from);
}
inline void store_part(float* to, Vector value, int count) { _mm512_mask_storeu_ps(to, first(count), value); }

#elif defined(__AVX2__)

using Vector = __m256;
enum : int { lanes = 8 };
inline Vector load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
inline Vector broadcast(float value) { return _mm256_set1_ps(value); }
inline Vector fused_multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vector load_part(const float* from, int count) {
    const __m256i mask = first(count);
    return _mm256_blendv_ps(_mm256_set1_ps(*from), _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
inline void store_part(float* to, Vector value, int count) { _mm256_maskstore_ps(to, first(count), value); }

#elif defined(__aarch64__)

using Vector = float32x4_t;
enum : int { lanes = 4 };
inline Vector load(const float* from) { return vld1q_f32(from); }
inline void store(float* to, Vector value) { vst1q_f32(to, value); }
inline Vector broadcast(float value) { return vdupq_n_f32(value); }
inline Vector fused_multiply_add(Vector a, Vector b, Vector c) { return vfmaq_f32(c, a, b); }
inline Vector multiply(Vector a, Vector b) { return vmulq_f32(a, b); }
inline Vector load_part(const float* from, int count) {
    float all[4];
    for (int i = 0; i < 4; ++i) all[i] = from[i < count ? i : 0];
    return load(all);
}
inline void store_part(float* to, Vector value, int count) {
    float all[4];
    store(all, value);
    for (int i = 0; i < count; ++i) to[i] = all[i];
}

#else

using Vector = float;
enum : int { lanes = 1 };
inline Vector load(const float* from) { return *from; }
inline void store(float* to, Vector value) { *to = value; }
inline Vector broadcast(float value) { return value; }
inline Vector fused_multiply_add(Vector a, Vector b, Vector c) { return fused_multiply_add_plain(a, b, c); }
inline Vector multiply(Vector a, Vector b) { return a * b; }
inline Vector load_part(const float* from, int) { return *from; }  // never called: a vector is one number
inline void store_part(float* to, Vector value, int) { *to = value; }

#endif

/// The sums of a tile, in registers.
template <int vectors, int columns>
struct Sums {
    Vector of[columns][vectors];
};

template <int vectors, int columns>
[[gnu::always_inline]] inline Sums<vectors, columns> sums_of(const float* left, const float* right,
                                                             std::int64_t depth) {
    constexpr int rows = vectors * lanes;
    Sums<vectors, columns> sums;
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) sums.of[j][v] = broadcast(0);
    for (std::int64_t p = 0; p < depth; ++p) {
        Vector factors[vectors];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) factors[v] = load(left + p * rows + v * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const Vector factor = broadcast(right[p * columns + j]);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v) sums.of[j][v] = fused_multiply_add(factors[v], factor, sums.of[j][v]);
        }
    }
    return sums;
}

template <int vectors, int columns>
void sum(const float* left, const float* right, std::int64_t depth, float* tile) {
    const auto sums = sums_of<vectors, columns>(left, right, depth);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) store(tile + (j * vectors + v) * lanes, sums.of[j][v]);
}

template <int vectors, int columns>
[[gnu::always_inline]] inline void add(const Sums<vectors, columns>& sums, const TileOfResult& result) {
    const Vector alpha = broadcast(result.alpha);
    const Vector beta = broadcast(result.beta);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        if (j >= result.columns) break;
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) {
            float* const at = result.data + j * result.ld + v * lanes;
            const int present = result.rows - v * lanes;
            const auto old = [&](const auto& load_it) {
                if (result.beta == 0) return broadcast(0);
                return result.beta == 1 ? load_it() : multiply(beta, load_it());
            };
            if (present >= lanes) {
                store(at, fused_multiply_add(alpha, sums.of[j][v], old([&] { return load(at); })));
            } else if (present > 0) {
                const Vector before = old([&] { return load_part(at, present); });
                store_part(at, fused_multiply_add(alpha, sums.of[j][v], before), present);
            }
        }
    }
}

#if defined(__FMA__) || defined(__aarch64__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }  // an instruction
#else
inline float fused(float a, float b, float c) { return fused_multiply_add_plain(a, b, c); }
#endif

/// The part that the old element has in a new one.
enum class Old { none, as_it_is, scaled };

template <Old old>
void add_real(const float* sums, float* to, int count, float alpha, float beta) {
    for (int i = 0; i < count; ++i) {
        const float before = old == Old::none ? 0 : old == Old::as_it_is ? to[i] : beta * to[i];
        to[i] = fused(alpha, sums[i], before);
    }
}

/// Factors without an imaginary part are real, as those of herk: zero times infinity would be NaN.
template <Old old>
void add_complex(const float* re, const float* im, float* to, int count, ComplexNumber alpha, ComplexNumber beta) {
    for (int i = 0; i < count; ++i, to += 2) {
        ComplexNumber sum{0, 0};
        if (old == Old::as_it_is) sum = {to[0], to[1]};
        if (old == Old::scaled) sum = {beta.re * to[0], beta.re * to[1]};
        if (old == Old::scaled && beta.im != 0) sum = {fused(-beta.im, to[1], sum.re), fused(beta.im, to[0], sum.im)};
        sum = {fused(alpha.re, re[i], sum.re), fused(alpha.re, im[i], sum.im)};
        if (alpha.im != 0) sum = {fused(-alpha.im, im[i], sum.re), fused(alpha.im, re[i], sum.im)};
        to[0] = sum.re;
        to[1] = sum.im;
    }
}

template <Old old>
void add_column_to(const float* re, const float* im, float* to, int count, ComplexNumber alpha, ComplexNumber beta) {
    if (im == nullptr)
        add_real<old>(re, to, count, alpha.re, beta.re);
    else
        add_complex<old>(re, im, to, count, alpha, beta);
}

inline void add_column(const float* re, const float* im, float* to, int count, ComplexNumber alpha,
                       ComplexNumber beta) {
    if (beta.re == 0 && beta.im == 0)
        add_column_to<Old::none>(re, im, to, count, alpha, beta);
    else if (beta.re == 1 && beta.im == 0)
        add_column_to<Old::as_it_is>(re, im, to, count, alpha, beta);
    else
        add_column_to<Old::scaled>(re, im, to, count, alpha, beta);
}

template <int vectors, int columns>
void add_to_result(const float* left, const float* right, std::int64_t depth, const TileOfResult& result) {
    add(sums_of<vectors, columns>(left, right, depth), result);
}

template <bool is_whole, int columns>
[[gnu::always_inline]] inline Sums<1, columns> sums_in_place(const FactorsInPlace& factors, std::int64_t depth,
                                                             const TileOfResult& result) {
    Sums<1, columns> sums;
    const float* right[columns];
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        sums.of[j][0] = broadcast(0);
        right[j] = factors.right + (j < result.columns ? j : 0) * factors.right_of_column;
    }
    const float* left = factors.left;
    std::int64_t at = 0;
    for (std::int64_t p = 0; p < depth; ++p, left += factors.left_of_summed, at += factors.right_of_summed) {
        const Vector factor = is_whole ? load(left) : load_part(left, result.rows);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j)
            sums.of[j][0] = fused_multiply_add(factor, broadcast(right[j][at]), sums.of[j][0]);
    }
    return sums;
}

template <int columns>
void add_in_place(const FactorsInPlace& factors, std::int64_t depth, const TileOfResult& result) {
    if (result.rows == lanes)
        add(sums_in_place<true, columns>(factors, depth, result), result);
    else
        add(sums_in_place<false, columns>(factors, depth, result), result);
}

template <int vectors, int columns>
constexpr TileLoops loops{
    vectors * lanes, columns, summed_at_once, sum<vectors, columns>, add_to_result<vectors, columns>, add_column};

template <int columns>
constexpr LoopsInPlace loops_in_place{lanes, columns, add_in_place<columns>};

}  // namespace
}  // namespace fp32shim::blas
