// The operations of level-3 BLAS, with operands as the BLAS reference names them.
#pragma once

#include <cstdint>

namespace fp32shim::blas {

enum class Operation : std::uint8_t {
    gemm,   ///< C := alpha op(A) op(B) + beta C
    gemmt,  ///< gemm of which only the `uplo` triangle of the n×n C is formed
    symm,   ///< C := alpha A B + beta C (side 'L') or alpha B A + beta C ('R'), A symmetric, its `uplo` half stored
    hemm,   ///< symm with A Hermitian
    syrk,   ///< C := alpha A A^T + beta C (trans 'N') or alpha A^T A + beta C, only the `uplo` half of the n×n C
    herk,   ///< syrk with A^H for A^T and real alpha and beta
    syr2k,  ///< C := alpha A B^T + alpha B A^T + beta C, or transposed
    her2k,  ///< syr2k with ^H for ^T, complex alpha and real beta
    trmm,   ///< B := alpha op(A) B or alpha B op(A), A triangular; out of place where C is given
    trsm,   ///< B := alpha op(A)^-1 B or alpha B op(A)^-1: logged, never altered
};

}  // namespace fp32shim::blas
