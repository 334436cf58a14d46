#include "shim/blas/fingerprint/operand_hash.hpp"

#include <algorithm>
#include <cstring>

#include "shim/blas/fingerprint/absorb.hpp"
#include "system/hash.hpp"

namespace fp32shim::blas {
namespace {

constexpr std::size_t hash_lanes = OperandHash::lane_count;

/// Adds blocks of floats to the lanes. `Words`: a vector of 32-bit words; each gives the same bits.
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

OperandKernel operand_kernel(InstructionSet set) {
    switch (set) {
        case InstructionSet::plain:
            return hash_plain;
#if defined(__x86_64__)
        case InstructionSet::avx2:
            return has_avx2() ? hash_avx2 : nullptr;
        case InstructionSet::avx512:
            return has_avx512() ? hash_avx512 : nullptr;
#endif
        default:
            return nullptr;
    }
}

OperandKernel best_operand_kernel() {
    for (const InstructionSet set : instruction_sets)
        if (const OperandKernel kernel = operand_kernel(set); kernel != nullptr) return kernel;
    return hash_plain;
}

OperandHash::OperandHash(OperandKernel kernel) : kernel_(kernel) {
    for (std::uint32_t i = 0; i < hash_lanes; ++i) lanes_[i] = mixed(i + 1);
}

void OperandHash::add(const float* floats, std::size_t count) {
    count_ += count;
    if (rest_count_ > 0) {
        const std::size_t taken = std::min(count, hash_lanes - rest_count_);
        std::copy(floats, floats + taken, rest_ + rest_count_);
        rest_count_ += taken;
        floats += taken;
        count -= taken;
        if (rest_count_ < hash_lanes) return;
        kernel_(lanes_, rest_, 1);
        rest_count_ = 0;
    }
    const std::size_t blocks = count / hash_lanes;
    if (blocks > 0) kernel_(lanes_, floats, blocks);
    rest_count_ = count - blocks * hash_lanes;
    std::copy(floats + blocks * hash_lanes, floats + count, rest_);
}

std::uint64_t OperandHash::finish() {
    if (count_ == 0) return 0;
    if (rest_count_ > 0) {
        std::fill(rest_ + rest_count_, rest_ + hash_lanes, 0.0F);
        kernel_(lanes_, rest_, 1);
    }
    system::Hash hash;
    hash.add(count_);
    for (std::size_t i = 0; i < hash_lanes; i += 2)
        hash.add(lanes_[i] | static_cast<std::uint64_t>(lanes_[i + 1]) << 32);
    return hash.value();
}

}  // namespace fp32shim::blas
