#include "shim/blas/fingerprint/absorb.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fp32shim::blas {
namespace {

constexpr std::uint32_t infinity = 0x7f800000;
constexpr std::uint32_t sign_bit = 0x80000000;

// The square of a float is exact in double precision. So a fused multiply-add gives the same sum as two instructions,
// and all instruction sets give the same sums.

template <bool finite_only>
void absorb_plain(Lanes& lanes, double* sums, const float* floats, std::size_t blocks) {
    double lane_sums[lane_count] = {};
    for (; blocks > 0; --blocks, floats += lane_count, ++lanes.blocks) {
        if (lanes.needs_signs())
            for (std::uint32_t i = 0; i < lane_count; ++i)
                lanes.signs[i] = mixed(lanes.seed_of_signs() + i * sign_step);
        for (std::size_t i = 0; i < lane_count; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(floats[i]);
            lanes.hash[i] = std::rotl(lanes.hash[i] ^ bits, hash_rotation) * hash_factor;
            const bool is_left_out = finite_only && (bits & infinity) == infinity;
            const std::uint32_t signed_bits = is_left_out ? 0 : bits ^ (lanes.signs[i] & sign_bit);
            lanes.signs[i] <<= 1;
            const auto value = static_cast<double>(std::bit_cast<float>(signed_bits));
            lane_sums[i] += value;
            lanes.squares[i % 16] += value * value;
        }
    }
    for (std::size_t i = 0; i < lane_count; ++i) sums[i] += lane_sums[i];
}

template <bool finite_only>
void absorb_float64(Lanes& lanes, double* sums, const float* floats, std::size_t blocks) {
    constexpr std::uint64_t infinity_of_float64 = std::uint64_t{0x7ff} << 52;
    constexpr std::size_t count = lane_count / 2;
    double lane_sums[2][count] = {};
    for (; blocks > 0; --blocks, floats += lane_count, ++lanes.blocks) {
        if (lanes.needs_signs())
            for (std::uint32_t i = 0; i < lane_count; ++i)
                lanes.signs[i] = mixed(lanes.seed_of_signs() + i * sign_step);
        std::uint32_t words[lane_count];
        std::memcpy(words, floats, sizeof words);
        for (std::size_t i = 0; i < lane_count; ++i)
            lanes.hash[i] = std::rotl(lanes.hash[i] ^ words[i], hash_rotation) * hash_factor;
        double* const lane_sums_now = lane_sums[lanes.blocks % 2];
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t bits = std::uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
            const bool is_left_out = finite_only && (bits & infinity_of_float64) == infinity_of_float64;
            const std::uint64_t sign = std::uint64_t{lanes.signs[i] & sign_bit} << 32;
            lanes.signs[i] <<= 1;
            const auto value = std::bit_cast<double>(is_left_out ? 0 : bits ^ sign);
            lane_sums_now[i] += value;
            lanes.squares[i] += value * value;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        sums[2 * i] += lane_sums[0][i];
        sums[2 * i + 1] += lane_sums[1][i];
    }
}

/// The product of each lane's number and sign_step.
struct alignas(64) SignOffsets {
    std::uint32_t of[lane_count];
};
constexpr SignOffsets make_sign_offsets() {
    SignOffsets offsets{};
    for (std::uint32_t i = 0; i < lane_count; ++i) offsets.of[i] = i * sign_step;
    return offsets;
}
[[maybe_unused]] constexpr SignOffsets sign_offsets = make_sign_offsets();

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i mixed(__m256i value) {
    value = _mm256_xor_si256(value, _mm256_srli_epi32(value, 16));
    value = _mm256_mullo_epi32(value, _mm256_set1_epi32(0x7feb352d));
    value = _mm256_xor_si256(value, _mm256_srli_epi32(value, 15));
    value = _mm256_mullo_epi32(value, _mm256_set1_epi32(static_cast<int>(0x846ca68bU)));
    return _mm256_xor_si256(value, _mm256_srli_epi32(value, 16));
}

template <bool finite_only>
__attribute__((target("avx2,fma"))) void absorb_avx2(Lanes& lanes, double* sums, const float* floats,
                                                     std::size_t blocks) {
    constexpr int parts = 4;  // 8 lanes each
    auto* const hash_at = reinterpret_cast<__m256i*>(lanes.hash);
    auto* const signs_at = reinterpret_cast<__m256i*>(lanes.signs);
    const __m256i factor = _mm256_set1_epi32(static_cast<int>(hash_factor));
    const __m256i sign = _mm256_set1_epi32(static_cast<int>(sign_bit));
    [[maybe_unused]] const __m256i inf = _mm256_set1_epi32(static_cast<int>(infinity));
    const __m256i rotation = _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2,  //
                                             13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2);
    __m256i hash[parts], signs[parts];
    __m256d lane_sums[2 * parts];
    for (int i = 0; i < parts; ++i) {
        hash[i] = _mm256_load_si256(hash_at + i);
        signs[i] = _mm256_load_si256(signs_at + i);
        lane_sums[2 * i] = lane_sums[2 * i + 1] = _mm256_setzero_pd();
    }
    __m256d squares[4];
    for (int i = 0; i < 4; ++i) squares[i] = _mm256_load_pd(lanes.squares + 4 * i);
    while (blocks > 0) {
        if (lanes.needs_signs()) {
            const __m256i seed = _mm256_set1_epi32(static_cast<int>(lanes.seed_of_signs()));
            for (int i = 0; i < parts; ++i)
                signs[i] = mixed(
                    _mm256_add_epi32(seed, _mm256_load_si256(reinterpret_cast<const __m256i*>(sign_offsets.of) + i)));
        }
        const std::size_t now = lanes.next_blocks(blocks);
        lanes.blocks += now;
        blocks -= now;
        for (std::size_t block = 0; block < now; ++block, floats += lane_count) {
#pragma GCC unroll 4
            for (int i = 0; i < parts; ++i) {
                const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(floats + 8 * i));
                const __m256i rotated = _mm256_shuffle_epi8(_mm256_xor_si256(hash[i], bits), rotation);
                hash[i] = _mm256_mullo_epi32(rotated, factor);
                __m256i signed_bits = _mm256_xor_si256(bits, _mm256_and_si256(signs[i], sign));
                if constexpr (finite_only) {
                    const __m256i bad = _mm256_cmpeq_epi32(_mm256_and_si256(bits, inf), inf);
                    signed_bits = _mm256_andnot_si256(bad, signed_bits);
                }
                signs[i] = _mm256_add_epi32(signs[i], signs[i]);
                const __m256d low = _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(signed_bits)));
                const __m256d high = _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_extracti128_si256(signed_bits, 1)));
                lane_sums[2 * i] = _mm256_add_pd(lane_sums[2 * i], low);
                lane_sums[2 * i + 1] = _mm256_add_pd(lane_sums[2 * i + 1], high);
                __m256d* const two = squares + 2 * (i % 2);
                two[0] = _mm256_fmadd_pd(low, low, two[0]);
                two[1] = _mm256_fmadd_pd(high, high, two[1]);
            }
        }
    }
    for (int i = 0; i < parts; ++i) {
        _mm256_store_si256(hash_at + i, hash[i]);
        _mm256_store_si256(signs_at + i, signs[i]);
    }
    for (int i = 0; i < 2 * parts; ++i)
        _mm256_storeu_pd(sums + 4 * i, _mm256_add_pd(_mm256_loadu_pd(sums + 4 * i), lane_sums[i]));
    for (int i = 0; i < 4; ++i) _mm256_store_pd(lanes.squares + 4 * i, squares[i]);
}

