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
/// right factor is a column. `dot` has those of a product of a row and a column. For operations on vectors only, `k`
/// is the number of elements, and only the members that they read and write are given. As in the BLAS, a product
/// without terms leaves its result as it is. A trmv takes scratch memory; without it, the function returns false and
/// changes nothing. Several threads take scratch memory, too; without it, one thread is used. `axpy` and `rot` use
/// one in any case. The processor must have the instruction set. Precondition: the arguments are valid;
/// has_vector(product.operation), and it is not trsv. Thread-safe, and may be called in signal handlers (on one
/// thread, if they interrupt malloc).
bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set = best_instruction_set(),
                                    ThreadLimit threads = {});

/// Returns a vector as the BLAS describes it: with a negative increment, its first element is the last in memory.
template <class Real>
StridedVector<Real> strided_vector(const void* data, std::int64_t increment, std::int64_t count, int width) {
    auto* const first = static_cast<Real*>(const_cast<void*>(data));
    return {increment < 0 ? first - (count - 1) * increment * width : first, increment, count};
}

/// Computes a dot, dotc, asum, nrm2, sdsdot or dsdot. Threads divide the blocks of a sum.
void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& loops, ThreadLimit threads);

}  // namespace fp32shim::blas
