// Products that the shim computes itself. In the CPU mode `reproducible`, it computes them in an order that depends
// only on the arguments. In the mode `accelerate`, it computes them from operands rounded to BF16, by units of the
// processor that float32 programs leave idle.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/blas/multiply/tile.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// A function that returns how many threads may work on a product, and the context that is passed to the function.
/// The function is called only for large products.
struct ThreadLimitQuery {
    ThreadLimit (*ask)(const void* context);
    const void* context;
};
inline constexpr ThreadLimitQuery one_thread{[](const void*) { return ThreadLimit{}; }, nullptr};

/// Computes `product` in a fixed order of operations. The result has the same bits on every processor, with every
/// instruction set and any number of threads, except for the sign and payload of a NaN. Other threads exist only
/// during the call. Returns false, and changes nothing, if there is no memory. Precondition:
/// arguments_are_valid(product), and a trsm is in place. Thread-safe. Scratch memory belongs to the thread, and is
/// kept for its next call. A signal handler may call the function while this thread runs it. errno may change.
bool multiply_in_fixed_order(const Level3& product, ThreadLimitQuery threads);

/// Computes the same bits as the overload with `threads`, but only on the calling thread and with the loops of
/// `instruction_set`, which the processor must have.
bool multiply_in_fixed_order(const Level3& product, InstructionSet instruction_set);

/// Units of a processor that multiply BF16 numbers.
enum class Bf16Units : std::uint8_t { none, avx512, amx };

/// Returns the best units that this process may use. The first call asks the kernel for permission to use AMX's
/// registers, which makes signal frames in this process larger. Thread-safe.
Bf16Units bf16_units();

/// Returns true if BF16 units are faster than float32 for a product, according to the measurements in
/// docs/accelerate.md.
bool bf16_is_faster(const Level3& product, Bf16Units units);

/// Computes `product` from operands rounded to BF16 (to nearest, ties to even), with sums in float32. Returns false,
/// and changes nothing, if there is no memory. Preconditions: those of multiply_in_fixed_order(); the operation is
/// neither trmm nor trsm; the processor has `units`. Thread-safe. errno may change.
bool multiply_in_bf16(const Level3& product, Bf16Units units, ThreadLimitQuery threads);

}  // namespace fp32shim::blas
