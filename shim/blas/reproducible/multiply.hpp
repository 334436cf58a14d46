// The CPU mode `reproducible`: products computed here, in an order that depends on nothing but the arguments.
#pragma once

#include <cstdint>

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// The summed numbers of one block. The products of a block are added by one chain of fused multiply-adds that begins
/// at 0, and alpha times the block's sum is added to C by one more. A complex term counts as two.
inline constexpr std::int64_t summed_at_once = 256;

/// The number of threads that may work on a product, the calling one included. Only asked about large products.
struct ThreadCount {
    int (*ask)(const void* context);
    const void* context;
};
inline constexpr ThreadCount one_thread{[](const void*) { return 1; }, nullptr};

/// Computes `product` in a fixed order of operations: the same bits on every processor, with every instruction set
/// and any number of threads, but for the sign and payload of a NaN. Other threads exist only during the call.
/// Returns false, and changes nothing, if there is no memory. Precondition: arguments_are_valid(product) && operation
/// != trsm. Thread-safe. Scratch memory belongs to the thread, and is kept for its next call. A signal handler may
/// multiply meanwhile. errno may change.
bool multiply_in_fixed_order(const Level3& product, ThreadCount threads);

/// Does the same on the calling thread, by the loops of one instruction set, which the processor must have.
bool multiply_in_fixed_order(const Level3& product, InstructionSet instruction_set);

}  // namespace fp32shim::blas
