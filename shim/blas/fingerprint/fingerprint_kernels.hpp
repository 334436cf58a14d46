// The loops that compute fingerprints, one for each instruction set. All loops give the same bits.
//
//     floats    | 0 … 31 | 32 … 63 | 64 … |      blocks of 32: lane i takes the floats i, i + 32, i + 64, …
//
// Each lane has a 32-bit hash, and a sum of floats with random signs in double precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/emulate/instruction_set.hpp"

namespace fp32shim::blas {

inline constexpr std::size_t lane_count = record::sketch_size;

/// The factor of a hash step, h -> rotate(h ^ bits) * hash_factor. This step has an inverse, so two streams that
/// differ in one float of a lane have different hashes of that lane. Without the rotation, the highest bit (the sign)
/// would not affect the other bits.
inline constexpr std::uint32_t hash_factor = 0x9e3779b1;
inline constexpr int hash_rotation = 16;

/// Replaces a word, or each word of a vector, by a pseudo-random number that depends on it. The function is
/// "lowbias32" of C. Wellons' hash prospector.
template <class Words>
[[gnu::always_inline]] constexpr void mix(Words& words) {
    words = (words ^ words >> 16) * 0x7feb352dU;
    words = (words ^ words >> 15) * 0x846ca68bU;
    words ^= words >> 16;
}
constexpr std::uint32_t mixed(std::uint32_t word) {
    mix(word);
    return word;
}
inline constexpr std::uint32_t sign_step = 0x9e3779b9;  ///< the word of signs of lane i is mixed(seed + i *
                                                        ///< sign_step)

struct alignas(64) FingerprintLanes {
    std::uint32_t hash[lane_count];
    std::uint32_t signs[lane_count];  ///< the highest bit of a word is the sign of the lane's next float; each block
                                      ///< shifts the words
    double squares[16];               ///< number i sums the squares of lanes i and i + 16
    std::uint64_t blocks;             ///< number of blocks so far

    static constexpr std::uint64_t blocks_of_signs = 32;  ///< number of blocks for which one word of signs lasts
    /// Returns how many of the next `wanted` blocks take their signs from the current sign words.
    std::size_t blocks_with_same_signs(std::size_t wanted) const {
        const std::uint64_t left = blocks_of_signs - blocks % blocks_of_signs;
        return wanted < left ? wanted : static_cast<std::size_t>(left);
    }
    bool needs_new_signs() const { return blocks % blocks_of_signs == 0; }
    std::uint32_t sign_seed() const {
        const std::uint64_t number = blocks / blocks_of_signs;
        return mixed(static_cast<std::uint32_t>(number)) + static_cast<std::uint32_t>(number >> 32);
    }
};

/// Divides floats that arrive in pieces into blocks of `size` floats.
template <std::size_t size>
class BlockSplitter {
  public:
    /// Adds floats, and calls `use(floats, blocks)` with the blocks that are now complete.
    template <class Use>
    void add(const float* floats, std::size_t count, const Use& use) {
        if (rest_count_ > 0) {
            const std::size_t taken = std::min(count, size - rest_count_);
            std::copy_n(floats, taken, rest_ + rest_count_);
            rest_count_ += taken;
            floats += taken;
            count -= taken;
            if (rest_count_ < size) return;
            use(rest_, 1);
        }
        const std::size_t blocks = count / size;
        if (blocks > 0) use(floats, blocks);
        rest_count_ = count % size;
        std::copy_n(floats + blocks * size, rest_count_, rest_);
    }
    /// If the last block is incomplete, fills it up with zeros, and calls `use` with it.
    template <class Use>
    void finish(const Use& use) {
        if (rest_count_ == 0) return;
        std::fill(rest_ + rest_count_, rest_ + size, 0.0F);
        use(rest_, 1);
        rest_count_ = 0;
    }

  private:
    alignas(64) float rest_[size];  ///< the floats since the last complete block
    std::size_t rest_count_ = 0;
};

/// Adds blocks of lane_count floats to the lanes, and adds the lanes' sums to `sums`.
using FingerprintKernel = void (*)(FingerprintLanes& lanes, double* sums, const float* floats, std::size_t blocks);

/// The two loops of an instruction set. The second loop runs only if a result has NaN or infinity, which are rare.
struct FingerprintKernelPair {
    FingerprintKernel all = nullptr;          ///< adds NaN and infinity to sums and squares
    FingerprintKernel finite_only = nullptr;  ///< leaves NaN and infinity out of sums and squares
};

/// Returns the loops for an instruction set, which the processor must have. Thread-safe.
FingerprintKernelPair fingerprint_kernels(InstructionSet set = best_instruction_set());

/// Returns the loops for float64 numbers, each of which takes two of the lanes' 32 floats. Number i of a block adds
/// to lane 2i and lane 2i + 1 alternately. All processors run the same code, but a compiler may fuse the
/// multiplication and addition of squares, so norms may differ in their last digit between two processors.
FingerprintKernelPair float64_fingerprint_kernels();

}  // namespace fp32shim::blas
