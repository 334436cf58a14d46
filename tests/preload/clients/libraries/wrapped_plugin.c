// Multiplies through wrapper.c: by its tail call, and by the pointer that it returns. This library does not import
// sgemm_.

#include "../client.h"

sgemm_function wrapped_sgemm;
sgemm_function* sgemm_pointer(void);

void run(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    wrapped_sgemm("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("tail call: %g\n", c);
    sgemm_pointer()("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("pointer: %g\n", c);
}
