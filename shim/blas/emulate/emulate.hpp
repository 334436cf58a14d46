// The CPU preview: the same product on operands that were rounded to TF32 or BF16 first, or the sum of a few products
// of their parts. Products of rounded numbers are exact in float32, so the provider's own float32 routine on them
// previews a tensor core. C is never rounded and k is never split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Format that operands take in the emulation. The last four take an operand apart, A = A1 + A2 (+ A3), and sum
/// products of parts in float32, the smallest first.
enum class OperandRounding : std::uint8_t {
    tf32_away,
    tf32_even,
    tf32_truncate,  ///< AMD's XF32, and what Hopper's `wgmma` does with operands that nothing has rounded
    bf16_even,
    bf16x2,  ///< A1B1 + A1B2 + A2B1: oneMKL's float_to_bf16x2
    bf16x3,  ///< three parts, the six products of parts i and j with i + j <= 4: oneMKL's float_to_bf16x3
    bf16x9,  ///< three parts, all nine products: cuBLAS's BF16x9
    tf32x3,  ///< two parts in TF32, ties away from zero, three products: CUTLASS's 3xTF32
};

/// Rounds `count` floats at `from` to `to`; both may be one address. NaN stays NaN, infinities stay. Finite values
/// beyond the largest finite one of the format become infinite, as on the GPU; under tf32_truncate they stay
/// finite. Dispatches at run time to AVX-512, AVX2, NEON or plain code. Thread-safe, allocates nothing, calls
/// nothing of libc. Precondition: the format takes no number apart.
void round_operand(const float* from, float* to, std::size_t count, OperandRounding rounding);

/// A BLAS routine of the program's library, called with arguments by role (Level3) instead of by position.
struct Routine {
    void (*call)(void* context, const Level3& product) = nullptr;  ///< nullptr: the library has no such routine
    void* context = nullptr;
};

/// Most bytes of scratch memory for one product; larger operands are processed in blocks of C.
inline constexpr std::size_t scratch_limit_of_a_product = 256U << 20;

enum class EmulationResult : std::uint8_t {
    done,
    scratch_limit,  ///< rounded operands do not fit in memory, even in blocks; nothing was called
};

/// Runs `product` through `same` (the routine that the program called) on rounded copies of its operands. Where the
/// copies would exceed `scratch_limit` bytes, runs it in blocks of C through `same` and `gemm`. `gemm` is the
/// library's gemm of the same dtype and calling convention; it is called in the layout of `product`. A format that
/// takes operands apart has one such run for each product of parts, which all but the first add to C; its syrk and
/// herk run through `gemm`, since a product of two different parts is not symmetric. B of a trmm in place is rounded
/// in its own memory, just before the call. Precondition: arguments_are_valid(product) && multiplies(product) &&
/// operation != trsm. Thread-safe: scratch memory is per thread, kept for the next call, never more than about
/// `scratch_limit`. A routine may leave by longjmp or an exception, and a signal handler may emulate while this
/// thread does. errno may change.
EmulationResult emulate(const Level3& product, OperandRounding rounding, Routine same, Routine gemm,
                        std::size_t scratch_limit);

/// Does the same with another function of each element in place of rounding.
EmulationResult emulate(const Level3& product, RoundingKernel kernel, Routine same, Routine gemm,
                        std::size_t scratch_limit);

}  // namespace fp32shim::blas
