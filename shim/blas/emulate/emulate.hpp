// The CPU preview: the same product on operands that were rounded to TF32 or BF16 first, or the sum of a few products
// of their parts. Products of rounded numbers are exact in float32, so the provider's own float32 routine on them
// previews a tensor core. C is never rounded and k is never split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/precision.hpp"
#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Rounding of a float32 number: policy/formats.def says how.
enum class OperandRounding : std::uint8_t {
#define ROUNDING(name, ...) name,
#include "policy/formats.def"
};

/// Preview of a format. With several products, operands are taken apart, A = A1 + A2 (+ A3), and products of their
/// rounded parts are summed in float32, the smallest first: 3, 6 or 9 of them, as policy/formats.def says.
struct Preview {
    // Not explicit: a rounding is the preview of the format that it rounds to.
    constexpr Preview(OperandRounding by) : rounding(by) {}
    constexpr Preview(OperandRounding by, int number) : rounding(by), products(number) {}

    OperandRounding rounding;
    /// Addition of the products: by the routine of the program's library, or as a GPU adds them.
    policy::Accumulation accumulation = policy::Accumulation::library;
    /// Operands are rounded at random, by `seed`. Has no effect with several products.
    bool is_stochastic = false;
    int products = 1;
    std::uint64_t seed = 0;
};

/// Rounds `count` floats at `from` to `to`; both may be one address. NaN stays NaN, infinities stay. Finite values
/// beyond the largest finite one of the format become infinite, as on the GPU; under tf32_truncate they stay
/// finite. Dispatches at run time to AVX-512, AVX2, NEON or plain code. Thread-safe, allocates nothing, calls
/// nothing of libc.
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
/// in its own memory, just before the call. With an `accumulation` of a GPU, products are computed here, on the
/// calling thread, and the routines are not called. Precondition: arguments_are_valid(product) && multiplies(product)
/// && operation != trsm. Thread-safe: scratch memory is per thread, kept for the next call, never more than about
/// `scratch_limit`. A routine may leave by longjmp or an exception, and a signal handler may emulate while this
/// thread does. errno may change.
EmulationResult emulate(const Level3& product, Preview preview, Routine same, Routine gemm,
                        std::size_t scratch_limit);

/// Does the same with another function of each element in place of rounding.
EmulationResult emulate(const Level3& product, RoundingKernel kernel, Routine same, Routine gemm,
                        std::size_t scratch_limit);

}  // namespace fp32shim::blas
