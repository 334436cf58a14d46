// One operation of BLAS, such as a product or a solve, with its arguments named by role instead of by position. The
// operands have the names of the BLAS reference.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fp32shim::blas {

/// Operations of BLAS: all of level 3, and operations with vectors.
enum class Operation : std::uint8_t {
    gemm,   ///< C := alpha op(A) op(B) + beta C
    gemmt,  ///< gemm that forms only the `uplo` triangle of the n×n C
    symm,   ///< C := alpha A B + beta C (side 'L') or alpha B A + beta C ('R'); A symmetric, its `uplo` half stored
    hemm,   ///< symm with A Hermitian
    syrk,  ///< C := alpha A A^T + beta C (trans 'N') or alpha A^T A + beta C; forms only the `uplo` half of the n×n C
    herk,   ///< syrk with A^H instead of A^T, and real alpha and beta
    syr2k,  ///< C := alpha A B^T + alpha B A^T + beta C, or with A^T B and B^T A
    her2k,  ///< syr2k with ^H instead of ^T, complex alpha and real beta
    trmm,   ///< B := alpha op(A) B or alpha B op(A), A triangular; if C is given, the result goes there instead
    trsm,   ///< B := alpha op(A)^-1 B or alpha B op(A)^-1; never lowered
    // From here on, operations have vectors. The names of matrices stand for vectors as well, as each line says. The
    // leading dimension of a vector is its increment, which may be negative.
    gemv,    ///< C := alpha op(A) B + beta C; A is m×n, B and C are vectors
    symv,    ///< C := alpha A B + beta C; A is n×n and symmetric, B and C are vectors
    hemv,    ///< symv with A Hermitian
    ger,     ///< C := alpha A B^T + C; C is m×n, A and B are vectors
    gerc,    ///< ger with B^H instead of B^T
    syr,     ///< C := alpha A A^T + C; forms only the `uplo` half of the n×n C
    her,     ///< syr with A^H instead of A^T, and real alpha
    syr2,    ///< C := alpha A B^T + alpha B A^T + C; forms only the `uplo` half of the n×n C
    her2,    ///< C := alpha A B^H + conj(alpha) B A^H + C
    trmv,    ///< B := op(A) B; A is n×n and triangular, B a vector
    trsv,    ///< B := op(A)^-1 B
    axpy,    ///< C := alpha A + C; A and C are vectors of k elements
    rot,     ///< A := alpha A + beta B, and B := alpha B - beta A, with real alpha and beta
    dot,     ///< C := A^T B; A and B are vectors of k elements, C is one element
    dotc,    ///< dot with A^H instead of A^T
    sdsdot,  ///< C := alpha + A^T B of float32 vectors, summed in float64
    dsdot,   ///< C := A^T B of float32 vectors; C is one float64
    nrm2,    ///< C := square root of A^H A; C is real
    asum,    ///< C := sum of |re| + |im| of the elements of A; C is real
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

/// Returns true for operations with a `side` argument, in which a square A, symmetric or triangular, is the left or
/// the right factor.
constexpr bool has_side_argument(Operation operation) {
    constexpr OperationSet all{Operation::symm, Operation::hemm, Operation::trmm, Operation::trsm};
    return all.has(operation);
}
constexpr bool is_trmm_or_trsm(Operation operation) {
    return operation == Operation::trmm || operation == Operation::trsm;
}
/// Returns true for updates of a symmetric or Hermitian C by the product of a matrix with itself, or of two matrices
/// with each other.
constexpr bool is_rank_k_update(Operation operation) {
    constexpr OperationSet all{Operation::syrk, Operation::herk, Operation::syr2k, Operation::her2k};
    return all.has(operation);
}
constexpr bool is_herk_or_her2k(Operation operation) {
    return operation == Operation::herk || operation == Operation::her2k;
}
/// Returns true for operations with a vector.
constexpr bool has_vector(Operation operation) { return operation >= Operation::gemv; }
/// Returns false for operations on vectors only.
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
/// Returns true if the operation adds to C, without a beta.
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
/// program owns the memory behind the pointers. In-place operations write to `b` (rot to `a` and `b`), all others to
/// `c` only.
struct Level3 {
    Operation operation = Operation::gemm;
    bool is_complex = false;  ///< elements are pairs of numbers
    bool row_major = false;   ///< CBLAS only
    char side = 0;            ///< 'L' or 'R', if has_side_argument(operation)
    char uplo = 0;            ///< 'U' or 'L'
    /// 'N', 'T' or 'C'; for gemm and gemv also 'R' (conjugated, not transposed) if the library supports it.
    char trans_a = 0;
    char trans_b = 0;
    char diag = 0;  ///< 'U' or 'N', of a triangle
    /// Rows of C (of B for trmm and trsm, of A for gemv); 0 if C is square, or if there is no matrix.
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;           ///< the dimension that is summed over; 0 if it is the size of a square A
    const void* alpha = nullptr;  ///< one element of the dtype (real for herk)
    const void* a = nullptr;
    std::int64_t lda = 0;
    const void* b = nullptr;  ///< in-place trmm and trsm write their result through it
    std::int64_t ldb = 0;
    const void* beta = nullptr;
    void* c = nullptr;
    std::int64_t ldc = 0;
    bool is_double = false;  ///< numbers are float64, otherwise float32

    /// Returns the size of an element in floats.
    int width() const { return (is_complex ? 2 : 1) * (is_double ? 2 : 1); }
};

}  // namespace fp32shim::blas
