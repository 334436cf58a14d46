// Tells the roles of matrices and scalars in a computed product: its result, and the values that it started from.
#pragma once

#include <bit>
#include <cstdint>

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

/// Returns true if the diagonal of A is 1, whatever is stored there: the routine does not read it.
inline bool has_unit_diagonal(const Level3& single) { return single.diag == 'U'; }

/// Returns true if neither alpha nor beta is NaN or infinite.
inline bool has_finite_scalars(const Level3& single) {
    const auto is_finite = [](float number) {  // by its bits: a comparison might raise an exception
        return (std::bit_cast<std::uint32_t>(number) & 0x7f800000U) != 0x7f800000U;
    };
    const auto are_finite = [&](const void* scalar, bool is_beta) {
        const auto* const value = static_cast<const float*>(scalar);
        return value == nullptr || (is_finite(value[0]) && (!has_pair(single, is_beta) || is_finite(value[1])));
    };
    return are_finite(single.alpha, false) && are_finite(single.beta, true);
}

/// Returns true if the result depends on the previous contents of C (or of B, for an in-place product).
inline bool uses_start(const Level3& single) {
    if (is_in_place(single)) return true;
    const auto* beta = static_cast<const float*>(single.beta);
    return beta != nullptr && (beta[0] != 0.0F || (has_pair(single, true) && beta[1] != 0.0F));
}

}  // namespace fp32shim::blas
