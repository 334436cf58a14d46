// Makes products at the limits of what BLAS defines. Prints each C with the memory around it.
//
//   edge_cases [FORMAT]    rounds the operands to FORMAT (fp32, tf32, bf16) first

#include <math.h>

#include "client.h"

enum { m = 5, n = 4, k = 6, ld = 9, room = ld * 8 };
static float a[room], b[room], c[room];
static const char* format = "fp32";

static void make_operands(void) {
    fill(a, room, 1);
    fill(b, room, 2);
    fill(c, room, 3);
}

static void multiply(const char* label, int rows, int columns, int depth, float alpha, float beta) {
    round_to(format, a, room);
    round_to(format, b, room);
    cblas_sgemm(column_major, no_trans, no_trans, rows, columns, depth, alpha, a, ld, b, ld, beta, c, ld);
    print_bits(label, c, room);
    make_operands();
}

int main(int argc, char** argv) {
    if (argc > 1) format = argv[1];
    make_operands();
    multiply("plain", m, n, k, 1, 1);
    multiply("m is zero", 0, n, k, 1, 0.5F);
    multiply("n is zero", m, 0, k, 1, 0.5F);
    multiply("k is zero", m, n, 0, 1, 0.5F);
    multiply("k and beta are zero", m, n, 0, 1, 0);
    multiply("alpha is zero", m, n, k, 0, 0.5F);
    multiply("alpha and beta are zero", m, n, k, 0, 0);
    multiply("beta is zero", m, n, k, 1, 0);

    a[1] = NAN;
    multiply("NaN in A with alpha zero", m, n, k, 0, 0.5F);
    c[1] = NAN;
    multiply("NaN in C with beta zero", m, n, k, 1, 0);
    a[1] = INFINITY;
    b[ld + 2] = -INFINITY;
    multiply("infinities", m, n, k, 1, 0.5F);
    a[1] = NAN;
    multiply("NaN in A", m, n, k, 1, 0.5F);
    a[0] = 0x1p-149F;
    a[1] = -0.0F;
    b[0] = 0x1p-130F;
    multiply("subnormal numbers and zeros", m, n, k, 1, 0);
    for (int i = 0; i < room; ++i) c[i] = -0.0F;
    multiply("negative zeros in C", m, n, k, 1, 1);

    // A and B may be the same memory, and may overlap partly.
    round_to(format, a, room);
    cblas_sgemm(column_major, no_trans, trans, 4, 4, 5, 1, a, ld, a, ld, 0, c, ld);
    print_bits("A is B", c, room);
    cblas_sgemm(column_major, no_trans, no_trans, 4, 4, 4, 1, a, ld, a + 7, ld, 0, c, ld);
    print_bits("A and B overlap", c, room);
    return 0;
}
