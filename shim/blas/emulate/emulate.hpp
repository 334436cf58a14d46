// The CPU preview of a format: the same product on operands rounded to TF32, BF16 or a narrower format, or the sum of
// a few products of the operands' parts. Products of two rounded numbers are exact in float32, so the provider's
// float32 routine with rounded operands previews a tensor core. C is never rounded, and k is never split. Operands of
// float64 are rounded to float32 and then to the format, and the provider's float64 routine multiplies them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/precision.hpp"
#include "shim/level3/level3.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// The way to round a float32 number, as policy/formats.def describes it.
enum class OperandRounding : std::uint8_t {
#define ROUNDING(name, ...) name,
#include "policy/formats.def"
};

/// The preview of a format. If `products` is more than 1, an operand is split into parts, A = A1 + A2 (+ A3), and the
/// products of rounded parts are summed in float32, the smallest first. policy/formats.def gives the number of
/// products: 3, 6 or 9.
struct Preview {
    // This constructor is implicit, since each rounding is itself the preview of a format.
    constexpr Preview(OperandRounding by) : rounding(by) {}
    constexpr Preview(OperandRounding by, int number) : rounding(by), products(number) {}

    OperandRounding rounding;
    /// How the products are added: by the routine of the program's library, or as the tensor cores of a GPU add them.
    /// If the GPU's tensor cores do not have the format, the library's routine adds them.
    policy::AccumulationModel accumulation = policy::AccumulationModel::library;
    /// True if operands are rounded at random, with `seed`. Has no effect if `products` is more than 1.
    bool is_stochastic = false;
    int products = 1;
    /// If this is not 0, each row of the left factor and each column of the right factor of a float64 product is
    /// rounded to fixed-point numbers of this many bits, instead of by `rounding`.
    int fixed_point_bits = 0;
    std::uint64_t seed = 0;
    /// True if float64 operands are copied to float32 and multiplied by the library's float32 routine
    /// (in_float32.hpp).
    bool in_float32 = false;
};

/// A BLAS routine of the program's library that takes its arguments by role (Level3) instead of by position.
struct Routine {
    void (*call)(void* context, const Level3& product) = nullptr;  ///< nullptr: the library has no such routine
    void* context = nullptr;
};

/// The limit, in bytes, for the scratch memory of one product. Larger operands are processed in blocks of C.
inline constexpr std::size_t scratch_limit_of_a_product = 256U << 20;

enum class EmulationResult : std::uint8_t {
    done,
    scratch_limit,  ///< rounded operands do not fit in memory, even in blocks; nothing was called
};

/// Runs `product` on rounded copies of its operands, through `same`, the routine that the program called. If the
/// copies would exceed `scratch_limit` bytes, runs the product in blocks of C through `same` and `gemm`. `gemm` is
/// the library's gemm of the same dtype and calling convention; it is called in the layout of `product`. If the
/// format splits operands into parts, there is one run for each product of parts, and every run after the first adds
/// to C. Products of parts of a syrk or herk run through `gemm`, since a product of two different parts is not
/// symmetric. B of an in-place trmm is rounded in its own memory, just before the call. If `accumulation` names a
/// GPU, the shim computes the products itself on the calling thread, and calls no routine. Precondition:
/// arguments_are_valid(product) && multiplies(product) && operation != trsm; a float64 product has `products` 1, and
/// `accumulation` `library`. Thread-safe. Scratch memory belongs to the thread, is kept for its next call, and never
/// exceeds about `scratch_limit`. A routine may be left by longjmp or an exception, and a signal handler may call
/// emulate() while this thread runs it. errno may change.
EmulationResult emulate(const Level3& product, Preview preview, Routine same, Routine gemm,
                        std::size_t scratch_limit);

/// Runs the product like emulate() with a Preview whose `products` is 1, but replaces each element of the operands by
/// what `kernel` makes of it. That need not be a rounding: audits take absolute values.
EmulationResult emulate(const Level3& product, RoundingKernel kernel, Routine same, Routine gemm,
                        std::size_t scratch_limit);

}  // namespace fp32shim::blas
