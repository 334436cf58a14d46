// Products with a vector, and sums over vectors, in the fixed order of operations of the CPU mode `reproducible`.
#pragma once

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Computes a product with a vector in a fixed order of operations (docs/reproducible.md). The result has the same
/// bits with any number of threads, on every processor and with every instruction set, except for the sign and
/// payload of a NaN. A product with a matrix has the same bits as the column-major matrix product of that matrix and
/// a column. A `dot` has the same bits as the product of a row and a column. For operations on vectors only,
/// `product.k` is the number of elements, and only the members that the operation reads and writes are set. As in the
/// BLAS, a product without terms leaves its result as it is. A trmv needs scratch memory; if there is none, the
/// function returns false and changes nothing. Several threads need scratch memory as well; if there is none, the
/// function uses one thread. `axpy` and `rot` always run on one thread. The processor must have the instruction set.
/// Precondition: the arguments are valid; has_vector(product.operation), and the operation is not trsv. Thread-safe.
/// Signal handlers may call the function, but only on one thread if they interrupt malloc.
bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set = best_instruction_set(),
                                    ThreadLimit threads = {});

/// Returns a vector as the BLAS describes it. If `increment` is negative, the first element of the vector is the last
/// one in memory.
template <class Real>
StridedVector<Real> strided_vector(const void* data, std::int64_t increment, std::int64_t count, int width) {
    auto* const first = static_cast<Real*>(const_cast<void*>(data));
    return {increment < 0 ? first - (count - 1) * increment * width : first, increment, count};
}

/// Computes a dot, dotc, asum, nrm2, sdsdot or dsdot. The threads divide the blocks of the sum among themselves.
void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& loops, ThreadLimit threads);

}  // namespace fp32shim::blas
