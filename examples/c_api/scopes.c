/* Scopes in C: the program names the parts of its work, and sets the precision that each may run at. There is nothing
 * to link: it builds and runs with or without fp32shim. scopes.py and scopes.f90 are the same program. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>

#include "fp32shim/fp32shim.h"

enum { n = 64 };

/* Multiplies fixed numbers once, and prints the difference from the same product in double precision. */
static void multiply(const char* part) {
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; ++i) {
        a[i] = sinf((float)i);
        b[i] = cosf((float)i);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);

    double error = 0;
    double size = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double exact = 0;
            for (int k = 0; k < n; ++k) exact += (double)a[i * n + k] * b[k * n + j];
            error += (c[i * n + j] - exact) * (c[i * n + j] - exact);
            size += exact * exact;
        }
    }

    char precision[FP32SHIM_NAME_SIZE] = "-";
    char source[FP32SHIM_NAME_SIZE] = "-";
    char floor[FP32SHIM_NAME_SIZE] = "-";
    if (fp32shim_is_loaded()) {
        fp32shim_get_precision(precision, sizeof precision, source, sizeof source);
        fp32shim_get_floor(floor, sizeof floor);
    }
    printf("%-24s  asked %-8s by %-12s  floor %-5s  relative error %.1e\n", part, precision, source, floor,
           sqrt(error / size));
}

int main(void) {
    if (!fp32shim_is_loaded()) printf("fp32shim is not loaded: scopes do nothing\n");
    multiply("(no scope)");

    fp32shim_push_scope("model", "high", NULL);
    multiply("model");

    fp32shim_push_scope("solver", NULL, "fp32"); /* the floor overrides the scope around it */
    multiply("model/solver");
    fp32shim_pop_scope();

    fp32shim_pop_scope();
    return 0;
}