// Masks with all elements set: gcc 12 warns about an uninitialised operand in its own unmasked forms.
constexpr __mmask16 all_16 = 0xffff;
constexpr __mmask8 all_8 = 0xff;

__attribute__((target("avx512f"))) inline __m512i mixed(__m512i value) {
    value = _mm512_xor_si512(value, _mm512_maskz_srli_epi32(all_16, value, 16));
    value = _mm512_mullo_epi32(value, _mm512_set1_epi32(0x7feb352d));
    value = _mm512_xor_si512(value, _mm512_maskz_srli_epi32(all_16, value, 15));
    value = _mm512_mullo_epi32(value, _mm512_set1_epi32(static_cast<int>(0x846ca68bU)));
    return _mm512_xor_si512(value, _mm512_maskz_srli_epi32(all_16, value, 16));
}

template <bool finite_only>
__attribute__((target("avx512f"))) void absorb_avx512(Lanes& lanes, double* sums, const float* floats,
                                                      std::size_t blocks) {
    constexpr int parts = 2;  // 16 lanes each
    constexpr int xor_of_first_and_others = 0x78;
    const __m512i factor = _mm512_set1_epi32(static_cast<int>(hash_factor));
    const __m512i sign = _mm512_set1_epi32(static_cast<int>(sign_bit));
    [[maybe_unused]] const __m512i inf = _mm512_set1_epi32(static_cast<int>(infinity));
    __m512i hash[parts], signs[parts];
    __m512d lane_sums[2 * parts];
    for (int i = 0; i < parts; ++i) {
        hash[i] = _mm512_load_si512(lanes.hash + 16 * i);
        signs[i] = _mm512_load_si512(lanes.signs + 16 * i);
        lane_sums[2 * i] = lane_sums[2 * i + 1] = _mm512_setzero_pd();
    }
    __m512d low_squares = _mm512_load_pd(lanes.squares);
    __m512d high_squares = _mm512_load_pd(lanes.squares + 8);
    while (blocks > 0) {
        if (lanes.needs_signs()) {
            const __m512i seed = _mm512_set1_epi32(static_cast<int>(lanes.seed_of_signs()));
            for (int i = 0; i < parts; ++i)
                signs[i] = mixed(_mm512_add_epi32(seed, _mm512_load_si512(sign_offsets.of + 16 * i)));
        }
        const std::size_t now = lanes.next_blocks(blocks);
        lanes.blocks += now;
        blocks -= now;
        for (std::size_t block = 0; block < now; ++block, floats += lane_count) {
#pragma GCC unroll 2
            for (int i = 0; i < parts; ++i) {
                const __m512i bits = _mm512_loadu_si512(floats + 16 * i);
                const __m512i mixed = _mm512_xor_si512(hash[i], bits);
                hash[i] = _mm512_mullo_epi32(_mm512_maskz_rol_epi32(all_16, mixed, hash_rotation), factor);
                __m512i signed_bits = _mm512_ternarylogic_epi32(bits, signs[i], sign, xor_of_first_and_others);
                if constexpr (finite_only) {
                    const __mmask16 good = _mm512_cmpneq_epi32_mask(_mm512_and_si512(bits, inf), inf);
                    signed_bits = _mm512_maskz_mov_epi32(good, signed_bits);
                }
                signs[i] = _mm512_add_epi32(signs[i], signs[i]);
                const __m256i low_half = _mm512_maskz_extracti64x4_epi64(all_8, signed_bits, 0);
                const __m256i high_half = _mm512_maskz_extracti64x4_epi64(all_8, signed_bits, 1);
                const __m512d low = _mm512_maskz_cvtps_pd(all_8, _mm256_castsi256_ps(low_half));
                const __m512d high = _mm512_maskz_cvtps_pd(all_8, _mm256_castsi256_ps(high_half));
                lane_sums[2 * i] = _mm512_add_pd(lane_sums[2 * i], low);
                lane_sums[2 * i + 1] = _mm512_add_pd(lane_sums[2 * i + 1], high);
                low_squares = _mm512_fmadd_pd(low, low, low_squares);
                high_squares = _mm512_fmadd_pd(high, high, high_squares);
            }
        }
    }
    for (int i = 0; i < parts; ++i) {
        _mm512_store_si512(lanes.hash + 16 * i, hash[i]);
        _mm512_store_si512(lanes.signs + 16 * i, signs[i]);
    }
    for (int i = 0; i < 2 * parts; ++i)
        _mm512_storeu_pd(sums + 8 * i, _mm512_add_pd(_mm512_loadu_pd(sums + 8 * i), lane_sums[i]));
    _mm512_store_pd(lanes.squares, low_squares);
    _mm512_store_pd(lanes.squares + 8, high_squares);
}

