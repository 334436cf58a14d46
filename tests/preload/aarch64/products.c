// Makes one product with every form of argument list: all arguments by reference; the same under a bare name; scalars
// by value in floating-point registers between integers on the stack; a batch of 18 arguments; and complex operands
// with real scalars. Prints the results bit by bit.
//
//   products fp32|tf32|bf16            rounds the operands itself first
//   products fp32|tf32|bf16 tagged     uses pointers with a tag in the top byte, as HWASan makes them

#include "../clients/client.h"

void sgemm(const char* trans_a, const char* trans_b, const blas_int* m, const blas_int* n, const blas_int* k,
           const float* alpha, const float* a, const blas_int* lda, const float* b, const blas_int* ldb,
           const float* beta, float* c, const blas_int* ldc);
void cblas_sgemm_batch_strided(int layout, int trans_a, int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                               const float* a, blas_int lda, blas_int stride_a, const float* b, blas_int ldb,
                               blas_int stride_b, float beta, float* c, blas_int ldc, blas_int stride_c,
                               blas_int batch_count);
void cblas_cherk(int layout, int uplo, int trans_a, blas_int n, blas_int k, float alpha, const void* a, blas_int lda,
                 float beta, void* c, blas_int ldc);

// All sizes, leading dimensions and strides differ, so that no argument can be mistaken for another.
enum { m = 7, n = 5, k = 9, lda = 11, ldb = 13, ldc = 8, stride_a = 103, stride_b = 71, stride_c = 43, batches = 3 };
enum { a_size = stride_a * batches, b_size = stride_b * batches, c_size = stride_c * batches };

static float a[a_size], b[b_size], c[c_size];
static const float alpha = 0.7071067811865476F, beta = -1.6180339887498949F;

static uintptr_t tag;

/// Returns the pointer with the program's tag. The processor ignores the top byte of an address.
static void* to(const void* pointer) { return (void*)((uintptr_t)pointer | tag); }

static void print_c(const char* label) {
    print_bits(label, c, c_size);
    fill(c, c_size, 3);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    if (argc > 2) tag = (uintptr_t)0xa5 << 56;
    fill(a, a_size, 1);
    fill(b, b_size, 2);
    fill(c, c_size, 3);
    round_to(argv[1], a, a_size);
    round_to(argv[1], b, b_size);

    const blas_int sizes[] = {m, n, k, lda, ldb, ldc};
    const blas_int* const size = to(sizes);
    const char* const untransposed = to("N");
    sgemm_(untransposed, untransposed, size, size + 1, size + 2, to(&alpha), to(a), size + 3, to(b), size + 4,
           to(&beta), to(c), size + 5);
    print_c("sgemm_");
    sgemm(untransposed, untransposed, size, size + 1, size + 2, to(&alpha), to(a), size + 3, to(b), size + 4,
          to(&beta), to(c), size + 5);
    print_c("sgemm");
    cblas_sgemm(column_major, no_trans, no_trans, m, n, k, alpha, to(a), lda, to(b), ldb, beta, to(c), ldc);
    print_c("cblas_sgemm");
    cblas_sgemm_batch_strided(column_major, no_trans, no_trans, m, n, k, alpha, to(a), lda, stride_a, to(b), ldb,
                              stride_b, beta, to(c), ldc, stride_c, batches);
    print_c("cblas_sgemm_batch_strided");
    cblas_cherk(column_major, upper, no_trans, n, k, alpha, to(a), lda, beta, to(c), ldc);
    print_c("cblas_cherk");
    return 0;
}
