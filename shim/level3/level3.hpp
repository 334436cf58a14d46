// One operation of the BLAS, such as a product or a solve, with its arguments named by role instead of by position.
// The operands have the names of the BLAS reference.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fp32shim::blas {

/// The operations of the BLAS that the shim knows: all operations of level 3, and operations with vectors.
enum class Operation : std::uint8_t {
    gemm,   ///< C := alpha op(A) op(B) + beta C
    gemmt,  ///< a gemm that writes only the triangle `uplo` of the n×n matrix C
    symm,   ///< C := alpha A B + beta C (side 'L') or alpha B A + beta C (side 'R') with a symmetric A, whose
            ///< triangle `uplo` is stored
    hemm,   ///< a symm with a Hermitian A
    syrk,   ///< C := alpha A A^T + beta C (trans 'N') or alpha A^T A + beta C; writes only the triangle `uplo` of the
            ///< n×n C
    herk,   ///< a syrk with A^H instead of A^T, and with real alpha and beta
    syr2k,  ///< C := alpha A B^T + alpha B A^T + beta C, or the same with A^T B and B^T A
    her2k,  ///< a syr2k with ^H instead of ^T, complex alpha and real beta; the second product has conj(alpha)
    trmm,   ///< B := alpha op(A) B or alpha B op(A) with a triangular A; if C is given, the result goes to C instead
    trsm,   ///< B := alpha op(A)^-1 B or alpha B op(A)^-1 with a triangular A; its precision is never lowered
    // The following operations have vectors. The members for matrices stand for vectors as well, as each line says.
    // The leading dimension of a vector is its increment, which may be negative.
    gemv,    ///< C := alpha op(A) B + beta C; A is m×n, and B and C are vectors
    symv,    ///< C := alpha A B + beta C; A is n×n and symmetric, and B and C are vectors
    hemv,    ///< a symv with a Hermitian A
    ger,     ///< C := alpha A B^T + C; C is m×n, and A and B are vectors
    gerc,    ///< a ger with B^H instead of B^T
    syr,     ///< C := alpha A A^T + C; A is a vector; writes only the triangle `uplo` of the n×n C
    her,     ///< a syr with A^H instead of A^T, and with a real alpha
    syr2,    ///< C := alpha A B^T + alpha B A^T + C; A and B are vectors; writes only the triangle `uplo` of the n×n
             ///< C
    her2,    ///< C := alpha A B^H + conj(alpha) B A^H + C; otherwise like syr2
    trmv,    ///< B := op(A) B; A is n×n and triangular, and B is a vector
    trsv,    ///< B := op(A)^-1 B; A is n×n and triangular, and B is a vector
    axpy,    ///< C := alpha A + C; A and C are vectors of k elements
    rot,     ///< A := alpha A + beta B, and B := alpha B - beta A, with vectors A and B of k elements, and real alpha
             ///< and beta
    dot,     ///< C := A^T B; A and B are vectors of k elements, and C is one element
    dotc,    ///< a dot with A^H instead of A^T
    sdsdot,  ///< C := alpha + A^T B; A and B are float32 vectors, but the sum is computed in float64
    dsdot,   ///< C := A^T B; A and B are float32 vectors, but C is a float64 number
    nrm2,    ///< C := the square root of A^H A; A is a vector, and C is real
    asum,    ///< C := the sum of |re| + |im| over the elements of the vector A; C is real
};

/// A set of operations.
class OperationSet {
  public:
    constexpr OperationSet(std::initializer_list<Operation> operations) {
        for (const Operation operation : operations) bits_ |= bit(operation);
    }
    constexpr bool has(Operation operation) const { return (bits_ & bit(operation)) != 0; }

  private:
    static constexpr std::uint32_t bit(Operation operation) { return 1U << static_cast<unsigned>(operation); }
    std::uint32_t bits_ = 0;
};

