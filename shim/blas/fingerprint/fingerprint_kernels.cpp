#include "shim/blas/fingerprint/fingerprint_kernels.hpp"

#include <bit>
#include <cstring>

namespace fp32shim::blas {
namespace {

constexpr std::uint32_t infinity = 0x7f800000;
constexpr std::uint32_t sign_bit = 0x80000000;

/// The product of each lane's index and sign_step.
struct alignas(64) SignOffsets {
    std::uint32_t of[lane_count];
};
constexpr SignOffsets sign_offsets = [] {
    SignOffsets offsets{};
    for (std::uint32_t i = 0; i < lane_count; ++i) offsets.of[i] = i * sign_step;
    return offsets;
}();

/// Vectors of `width` 32-bit words. Vectors of doubles, and of the floats that become doubles, have half as many
/// elements.
template <std::size_t width>
struct LaneVectors {
    static constexpr std::size_t half = width / 2;
    using Words [[gnu::vector_size(4 * width)]] = std::uint32_t;
    using HalfFloats [[gnu::vector_size(4 * half)]] = float;
    using Doubles [[gnu::vector_size(8 * half)]] = double;
};

/// Adds blocks of floats to the lanes, by vectors of `width` words. The square of a float is exact in double
/// precision, so a fused multiply-add gives the same sum as two instructions, and all widths give the same sums.
template <std::size_t width, bool finite_only>
[[gnu::always_inline]] inline void absorb(FingerprintLanes& lanes, double* sums, const float* floats,
                                          std::size_t blocks) {
    using V = LaneVectors<width>;
    using Words = typename V::Words;
    using Doubles = typename V::Doubles;
    constexpr std::size_t half = V::half;
    Words hash[lane_count / width];
    Words signs[lane_count / width];
    Doubles lane_sums[lane_count / half] = {};
    Doubles squares[16 / half];
    std::memcpy(hash, lanes.hash, sizeof hash);
    std::memcpy(signs, lanes.signs, sizeof signs);
    std::memcpy(squares, lanes.squares, sizeof squares);
    while (blocks > 0) {
        if (lanes.needs_new_signs()) {
            std::memcpy(signs, sign_offsets.of, sizeof signs);
            for (Words& words : signs) {
                words += lanes.sign_seed();
                mix(words);
            }
        }
        const std::size_t now = lanes.blocks_with_same_signs(blocks);
        lanes.blocks += now;
        blocks -= now;
        for (std::size_t block = 0; block < now; ++block, floats += lane_count) {
#pragma GCC unroll 8
            for (std::size_t i = 0; i < lane_count / width; ++i) {
                Words bits;
                std::memcpy(&bits, floats + i * width, sizeof bits);
                Words signed_bits = bits ^ (signs[i] & sign_bit);
                if constexpr (finite_only) signed_bits &= reinterpret_cast<Words>((bits & infinity) != infinity);
                bits ^= hash[i];
                hash[i] = (bits << hash_rotation | bits >> (32 - hash_rotation)) * hash_factor;
                signs[i] += signs[i];
                typename V::HalfFloats halves[2];
                std::memcpy(halves, &signed_bits, sizeof halves);
#pragma GCC unroll 2
                for (std::size_t j = 0; j < 2; ++j) {
                    const Doubles values = __builtin_convertvector(halves[j], Doubles);
                    lane_sums[2 * i + j] += values;
                    squares[(2 * i + j) % (16 / half)] += values * values;
                }
            }
        }
    }
    std::memcpy(lanes.hash, hash, sizeof hash);
    std::memcpy(lanes.signs, signs, sizeof signs);
    std::memcpy(lanes.squares, squares, sizeof squares);
    double sums_of_lanes[lane_count];
    std::memcpy(sums_of_lanes, lane_sums, sizeof sums_of_lanes);
    for (std::size_t i = 0; i < lane_count; ++i) sums[i] += sums_of_lanes[i];
}

template <bool finite_only>
void absorb_plain(FingerprintLanes& lanes, double* sums, const float* floats, std::size_t blocks) {
    absorb<4, finite_only>(lanes, sums, floats, blocks);
}

#if defined(__x86_64__)
template <bool finite_only>
__attribute__((target("avx2,fma"))) void absorb_avx2(FingerprintLanes& lanes, double* sums, const float* floats,
                                                     std::size_t blocks) {
    absorb<8, finite_only>(lanes, sums, floats, blocks);
}
template <bool finite_only>
__attribute__((target("avx512f"))) void absorb_avx512(FingerprintLanes& lanes, double* sums, const float* floats,
                                                      std::size_t blocks) {
    absorb<16, finite_only>(lanes, sums, floats, blocks);
}
#endif

template <bool finite_only>
void absorb_float64(FingerprintLanes& lanes, double* sums, const float* floats, std::size_t blocks) {
    constexpr std::uint64_t infinity_of_float64 = std::uint64_t{0x7ff} << 52;
    constexpr std::size_t count = lane_count / 2;
    double lane_sums[2][count] = {};
    for (; blocks > 0; --blocks, floats += lane_count, ++lanes.blocks) {
        if (lanes.needs_new_signs())
            for (std::uint32_t i = 0; i < lane_count; ++i)
                lanes.signs[i] = mixed(lanes.sign_seed() + sign_offsets.of[i]);
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

}  // namespace

FingerprintKernelPair fingerprint_kernels([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return {absorb_avx512<false>, absorb_avx512<true>};
    if (set == InstructionSet::avx2) return {absorb_avx2<false>, absorb_avx2<true>};
#endif
    return {absorb_plain<false>, absorb_plain<true>};
}

FingerprintKernelPair float64_fingerprint_kernels() { return {absorb_float64<false>, absorb_float64<true>}; }

}  // namespace fp32shim::blas
