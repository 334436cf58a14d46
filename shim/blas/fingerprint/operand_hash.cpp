#include "shim/blas/fingerprint/operand_hash.hpp"

#include <cstring>

#include "system/hash.hpp"

namespace fp32shim::blas {
namespace {

constexpr std::size_t hash_lanes = OperandHash::lane_count;

/// Adds blocks of floats to the lanes, by vectors of the type `Words`. All sizes of vectors give the same bits.
template <class Words>
[[gnu::always_inline]] inline void hash_blocks(std::uint32_t* lanes, const float* floats, std::size_t blocks) {
    constexpr std::size_t parts = hash_lanes * sizeof(std::uint32_t) / sizeof(Words);
    Words hash[parts];
    std::memcpy(hash, lanes, sizeof hash);
    for (; blocks > 0; --blocks, floats += hash_lanes) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < parts; ++i) {
            Words bits;
            std::memcpy(&bits, floats + i * sizeof(Words) / sizeof(float), sizeof bits);
            const Words mixed = hash[i] ^ bits;
            hash[i] = (mixed << hash_rotation | mixed >> (32 - hash_rotation)) * hash_factor;
        }
    }
    std::memcpy(lanes, hash, sizeof hash);
}

using Words4 [[gnu::vector_size(16)]] = std::uint32_t;
void hash_plain(std::uint32_t* lanes, const float* floats, std::size_t blocks) {
    hash_blocks<Words4>(lanes, floats, blocks);
}

#if defined(__x86_64__)
using Words8 [[gnu::vector_size(32)]] = std::uint32_t;
using Words16 [[gnu::vector_size(64)]] = std::uint32_t;
__attribute__((target("avx2"))) void hash_avx2(std::uint32_t* lanes, const float* floats, std::size_t blocks) {
    hash_blocks<Words8>(lanes, floats, blocks);
}
__attribute__((target("avx512f"))) void hash_avx512(std::uint32_t* lanes, const float* floats, std::size_t blocks) {
    hash_blocks<Words16>(lanes, floats, blocks);
}
#endif

}  // namespace

OperandHashKernel operand_hash_kernel([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return hash_avx512;
    if (set == InstructionSet::avx2) return hash_avx2;
#endif
    return hash_plain;
}

OperandHash::OperandHash(OperandHashKernel kernel) : kernel_(kernel) {
    for (std::uint32_t i = 0; i < hash_lanes; ++i) lanes_[i] = mixed(i + 1);
}

void OperandHash::add(const float* floats, std::size_t count) {
    count_ += count;
    splitter_.add(floats, count, [this](const float* block, std::size_t blocks) { kernel_(lanes_, block, blocks); });
}

std::uint64_t OperandHash::finish() {
    if (count_ == 0) return 0;
    splitter_.finish([this](const float* block, std::size_t blocks) { kernel_(lanes_, block, blocks); });
    system::Hash hash;
    hash.add(count_);
    for (std::size_t i = 0; i < hash_lanes; i += 2)
        hash.add(lanes_[i] | static_cast<std::uint64_t>(lanes_[i + 1]) << 32);
    return hash.value();
}

}  // namespace fp32shim::blas
