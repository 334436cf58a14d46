// Vectors of the instruction set that the including file is compiled for. Only tile_loops.hpp and the headers that
// include tile_loops.hpp include this file. It includes no header whose functions other files inline (see
// tile_loops.hpp).
#pragma once

#include <cstdint>
#include <utility>

#include "shim/blas/multiply/tile.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fp32shim::blas {
namespace {

#if defined(__AVX512F__)
enum : int { vector_bytes = 64 };
#elif defined(__AVX2__)
enum : int { vector_bytes = 32 };
#elif defined(__aarch64__)
enum : int { vector_bytes = 16 };
#else
enum : int { vector_bytes = 0 };  // there are no vector instructions, so a vector is one number
#endif

#if defined(__FMA__) || defined(__aarch64__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline float fused(float a, float b, float c) { return fused_multiply_add_plain(a, b, c); }
inline double fused(double a, double b, double c) { return fused_multiply_add_plain(a, b, c); }
#endif
inline float magnitude(float x) { return __builtin_fabsf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__aarch64__)

template <class Real>
struct VectorOf;
template <>
struct VectorOf<float> {
    typedef float type __attribute__((vector_size(vector_bytes)));
    typedef std::uint32_t bits __attribute__((vector_size(vector_bytes)));
    static constexpr std::uint32_t all_but_sign = 0x7fffffff;
};
template <>
struct VectorOf<double> {
    typedef double type __attribute__((vector_size(vector_bytes)));
    typedef std::uint64_t bits __attribute__((vector_size(vector_bytes)));
    static constexpr std::uint64_t all_but_sign = 0x7fffffffffffffff;
};
template <class Real>
using Vector = typename VectorOf<Real>::type;

template <class Real>
inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Real));
/// The number of elements in 16 bytes. Instructions that move numbers only within 16 bytes are quick.
template <class Real>
inline constexpr int block_lanes = 16 / static_cast<int>(sizeof(Real));

template <class Real>
inline Vector<Real> load(const Real* from) {
    Vector<Real> value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}
template <class Real>
inline void store(Real* to, Vector<Real> value) {
    __builtin_memcpy(to, &value, sizeof value);
}
template <class Real>
inline Vector<Real> magnitude_of(Vector<Real> x) {
    using Of = VectorOf<Real>;
    return reinterpret_cast<Vector<Real>>(reinterpret_cast<typename Of::bits>(x) & Of::all_but_sign);
}
inline Vector<float> magnitude(Vector<float> x) { return magnitude_of<float>(x); }
inline Vector<double> magnitude(Vector<double> x) { return magnitude_of<double>(x); }

/// Shuffles the numbers of two vectors within blocks of 16 bytes, in the same way in each block. For each number of a
/// block of the result, the pattern has an index into the corresponding blocks of a and b, taken together.
template <int... pattern>
struct BlockShuffle {
    static constexpr int source_index(int size, int position) {
        constexpr int from[] = {pattern...};
        constexpr int count = sizeof...(pattern);
        const int first = position / count * count;
        const int index = from[position % count];
        return index < count ? first + index : size + first + index - count;
    }
    template <class V, int... position>
    static V shuffle_blocks(V a, V b, std::integer_sequence<int, position...>) {
        return __builtin_shufflevector(a, b, source_index(sizeof...(position), position)...);
    }
};
template <class Real, int... pattern>
inline Vector<Real> shuffle_blocks(Vector<Real> a, Vector<Real> b) {
    return BlockShuffle<pattern...>::shuffle_blocks(a, b, std::make_integer_sequence<int, lanes<Real>>());
}

#endif

#if defined(__AVX512F__)

inline Vector<float> broadcast(float value) { return _mm512_set1_ps(value); }
inline Vector<double> broadcast(double value) { return _mm512_set1_pd(value); }
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm512_fmadd_pd(a, b, c); }
inline __mmask16 first_lanes(int count) { return static_cast<__mmask16>((1U << count) - 1); }
inline Vector<float> load_part(const float* from, int count, Vector<float> others) {
    return _mm512_mask_loadu_ps(others, first_lanes(count), from);
}
inline Vector<double> load_part(const double* from, int count, Vector<double> others) {
    return _mm512_mask_loadu_pd(others, static_cast<__mmask8>(first_lanes(count)), from);
}
inline void store_part(float* to, Vector<float> value, int count) {
    _mm512_mask_storeu_ps(to, first_lanes(count), value);
}
inline void store_part(double* to, Vector<double> value, int count) {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first_lanes(count)), value);
}
inline Vector<double> load_as_doubles(const float* from) {
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from));  // the mask avoids a warning of gcc (bug 105593)
}
/// Loads a block of 16 bytes from each address, and returns the blocks as one vector.
template <class Real>
inline Vector<Real> load_blocks(const Real* const (&from)[4]) {
    const auto block = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from[i])); };
    __m512 all = _mm512_castps128_ps512(block(0));
    all = _mm512_mask_broadcast_f32x4(all, 0x00f0, block(1));
    all = _mm512_mask_broadcast_f32x4(all, 0x0f00, block(2));
    all = _mm512_mask_broadcast_f32x4(all, 0xf000, block(3));
    return reinterpret_cast<Vector<Real>>(all);
}

