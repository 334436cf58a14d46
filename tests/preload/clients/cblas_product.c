// Multiplies through CBLAS, as a program that was linked with -lblas does.
//
//   cblas_product [FORMAT [COUNT]]    rounds operands to FORMAT (fp32, tf32, bf16) first; COUNT products, default 1

#include <stdlib.h>

#include "client.h"

int main(int argc, char** argv) {
    enum { m = 12, n = 20, k = 33 };
    float a[m * k], b[k * n], c[m * n];
    fill(a, m * k, 1);
    fill(b, k * n, 2);
    fill(c, m * n, 3);
    const char* format = argc > 1 ? argv[1] : "fp32";
    round_to(format, a, m * k);
    round_to(format, b, k * n);
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < count; ++i)
        cblas_sgemm(column_major, no_trans, trans, m, n, k, 0.75F, a, m, b, n, 0.5F, c, m);
    print_bits("c", c, m * n);
    return 0;
}