/// Returns true for operations with a `side` argument. In these operations, a square A, which is symmetric or
/// triangular, is the left or the right factor.
constexpr bool has_side_argument(Operation operation) {
    constexpr OperationSet all{Operation::symm, Operation::hemm, Operation::trmm, Operation::trsm};
    return all.has(operation);
}
constexpr bool is_trmm_or_trsm(Operation operation) {
    return operation == Operation::trmm || operation == Operation::trsm;
}
/// Returns true for updates of a symmetric or Hermitian C by the product of a matrix and its own transpose, or by the
/// products of two matrices and each other's transposes.
constexpr bool is_rank_k_update(Operation operation) {
    constexpr OperationSet all{Operation::syrk, Operation::herk, Operation::syr2k, Operation::her2k};
    return all.has(operation);
}
constexpr bool is_herk_or_her2k(Operation operation) {
    return operation == Operation::herk || operation == Operation::her2k;
}
/// Returns true for operations that have at least one vector.
constexpr bool has_vector(Operation operation) { return operation >= Operation::gemv; }
/// Returns false for operations that have only vectors.
constexpr bool has_matrix(Operation operation) { return operation < Operation::axpy; }
/// Returns true for dot products and norms, whose result is a single number.
constexpr bool computes_number(Operation operation) { return operation >= Operation::dot; }
constexpr bool is_norm(Operation operation) { return operation >= Operation::nrm2; }
/// Returns true for products and solves of a vector with a square A that is symmetric or triangular.
constexpr bool has_square_and_vector(Operation operation) {
    constexpr OperationSet all{Operation::symv, Operation::hemv, Operation::trmv, Operation::trsv};
    return all.has(operation);
}
constexpr bool is_ger_or_gerc(Operation operation) {
    return operation == Operation::ger || operation == Operation::gerc;
}
/// Returns true for updates of a symmetric or Hermitian C by products of vectors.
constexpr bool is_symmetric_vector_update(Operation operation) {
    return operation >= Operation::syr && operation <= Operation::her2;
}
/// Returns true if the operation adds to C, and has no beta.
constexpr bool adds_to_c(Operation operation) {
    return is_ger_or_gerc(operation) || is_symmetric_vector_update(operation) || operation == Operation::axpy;
}

constexpr bool has_b(Operation operation) {
    constexpr OperationSet none{Operation::syrk, Operation::herk, Operation::syr, Operation::her,
                                Operation::axpy, Operation::nrm2, Operation::asum};
    return !none.has(operation);
}

constexpr bool transposes(char trans) { return trans == 'T' || trans == 'C'; }
constexpr bool conjugates(char trans) { return trans == 'C' || trans == 'R'; }

/// The arguments of one operation. An argument that the operation does not have is 0 (characters: '\0'). Characters
/// are upper case. Sizes and leading dimensions count elements of the dtype (one complex number is one element). The
/// program owns the memory behind the pointers. In-place operations write to `b` (rot writes to `a` and `b`), and all
/// other operations write only to `c`.
struct Level3 {
    Operation operation = Operation::gemm;
    bool is_complex = false;  ///< true if elements are pairs of numbers
    bool row_major = false;   ///< true only for calls of CBLAS with row-major matrices
    char side = 0;            ///< 'L' or 'R', if has_side_argument(operation)
    char uplo = 0;            ///< 'U' or 'L': the triangle that the operation reads or writes
    /// 'N', 'T' or 'C'; for gemm and gemv also 'R' (conjugated, but not transposed) if the library supports it.
    char trans_a = 0;
    char trans_b = 0;
    char diag = 0;  ///< 'U' if the diagonal of a triangle counts as 1, or 'N' if it is stored
    /// The number of rows of C (of B for trmm and trsm, of A for gemv); 0 if C is square, or if there is no matrix.
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;           ///< the dimension that is summed over; 0 if that is the size of a square A
    const void* alpha = nullptr;  ///< address of one element of the dtype, which is real for herk, her and rot
    const void* a = nullptr;
    std::int64_t lda = 0;
    const void* b = nullptr;  ///< in-place operations write their result to this address
    std::int64_t ldb = 0;
    const void* beta = nullptr;
    void* c = nullptr;
    std::int64_t ldc = 0;
    bool is_double = false;  ///< true if numbers are float64, false if they are float32

    /// Returns the size of an element, counted in floats.
    int width() const { return (is_complex ? 2 : 1) * (is_double ? 2 : 1); }
};

}  // namespace fp32shim::blas
