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

inline __m512 load(const float* from) { return _mm512_loadu_ps(from); }
inline __m512d load(const double* from) { return _mm512_loadu_pd(from); }
inline void store(float* to, __m512 value) { _mm512_storeu_ps(to, value); }
inline void store(double* to, __m512d value) { _mm512_storeu_pd(to, value); }
inline __m512 broadcast(float value) { return _mm512_set1_ps(value); }
inline __m512d broadcast(double value) { return _mm512_set1_pd(value); }
inline __m512 fused_multiply_add(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused_multiply_add(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
inline __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
inline __m512d multiply(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
inline __m512 divide(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
inline __m512d divide(__m512d a, __m512d b) { return _mm512_div_pd(a, b); }
inline __mmask16 first(int count) { return static_cast<__mmask16>((1U << count) - 1); }
inline __m512 load_part(const float* from, int count) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(*from), first(count), from);
}
inline __m512d load_part(const double* from, int count) {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(*from), static_cast<__mmask8>(first(count)), from);
}
inline void store_part(float* to, __m512 value, int count) { _mm512_mask_storeu_ps(to, first(count), value); }
inline void store_part(double* to, __m512d value, int count) {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first(count)), value);
}

#elif defined(__AVX2__)

inline __m256 load(const float* from) { return _mm256_loadu_ps(from); }
inline __m256d load(const double* from) { return _mm256_loadu_pd(from); }
inline void store(float* to, __m256 value) { _mm256_storeu_ps(to, value); }
inline void store(double* to, __m256d value) { _mm256_storeu_pd(to, value); }
inline __m256 broadcast(float value) { return _mm256_set1_ps(value); }
inline __m256d broadcast(double value) { return _mm256_set1_pd(value); }
inline __m256 fused_multiply_add(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused_multiply_add(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m256 multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
inline __m256d multiply(__m256d a, __m256d b) { return _mm256_mul_pd(a, b); }
inline __m256 divide(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
inline __m256d divide(__m256d a, __m256d b) { return _mm256_div_pd(a, b); }
inline __m256i first_floats(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline __m256i first_doubles(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
inline __m256 load_part(const float* from, int count) {
    const __m256i mask = first_floats(count);
    return _mm256_blendv_ps(_mm256_set1_ps(*from), _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
inline __m256d load_part(const double* from, int count) {
    const __m256i mask = first_doubles(count);
    return _mm256_blendv_pd(_mm256_set1_pd(*from), _mm256_maskload_pd(from, mask), _mm256_castsi256_pd(mask));
}
inline void store_part(float* to, __m256 value, int count) { _mm256_maskstore_ps(to, first_floats(count), value); }
inline void store_part(double* to, __m256d value, int count) { _mm256_maskstore_pd(to, first_doubles(count), value); }

#elif defined(__aarch64__)

inline float32x4_t load(const float* from) { return vld1q_f32(from); }
inline float64x2_t load(const double* from) { return vld1q_f64(from); }
inline void store(float* to, float32x4_t value) { vst1q_f32(to, value); }
inline void store(double* to, float64x2_t value) { vst1q_f64(to, value); }
inline float32x4_t broadcast(float value) { return vdupq_n_f32(value); }
inline float64x2_t broadcast(double value) { return vdupq_n_f64(value); }
inline float32x4_t fused_multiply_add(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
inline float64x2_t fused_multiply_add(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
inline float32x4_t multiply(float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
inline float64x2_t multiply(float64x2_t a, float64x2_t b) { return vmulq_f64(a, b); }
inline float32x4_t divide(float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }
inline float64x2_t divide(float64x2_t a, float64x2_t b) { return vdivq_f64(a, b); }
template <class Real>
auto load_part(const Real* from, int count) {
    constexpr int lanes = 16 / sizeof(Real);
    Real all[lanes];
    for (int i = 0; i < lanes; ++i) all[i] = from[i < count ? i : 0];
    return load(all);
}
template <class Real, class Vector>
void store_part(Real* to, Vector value, int count) {
    Real all[16 / sizeof(Real)];
    store(all, value);
    for (int i = 0; i < count; ++i) to[i] = all[i];
}

#else  // a vector is one number

template <class Real>
Real load(const Real* from) {
    return *from;
}
template <class Real>
void store(Real* to, Real value) {
    *to = value;
}
template <class Real>
Real broadcast(Real value) {
    return value;
}
template <class Real>
Real fused_multiply_add(Real a, Real b, Real c) {
    return fused_multiply_add_plain(a, b, c);
}
template <class Real>
Real multiply(Real a, Real b) {
    return a * b;
}
template <class Real>
Real divide(Real a, Real b) {
    return a / b;
}
template <class Real>
Real load_part(const Real* from, int) {  // never called, nor is store_part
    return *from;
}
template <class Real>
void store_part(Real* to, Real value, int) {
    *to = value;
}

#endif

template <class Real>
using Vector = decltype(broadcast(Real{}));
template <class Real>
constexpr int lanes = sizeof(Vector<Real>) / sizeof(Real);

/// The sums of a tile, in registers.
template <class Real, int vectors, int columns>
struct Sums {
    Vector<Real> of[columns][vectors];
};

template <class Real, int vectors, int columns>
[[gnu::always_inline]] inline Sums<Real, vectors, columns> sums_of(const Real* left, const Real* right,
                                                                   std::int64_t depth) {
    constexpr int rows = vectors * lanes<Real>;
    Sums<Real, vectors, columns> sums;
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) sums.of[j][v] = broadcast(Real{0});
    for (std::int64_t p = 0; p < depth; ++p) {
        Vector<Real> factors[vectors];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) factors[v] = load(left + p * rows + v * lanes<Real>);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const Vector<Real> factor = broadcast(right[p * columns + j]);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v) sums.of[j][v] = fused_multiply_add(factors[v], factor, sums.of[j][v]);
        }
    }
    return sums;
}

template <class Real, int vectors, int columns>
void sum(const Real* left, const Real* right, std::int64_t depth, Real* tile) {
    const auto sums = sums_of<Real, vectors, columns>(left, right, depth);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) store(tile + (j * vectors + v) * lanes<Real>, sums.of[j][v]);
}

template <class Real, int vectors, int columns>
[[gnu::always_inline]] inline void add(const Sums<Real, vectors, columns>& sums, const TileOfResult<Real>& result) {
    const Vector<Real> alpha = broadcast(result.alpha);
    const Vector<Real> beta = broadcast(result.beta);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        if (j >= result.columns) break;
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) {
            Real* const at = result.data + j * result.ld + v * lanes<Real>;
            const int present = result.rows - v * lanes<Real>;
            const auto old = [&](const auto& load_it) {
                if (result.beta == 0) return broadcast(Real{0});
                return result.beta == 1 ? load_it() : multiply(beta, load_it());
            };
            if (present >= lanes<Real>) {
                store(at, fused_multiply_add(alpha, sums.of[j][v], old([&] { return load(at); })));
            } else if (present > 0) {
                const Vector<Real> before = old([&] { return load_part(at, present); });
                store_part(at, fused_multiply_add(alpha, sums.of[j][v], before), present);
            }
        }
    }
}

#if defined(__FMA__) || defined(__aarch64__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }  // an instruction
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
template <class Real>
Real fused(Real a, Real b, Real c) {
    return fused_multiply_add_plain(a, b, c);
}
#endif

/// The part that the old element has in a new one.
enum class Old { none, as_it_is, scaled };

template <Old old, class Real>
void add_real(const Real* sums, Real* to, int count, Real alpha, Real beta) {
    for (int i = 0; i < count; ++i) {
        const Real before = old == Old::none ? 0 : old == Old::as_it_is ? to[i] : beta * to[i];
        to[i] = fused(alpha, sums[i], before);
    }
}

/// Factors without an imaginary part are real, as those of herk: zero times infinity would be NaN.
template <Old old, class Real>
void add_complex(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                 ComplexNumber<Real> beta) {
    for (int i = 0; i < count; ++i, to += 2) {
        ComplexNumber<Real> sum{0, 0};
        if (old == Old::as_it_is) sum = {to[0], to[1]};
        if (old == Old::scaled) sum = {beta.re * to[0], beta.re * to[1]};
        if (old == Old::scaled && beta.im != 0) sum = {fused(-beta.im, to[1], sum.re), fused(beta.im, to[0], sum.im)};
        sum = {fused(alpha.re, re[i], sum.re), fused(alpha.re, im[i], sum.im)};
        if (alpha.im != 0) sum = {fused(-alpha.im, im[i], sum.re), fused(alpha.im, re[i], sum.im)};
        to[0] = sum.re;
        to[1] = sum.im;
    }
}

template <Old old, class Real>
void add_column_to(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                   ComplexNumber<Real> beta) {
    if (im == nullptr)
        add_real<old>(re, to, count, alpha.re, beta.re);
    else
        add_complex<old>(re, im, to, count, alpha, beta);
}

template <class Real>
void add_column(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                ComplexNumber<Real> beta) {
    if (beta.re == 0 && beta.im == 0)
        add_column_to<Old::none>(re, im, to, count, alpha, beta);
    else if (beta.re == 1 && beta.im == 0)
        add_column_to<Old::as_it_is>(re, im, to, count, alpha, beta);
    else
        add_column_to<Old::scaled>(re, im, to, count, alpha, beta);
}

template <class Real, int vectors, int columns>
void add_to_result(const Real* left, const Real* right, std::int64_t depth, const TileOfResult<Real>& result) {
    add(sums_of<Real, vectors, columns>(left, right, depth), result);
}

template <class Real, bool is_whole, int columns>
[[gnu::always_inline]] inline Sums<Real, 1, columns> sums_in_place(const FactorsInPlace<Real>& factors,
                                                                   std::int64_t depth,
                                                                   const TileOfResult<Real>& result) {
    Sums<Real, 1, columns> sums;
    const Real* right[columns];
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        sums.of[j][0] = broadcast(Real{0});
        right[j] = factors.right + (j < result.columns ? j : 0) * factors.right_of_column;
    }
    const Real* left = factors.left;
    std::int64_t at = 0;
    for (std::int64_t p = 0; p < depth; ++p, left += factors.left_of_summed, at += factors.right_of_summed) {
        const Vector<Real> factor = is_whole ? load(left) : load_part(left, result.rows);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j)
            sums.of[j][0] = fused_multiply_add(factor, broadcast(right[j][at]), sums.of[j][0]);
    }
    return sums;
}

template <class Real, int columns>
void add_in_place(const FactorsInPlace<Real>& factors, std::int64_t depth, const TileOfResult<Real>& result) {
    if (result.rows == lanes<Real>)
        add(sums_in_place<Real, true, columns>(factors, depth, result), result);
    else
        add(sums_in_place<Real, false, columns>(factors, depth, result), result);
}

/// The vectors of a row of unknowns, and the rows that are solved side by side.
enum : int { vectors_of_unknowns = 4, unknowns_at_once = 2 };

template <class Real>
constexpr int solved_columns = vectors_of_unknowns* lanes<Real>;

/// Unknowns from `first` on: the terms of all earlier ones are subtracted from `rows` of them, then those that the
/// rows have of each other.
template <class Real, int rows>
[[gnu::always_inline]] inline void solve_rows(const Real* triangle, int first, bool has_unit_diagonal, Real* panel) {
    constexpr int width = solved_columns<Real>;
    Vector<Real> x[rows][vectors_of_unknowns];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) x[r][v] = load(panel + (first + r) * width + v * lanes<Real>);
    for (int j = 0; j < first; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) {
            const Vector<Real> known = load(panel + j * width + v * lanes<Real>);
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r)
                x[r][v] = fused_multiply_add(broadcast(triangle[(first + r) * solved_at_once + j]), known, x[r][v]);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) {
            const Real* const row = triangle + (first + r) * solved_at_once + first;
#pragma GCC unroll 16
            for (int j = 0; j < r; ++j) x[r][v] = fused_multiply_add(broadcast(row[j]), x[j][v], x[r][v]);
            if (!has_unit_diagonal) x[r][v] = divide(x[r][v], broadcast(row[r]));
            store(panel + (first + r) * width + v * lanes<Real>, x[r][v]);
        }
}

