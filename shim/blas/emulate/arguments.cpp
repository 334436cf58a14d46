#include "shim/blas/emulate/arguments.hpp"

#include <algorithm>
#include <string_view>

#include "shim/blas/emulate/operand.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

bool one_of(char value, std::string_view allowed) {
    return value != '\0' && allowed.find(value) != std::string_view::npos;
}

bool ld_is_valid(const Matrix& matrix) { return matrix.ld >= std::max<std::int64_t>(1, matrix.inner()); }

/// Returns true if the options, sizes and increments are valid for an operation that has a vector. An operation that
/// has only vectors cannot have invalid arguments.
bool vector_arguments_are_valid(const Level3& product) {
    const Operation operation = product.operation;
    if (!has_matrix(operation)) return true;
    if (is_symmetric_vector_update(operation))
        return one_of(product.uplo, "UL") && product.n >= 0 && product.lda != 0 &&
               (!has_b(operation) || product.ldb != 0) && ld_is_valid(operand_c(product));
    const bool is_gemv = operation == Operation::gemv, is_update = is_ger_or_gerc(operation);
    const bool is_triangular = operation == Operation::trmv || operation == Operation::trsv;
    if (is_gemv || is_triangular)
        if (!one_of(product.trans_a, is_gemv && product.is_complex ? "NTCR" : "NTC")) return false;
    if (has_square_and_vector(operation) && !one_of(product.uplo, "UL")) return false;
    if (is_triangular && !one_of(product.diag, "UN")) return false;
    if (product.m < 0 || product.n < 0 || product.ldb == 0) return false;
    if (is_update) return product.lda != 0 && ld_is_valid(operand_c(product));
    return ld_is_valid(operand_a(product)) && (is_triangular || product.ldc != 0);
}

bool has_uplo(Operation operation) { return operation != Operation::gemm; }

bool trans_is_valid(const Level3& product) {
    const Operation operation = product.operation;
    if (has_side_argument(operation) && !is_trmm_or_trsm(operation)) return true;
    std::string_view allowed = "NTC";
    if (is_herk_or_her2k(operation)) allowed = "NC";
    if (is_rank_k_update(operation) && !is_herk_or_her2k(operation) && product.is_complex) allowed = "NT";
    if (operation == Operation::gemm && product.is_complex) allowed = "NTCR";
    const bool has_trans_b = operation == Operation::gemm || operation == Operation::gemmt;
    return one_of(product.trans_a, allowed) && (!has_trans_b || one_of(product.trans_b, allowed));
}

bool is_zero(const Level3& product) {
    const bool is_pair = has_complex_scalar(product, false);
    const auto is_zero = [is_pair](const auto* alpha) { return alpha[0] == 0 && (!is_pair || alpha[1] == 0); };
    return product.is_double ? is_zero(static_cast<const double*>(product.alpha))
                             : is_zero(static_cast<const float*>(product.alpha));
}

}  // namespace

bool arguments_are_valid(const Level3& product) {
    const Operation operation = product.operation;
    if (has_vector(operation)) return vector_arguments_are_valid(product);
    const bool is_hermitian = operation == Operation::hemm || is_herk_or_her2k(operation);
    if (is_hermitian && !product.is_complex) return false;
    if (has_side_argument(operation) && !one_of(product.side, "LR")) return false;
    if (has_uplo(operation) && !one_of(product.uplo, "UL")) return false;
    if (is_trmm_or_trsm(operation) && !one_of(product.diag, "UN")) return false;
    if (!trans_is_valid(product)) return false;
    if (product.m < 0 || product.n < 0 || product.k < 0) return false;
    return ld_is_valid(operand_a(product)) && (!has_b(operation) || ld_is_valid(operand_b(product))) &&
           (is_in_place(product) || ld_is_valid(operand_c(product)));
}

bool multiplies(const Level3& product) {
    const Matrix a = operand_a(product);
    const Matrix b = operand_b(product);
    if (a.rows <= 0 || a.columns <= 0) return false;  // a negative length of a vector means no elements
    if (has_b(product.operation) && (b.rows <= 0 || b.columns <= 0 || b.data == nullptr)) return false;
    if (has_vector(product.operation)) {
        constexpr OperationSet not_scaled{Operation::sdsdot, Operation::rot};
        const bool is_scaled = product.alpha != nullptr && !not_scaled.has(product.operation);
        return a.data != nullptr && result_of(product).data != nullptr && !(is_scaled && is_zero(product));
    }
    // If C, beta, alpha or A is null, the library crashes whether or not the shim is loaded. The function returns
    // false, so that the shim does not read the memory before the library does.
    const bool updates_c = !is_trmm_or_trsm(product.operation);
    if (updates_c && (product.c == nullptr || product.beta == nullptr)) return false;
    return product.alpha != nullptr && a.data != nullptr && !is_zero(product);
}

}  // namespace fp32shim::blas
