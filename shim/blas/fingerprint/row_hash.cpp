#include "shim/blas/fingerprint/row_hash.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "system/hash.hpp"

namespace fp32shim::blas {
namespace {

// A row's hash is mixed from a sum of products (the NH hash of UMAC). Each word i of a row is added to its key, which
// is i + 1 times `key_step`. The two words of each neighbouring pair are then multiplied to a 64-bit product.
constexpr std::uint32_t key_step = 0x9e3779b9;

constexpr std::uint64_t product_of(std::size_t i, std::uint32_t word, std::uint32_t next_word) {
    const auto key = static_cast<std::uint32_t>(i + 1) * key_step;
    return std::uint64_t{word + key} * static_cast<std::uint32_t>(next_word + key + key_step);
}

constexpr std::uint32_t finished(std::uint64_t sum) {
    return static_cast<std::uint32_t>(system::splitmix64(sum) >> 32);
}

template <std::size_t words>
using Words [[gnu::vector_size(4 * words)]] = std::uint32_t;
template <std::size_t words>
using Longs [[gnu::vector_size(4 * words)]] = std::uint64_t;

struct alignas(64) Keys {
    std::uint32_t of[16];
};
constexpr Keys first_keys = [] {
    Keys keys{};
    for (std::uint32_t i = 0; i < 16; ++i) keys.of[i] = (i + 1) * key_step;
    return keys;
}();

/// Multiplies the two factors of each neighbouring pair in `factors`, and adds the products to the lanes of `sum`.
template <std::size_t words>
void add_products(Longs<words>& sum, const Words<words>& factors);
template <>
inline void add_products<4>(Longs<4>& sum, const Words<4>& factors) {
#if defined(__x86_64__)
    const auto both = reinterpret_cast<__m128i>(factors);
    sum += reinterpret_cast<Longs<4>>(_mm_mul_epu32(both, _mm_srli_epi64(both, 32)));
#elif defined(__aarch64__)
    const auto both = reinterpret_cast<uint64x2_t>(factors);
    sum = reinterpret_cast<Longs<4>>(
        vmlal_u32(reinterpret_cast<uint64x2_t>(sum), vmovn_u64(both), vshrn_n_u64(both, 32)));
#endif
}
#if defined(__x86_64__)
template <>
__attribute__((target("avx2"))) inline void add_products<8>(Longs<8>& sum, const Words<8>& factors) {
    const auto both = reinterpret_cast<__m256i>(factors);
    sum += reinterpret_cast<Longs<8>>(_mm256_mul_epu32(both, _mm256_srli_epi64(both, 32)));
}
template <>
__attribute__((target("avx512f"))) inline void add_products<16>(Longs<16>& sum, const Words<16>& factors) {
    const auto pairs = reinterpret_cast<Longs<16>>(factors);
    // The mask keeps all products. Without a mask, gcc 12 warns of an uninitialized variable in its own header.
    sum += reinterpret_cast<Longs<16>>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(pairs), reinterpret_cast<__m512i>(pairs >> 32)));
}
#endif

/// Returns the sum of the products of the words from index `i` on, as far as they fill whole vectors. Moves `i`
/// behind these words.
template <std::size_t words>
[[gnu::always_inline]] inline std::uint64_t sum_of_products(const float* floats, std::size_t length, std::size_t& i) {
    if (length - i < words) return 0;
    Words<words> keys;
    std::memcpy(&keys, first_keys.of, sizeof keys);
    keys += static_cast<std::uint32_t>(i) * key_step;
    Longs<words> sum{};
    for (; length - i >= words; i += words) {
        Words<words> factors;
        std::memcpy(&factors, floats + i, sizeof factors);
        factors += keys;
        keys += static_cast<std::uint32_t>(words) * key_step;
        add_products<words>(sum, factors);
    }
    std::uint64_t result = 0;
    for (std::size_t j = 0; j < words / 2; ++j) result += sum[j];
    return result;
}

template <std::size_t words>
[[gnu::always_inline]] inline std::uint32_t hash_rows(const float* floats, std::size_t length, std::size_t rows,
                                                      std::ptrdiff_t stride) {
    std::uint32_t result = 0;
    for (; rows > 0; --rows, floats += stride) {
        std::size_t i = 0;
        std::uint64_t sum = sum_of_products<words>(floats, length, i);
        if constexpr (words > 4) sum += sum_of_products<4>(floats, length, i);
        // At most three words are left. They are added without a loop, which the compiler would vectorise.
        std::uint32_t rest[2] = {};
        if (length - i >= 2) {
            std::memcpy(rest, floats + i, sizeof rest);
            sum += product_of(i, rest[0], rest[1]);
            i += 2;
        }
        if (i < length) {
            std::memcpy(rest, floats + i, sizeof rest[0]);
            sum += product_of(i, rest[0], 0);
        }
        result += finished(sum);
    }
    return result;
}

std::uint32_t rows_plain(const float* floats, std::size_t length, std::size_t rows, std::ptrdiff_t stride) {
    return hash_rows<4>(floats, length, rows, stride);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint32_t rows_avx2(const float* floats, std::size_t length, std::size_t rows,
                                                        std::ptrdiff_t stride) {
    return hash_rows<8>(floats, length, rows, stride);
}
__attribute__((target("avx512f"))) std::uint32_t rows_avx512(const float* floats, std::size_t length,
                                                             std::size_t rows, std::ptrdiff_t stride) {
    return hash_rows<16>(floats, length, rows, stride);
}
#endif

}  // namespace

RowHashKernel row_hash_kernel([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return rows_avx512;
    if (set == InstructionSet::avx2) return rows_avx2;
#endif
    return rows_plain;
}

std::uint32_t strided_row_hash(const float* first, std::size_t elements, std::size_t width, std::ptrdiff_t stride) {
    const std::size_t length = elements * width;
    const auto word = [&](std::size_t i) {
        std::uint32_t bits = 0;
        if (i < length) std::memcpy(&bits, first + static_cast<std::ptrdiff_t>(i / width) * stride + i % width, 4);
        return bits;
    };
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < length; i += 2) sum += product_of(i, word(i), word(i + 1));
    return finished(sum);
}

}  // namespace fp32shim::blas
