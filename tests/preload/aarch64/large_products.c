// Makes products of several tiles and several blocks of the sum, and prints the bits of their results.

#include "../clients/client.h"

void cblas_cherk(int layout, int uplo, int trans_a, blas_int n, blas_int k, float alpha, const void* a, blas_int lda,
                 float beta, void* c, blas_int ldc);

enum { room = 1 << 17 };
static float a[room], b[room], c[room];

static void print_c(const char* label, size_t count) {
    print_bits(label, c, count);
    fill(c, room, 3);
}

int main(void) {
    fill(a, room, 1);
    fill(b, room, 2);
    fill(c, room, 3);
    const int sizes[][3] = {{1, 1, 1}, {3, 50, 7}, {33, 13, 300}, {70, 41, 600}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const blas_int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        cblas_sgemm(column_major, no_trans, no_trans, m, n, k, 1.25F, a, m, b, k, 0.5F, c, m);
        print_c("column-major", (size_t)(m * n));
        cblas_sgemm(row_major, trans, no_trans, m, n, k, 1, a, m, b, n, 0, c, n);
        print_c("row-major", (size_t)(m * n));
        cblas_cherk(column_major, upper, no_trans, n, k, 1, a, n, -0.5F, c, n);
        print_c("cherk", (size_t)(2 * n * n));
    }
    return 0;
}