#elif defined(__AVX2__)

inline Vector<float> broadcast(float value) { return _mm256_set1_ps(value); }
inline Vector<double> broadcast(double value) { return _mm256_set1_pd(value); }
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm256_fmadd_pd(a, b, c); }
inline __m256i first_floats(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline __m256i first_doubles(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
inline Vector<float> load_part(const float* from, int count, Vector<float> others) {
    const __m256i mask = first_floats(count);
    return _mm256_blendv_ps(others, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
inline Vector<double> load_part(const double* from, int count, Vector<double> others) {
    const __m256i mask = first_doubles(count);
    return _mm256_blendv_pd(others, _mm256_maskload_pd(from, mask), _mm256_castsi256_pd(mask));
}
inline void store_part(float* to, Vector<float> value, int count) {
    _mm256_maskstore_ps(to, first_floats(count), value);
}
inline void store_part(double* to, Vector<double> value, int count) {
    _mm256_maskstore_pd(to, first_doubles(count), value);
}
inline Vector<double> load_as_doubles(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
template <class Real>
inline Vector<Real> load_blocks(const Real* const (&from)[2]) {
    const auto block = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from[i])); };
    return reinterpret_cast<Vector<Real>>(_mm256_insertf128_ps(_mm256_castps128_ps256(block(0)), block(1), 1));
}

#elif defined(__aarch64__)

inline Vector<float> broadcast(float value) { return vdupq_n_f32(value); }
inline Vector<double> broadcast(double value) { return vdupq_n_f64(value); }
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) { return vfmaq_f32(c, a, b); }
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) { return vfmaq_f64(c, a, b); }
template <class Real>
inline Vector<Real> load_part(const Real* from, int count, Vector<Real> others) {
    Real all[lanes<Real>];
    for (int i = 0; i < lanes<Real>; ++i) all[i] = i < count ? from[i] : others[i];
    return load(all);
}
template <class Real>
inline void store_part(Real* to, Vector<Real> value, int count) {
    for (int i = 0; i < count; ++i) to[i] = value[i];
}
inline Vector<double> load_as_doubles(const float* from) { return vcvt_f64_f32(vld1_f32(from)); }
template <class Real>
inline Vector<Real> load_blocks(const Real* const (&from)[1]) {
    return load(from[0]);
}

#else

template <class Real>
using Vector = Real;
template <class Real>
inline constexpr int lanes = 1;
template <class Real>
inline constexpr int block_lanes = 1;
template <class Real>
inline Real broadcast(Real value) {
    return value;
}
template <class Real, int>
inline Real broadcast_element(const Real* element) {
    return *element;
}
template <class Real>
inline Real load(const Real* from) {
    return *from;
}
inline double load_as_doubles(const float* from) { return *from; }
template <class Real>
inline void store(Real* to, Real value) {
    *to = value;
}
template <class Real>
inline Real load_part(const Real* from, int, Real) {  // never called, since one number is always whole
    return *from;
}
template <class Real>
inline void store_part(Real* to, Real value, int) {
    *to = value;
}

#endif

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__aarch64__)

/// Returns a vector in which one element of `width` numbers is repeated.
template <class Real, int width>
inline Vector<Real> broadcast_element(const Real* element) {
    if constexpr (width == 1) {
        return broadcast(*element);
    } else if constexpr (sizeof(Real) == sizeof(float)) {
        double both;
        __builtin_memcpy(&both, element, sizeof both);
        return reinterpret_cast<Vector<Real>>(broadcast(both));
    } else {
        const Real* from[vector_bytes / 16];
        for (auto& block : from) block = element;
        return load_blocks(from);
    }
}

#endif

/// Loads as many numbers as a vector of float64 has, and returns them as float64.
inline Vector<double> load_as_doubles(const double* from) { return load(from); }

/// Loads `count` numbers, and fills the vector up with copies of the first number.
template <class Real>
inline Vector<Real> load_part(const Real* from, int count) {
    return load_part(from, count, broadcast(*from));
}

}  // namespace
}  // namespace fp32shim::blas
