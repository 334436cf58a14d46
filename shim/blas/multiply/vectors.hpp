// Products with a vector, and sums over vectors, in the order of the CPU mode `reproducible`.
#pragma once

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Computes a product with a vector in a fixed order of operations (docs/reproducible.md): the same bits with any
/// number of threads, on every processor and with every instruction set, but for the sign and payload of a NaN. A
/// product with a matrix has the bits of the column-major matrix product whose left factor is the matrix, and whose
/// right one is a column; `dot` those of a product of a row and a column. Of operations on vectors only, `k` is the
/// number of elements, and only what they read and write is given. As in the BLAS, a product without terms leaves its
/// result as it is.
/// Takes scratch memory for a trmv, without which it returns false and changes nothing, and for several threads,
/// without which it uses one. `axpy` and `rot` use one in any case. Precondition: the arguments are valid;
/// has_vector(product.operation), and it is not trsv. Thread-safe, and may be called in signal handlers (on one
/// thread, if they interrupt malloc).
bool multiply_vector_in_fixed_order(const Level3& product, Threads threads = {});

/// Does the same by the loops of one instruction set, which the processor must have.
bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set, Threads threads = {});

/// Returns a vector as the BLAS describes it: with a negative increment, its first element is the last in memory.
template <class Real>
Elements<Real> elements(const void* data, std::int64_t increment, std::int64_t count, int width) {
    auto* const first = static_cast<Real*>(const_cast<void*>(data));
    return {increment < 0 ? first - (count - 1) * increment * width : first, increment, count};
}

/// Computes dot, dotc, asum, nrm2, sdsdot or dsdot. Threads divide the blocks of a sum.
void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& loops, Threads threads);

}  // namespace fp32shim::blas
