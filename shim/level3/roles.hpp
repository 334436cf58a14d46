// Tells which matrix is the result of an operation, whether the result depends on its previous contents, and whether
// alpha and beta are complex or finite.
#pragma once

#include "shim/level3/matrix.hpp"
#include "shim/level3/numbers.hpp"

namespace fp32shim::blas {

/// Returns true if the result overwrites B.
inline bool is_in_place(const Level3& single) {
    return (is_trmm_or_trsm(single.operation) && single.c == nullptr) || single.operation == Operation::trmv ||
           single.operation == Operation::trsv || single.operation == Operation::rot;
}

inline Matrix result_of(const Level3& single) { return is_in_place(single) ? operand_b(single) : operand_c(single); }

/// Returns true if alpha, or beta if `is_beta` is true, is a complex number.
inline bool has_complex_scalar(const Level3& single, bool is_beta) {
    constexpr OperationSet real_alpha{Operation::herk, Operation::her, Operation::rot};
    const bool is_real = is_beta ? is_herk_or_her2k(single.operation) || single.operation == Operation::rot
                                 : real_alpha.has(single.operation);
    return single.is_complex && !is_real;
}

/// Returns true if the diagonal of A counts as 1. The routine does not read what is stored there.
inline bool has_unit_diagonal(const Level3& single) { return single.diag == 'U'; }

/// Returns true if `test(number)` is true for alpha, or for beta if `is_beta` is true. Tests both parts of a complex
/// scalar. Returns false if the routine does not have the scalar.
template <class Test>
bool any_part_of_scalar(const Level3& single, bool is_beta, const Test& test) {
    const void* const scalar = is_beta ? single.beta : single.alpha;
    return scalar != nullptr &&
           (test(StoredNumber(scalar, single.is_double)) ||
            (has_complex_scalar(single, is_beta) && test(StoredNumber(scalar, single.is_double, 1))));
}

/// Returns true if alpha, or beta if `is_beta` is true, is neither NaN nor infinite, or if the routine does not have
/// the scalar.
inline bool has_finite_scalar(const Level3& single, bool is_beta) {
    return !any_part_of_scalar(single, is_beta, [](StoredNumber number) { return !number.is_finite(); });
}

/// Returns true if the result depends on the previous contents of C (or of B, for an in-place product).
inline bool reads_old_result(const Level3& single) {
    return is_in_place(single) || adds_to_c(single.operation) ||
           any_part_of_scalar(single, true, [](StoredNumber number) { return !number.is_zero(); });
}

}  // namespace fp32shim::blas