template <class Real>
void solve(const Real* triangle, int count, bool has_unit_diagonal, Real* panel) {
    int i = 0;
    for (; i + unknowns_at_once <= count; i += unknowns_at_once)
        solve_rows<Real, unknowns_at_once>(triangle, i, has_unit_diagonal, panel);
    for (; i < count; ++i) solve_rows<Real, 1>(triangle, i, has_unit_diagonal, panel);
}

template <class Real>
void solve_complex(const Real* triangle, int count, bool has_unit_diagonal, Real* panel) {
    constexpr int width = solved_columns<Real>;
    for (int i = 0; i < count; ++i) {
        const Real* const row = triangle + 2 * i * solved_at_once;
        for (int c = 0; c < width; c += lanes<Real>) {
            Real* const at = panel + 2 * i * width + c;
            Vector<Real> re = load(at);
            Vector<Real> im = load(at + width);
            for (int j = 0; j < i; ++j) {
                const Vector<Real> known_re = load(panel + 2 * j * width + c);
                const Vector<Real> known_im = load(panel + (2 * j + 1) * width + c);
                re = fused_multiply_add(broadcast(row[2 * j]), known_re, re);
                re = fused_multiply_add(broadcast(-row[2 * j + 1]), known_im, re);
                im = fused_multiply_add(broadcast(row[2 * j]), known_im, im);
                im = fused_multiply_add(broadcast(row[2 * j + 1]), known_re, im);
            }
            if (!has_unit_diagonal) {
                const Vector<Real> whole = multiply(broadcast(row[2 * i]), re);
                const Vector<Real> other = multiply(broadcast(row[2 * i]), im);
                const Vector<Real> old = re;
                re = fused_multiply_add(broadcast(-row[2 * i + 1]), im, whole);
                im = fused_multiply_add(broadcast(row[2 * i + 1]), old, other);
            }
            store(at, re);
            store(at + width, im);
        }
    }
}

template <class Real, int vectors, int columns>
constexpr TileLoops<Real> tile_loops{.rows = vectors * lanes<Real>,
                                     .columns = columns,
                                     .summed_at_once = summed_at_once,
                                     .sum = sum<Real, vectors, columns>,
                                     .add_to_result = add_to_result<Real, vectors, columns>,
                                     .add_column = add_column<Real>,
                                     .solve = solve<Real>,
                                     .solve_complex = solve_complex<Real>,
                                     .solved_columns = solved_columns<Real>};

template <class Real, int columns>
constexpr LoopsInPlace<Real> loops_in_place{lanes<Real>, columns, add_in_place<Real, columns>};

/// The tiles of an instruction set: the vectors of a column, and the columns.
template <int large_vectors, int large_columns, int small_vectors, int small_columns, int columns_in_place>
constexpr LoopsOfInstructionSet loops_of_tiles{
    {tile_loops<float, large_vectors, large_columns>, tile_loops<float, small_vectors, small_columns>,
     loops_in_place<float, columns_in_place>},
    {tile_loops<double, large_vectors, large_columns>, tile_loops<double, small_vectors, small_columns>,
     loops_in_place<double, columns_in_place>}};

}  // namespace
}  // namespace fp32shim::blas
