// Products with a vector, and sums over vectors, in the order of the CPU mode `reproducible`.
#pragma once

#include "shim/blas/emulate/instruction_set.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Computes a product with a vector in a fixed order of operations (docs/reproducible.md): the same bits with any
/// number of threads, on every processor and with every instruction set, but for the sign and payload of a NaN. A
/// product with a matrix has the bits of the column-major matrix product whose left factor is the matrix, and whose
/// right one is a column; `dot` those of a product of a row and a column. Of operations on vectors only, `k` is the
/// number of elements, and only what they read and write is given. As in the BLAS, a product without terms leaves its
/// result as it is.
/// Takes scratch memory for several threads, and uses one without it, so it returns true. Precondition: the arguments
/// are valid; has_vector(product.operation), and it is not trsv. Thread-safe, and may be called in signal handlers
/// (on one thread, if they interrupt malloc).
bool multiply_vector_in_fixed_order(const Level3& product, Threads threads = {});

/// Does the same by the loops of one instruction set, which the processor must have.
bool multiply_vector_in_fixed_order(const Level3& product, InstructionSet instruction_set, Threads threads = {});

}  // namespace fp32shim::blas
