// The sum of products of a tensor core, as found by experiments on GPUs: Fasi, Higham, Mikaitis and Pranesh,
// "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021 (V100, A100); Xie and others,
// "MMA-Sim", 2025, arXiv:2511.10909; Khattak and Mikaitis, "Accurate models of NVIDIA tensor cores", 2025,
// arXiv:2512.07004. The numbers of policy/tensor_cores.def agree with both papers of 2025, except that
// `lowest_exponent` is only in the last paper, and that the two papers describe different FP8 instructions of a B200.
//
// A tensor core adds a block of products and the sum so far in one step, D = C + A1 B1 + ... + An Bn. It shifts all
// terms to the largest exponent among them, as in a fixed-point sum:
//
//     largest term   1x.xxxxxxxxxxxxxxxxxxxxxxx|xx        x  fraction bits of the result: 23, or 13
//     other term      0.000001xxxxxxxxxxxxxxxxx|xx xxxx   xx up to two further bits; bits behind them are cut off
//
// The terms are added exactly, and the sum is cut to the result's fraction bits. All cuts are towards zero. A
// product's exponent is the sum of its factors' exponents, so its significand may be nearly 4. If the step's `start`
// is `follows`, the step adds only the products, and FP32 arithmetic then adds the result to the sum so far.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/tensor_cores.hpp"

namespace fp32shim::blas {

/// The arithmetic of a GPU's tensor cores for one format of operands.
struct TensorCoreModel {
    policy::TensorCoreStep step{};  ///< adds up to longest_block products
    int factor_fraction_bits = 0;   ///< bits behind the point of an element of A or B
    int lowest_exponent = 0;        ///< lowest exponent of normal elements of A and B
};

inline constexpr int longest_block = 32;
static_assert(std::ranges::all_of(policy::steps, [](const auto& step) { return step.products <= longest_block; }));
/// The number of sums in a row of the result that are computed together.
inline constexpr int sums_at_once = 16;

/// The left or right factors of a block of products, for each of `sums` sums of products.
template <int sums>
struct BlockFactors {
    std::int32_t exponents[longest_block][sums];
    std::int32_t significands[longest_block][sums];  ///< significands with their signs, in units of the last fraction
                                                     ///< bit
    float numbers[longest_block][sums];
    bool are_finite = true;

    void set_factor(int product, int sum, float number, const TensorCoreModel& core);
    /// Leaves out a factor that is outside a stored triangle, or in a column beyond the edge of the result. The
    /// product then adds nothing, whatever the other factor is.
    void leave_out_factor(int product, int sum);
};
using LeftFactors = BlockFactors<1>;  ///< left factors, which all sums in a row of the result have in common
using RightFactors = BlockFactors<sums_at_once>;

/// All factors of one block of products of complex numbers. They do not fit on the stack of a thread with 16 KiB.
struct ComplexBlockFactors {
    RightFactors right_re;
    RightFactors right_im;
    LeftFactors left_re;
    LeftFactors left_im;
};

/// Adds a block of `count` products to each of a row's sums. If `is_negative` is true, subtracts the products
/// instead.
void add_product_block(const LeftFactors& left, const RightFactors& right, int count, bool is_negative,
                       const TensorCoreModel& core, float (&sums)[sums_at_once]);

}  // namespace fp32shim::blas