#elif defined(__aarch64__)

uint32x4_t mixed(uint32x4_t value) {
    value = vmulq_u32(veorq_u32(value, vshrq_n_u32(value, 16)), vdupq_n_u32(0x7feb352dU));
    value = vmulq_u32(veorq_u32(value, vshrq_n_u32(value, 15)), vdupq_n_u32(0x846ca68bU));
    return veorq_u32(value, vshrq_n_u32(value, 16));
}

template <bool finite_only>
void absorb_neon(Lanes& lanes, double* sums, const float* floats, std::size_t blocks) {
    constexpr int parts = 8;  // 4 lanes each
    const uint32x4_t factor = vdupq_n_u32(hash_factor);
    [[maybe_unused]] const uint32x4_t inf = vdupq_n_u32(infinity);
    uint32x4_t hash[parts], signs[parts];
    float64x2_t lane_sums[2 * parts], squares[8];
    for (int i = 0; i < parts; ++i) {
        hash[i] = vld1q_u32(lanes.hash + 4 * i);
        signs[i] = vld1q_u32(lanes.signs + 4 * i);
        lane_sums[2 * i] = lane_sums[2 * i + 1] = vdupq_n_f64(0);
    }
    for (int i = 0; i < 8; ++i) squares[i] = vld1q_f64(lanes.squares + 2 * i);
    while (blocks > 0) {
        if (lanes.needs_signs()) {
            const uint32x4_t seed = vdupq_n_u32(lanes.seed_of_signs());
            for (int i = 0; i < parts; ++i) signs[i] = mixed(vaddq_u32(seed, vld1q_u32(sign_offsets.of + 4 * i)));
        }
        const std::size_t now = lanes.next_blocks(blocks);
        lanes.blocks += now;
        blocks -= now;
        for (std::size_t block = 0; block < now; ++block, floats += lane_count) {
#pragma GCC unroll 8
            for (int i = 0; i < parts; ++i) {
                const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(floats + 4 * i));
                const uint32x4_t mixed = veorq_u32(hash[i], bits);
                hash[i] = vmulq_u32(vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(mixed))), factor);
                uint32x4_t signed_bits = veorq_u32(bits, vandq_u32(signs[i], vdupq_n_u32(sign_bit)));
                if constexpr (finite_only) signed_bits = vbicq_u32(signed_bits, vceqq_u32(vandq_u32(bits, inf), inf));
                const float32x4_t floats_of_part = vreinterpretq_f32_u32(signed_bits);
                signs[i] = vaddq_u32(signs[i], signs[i]);
                const float64x2_t low = vcvt_f64_f32(vget_low_f32(floats_of_part));
                const float64x2_t high = vcvt_high_f64_f32(floats_of_part);
                lane_sums[2 * i] = vaddq_f64(lane_sums[2 * i], low);
                lane_sums[2 * i + 1] = vaddq_f64(lane_sums[2 * i + 1], high);
                float64x2_t* const two = squares + 2 * (i % 4);
                two[0] = vfmaq_f64(two[0], low, low);
                two[1] = vfmaq_f64(two[1], high, high);
            }
        }
    }
    for (int i = 0; i < parts; ++i) {
        vst1q_u32(lanes.hash + 4 * i, hash[i]);
        vst1q_u32(lanes.signs + 4 * i, signs[i]);
    }
    for (int i = 0; i < 2 * parts; ++i) vst1q_f64(sums + 2 * i, vaddq_f64(vld1q_f64(sums + 2 * i), lane_sums[i]));
    for (int i = 0; i < 8; ++i) vst1q_f64(lanes.squares + 2 * i, squares[i]);
}

#endif

}  // namespace

AbsorbKernels absorb_kernels(InstructionSet set) {
    switch (set) {
        case InstructionSet::plain:
            return {absorb_plain<false>, absorb_plain<true>};
#if defined(__x86_64__)
        case InstructionSet::avx2:
            if (!has_avx2() || !has_fma()) return {};
            return {absorb_avx2<false>, absorb_avx2<true>};
        case InstructionSet::avx512:
            if (!has_avx512()) return {};
            return {absorb_avx512<false>, absorb_avx512<true>};
#elif defined(__aarch64__)
        case InstructionSet::neon:
            return {absorb_neon<false>, absorb_neon<true>};
#endif
        default:
            return {};
    }
}

AbsorbKernels absorb_kernels_of_float64() { return {absorb_float64<false>, absorb_float64<true>}; }

AbsorbKernels best_absorb_kernels() {
    for (const InstructionSet set : instruction_sets)
        if (const AbsorbKernels kernels = absorb_kernels(set); kernels.all != nullptr) return kernels;
    return absorb_kernels(InstructionSet::plain);
}

}  // namespace fp32shim::blas
