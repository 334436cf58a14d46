// Tells the roles of matrices and scalars in a computed product: its result, and the values that it started from.
#pragma once

#include "shim/audit/errors.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns true if the result overwrites B.
inline bool is_in_place(const Level3& single) {
    return (single.operation == Operation::trmm || single.operation == Operation::trsm) && single.c == nullptr;
}

inline Matrix result_of(const Level3& single) { return is_in_place(single) ? operand_b(single) : operand_c(single); }

inline Part written_of(const Level3& single) { return written_part(single).part; }

/// Returns true if alpha (or beta, if `is_beta`) is a complex number.
inline bool has_pair(const Level3& single, bool is_beta) {
    const bool real = single.operation == Operation::herk || (is_beta && single.operation == Operation::her2k);
    return single.is_complex && !real;
}

/// Returns true if the result depends on the previous contents of C (or of B, for an in-place product).
inline bool uses_start(const Level3& single) {
    if (is_in_place(single)) return true;
    const auto* beta = static_cast<const float*>(single.beta);
    return beta != nullptr && (beta[0] != 0.0F || (has_pair(single, true) && beta[1] != 0.0F));
}

}  // namespace fp32shim::blas
