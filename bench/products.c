// Multiplies matrices of given sizes by sgemm_, and prints the time of one product, in nanoseconds, for each:
//
//   products SECONDS MxNxK[:TRANS] ...      TRANS: NN (default), TN, NT or TT
//
// bench/modes.py runs it with fp32shim and without.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static float* matrix(size_t count) {
    // Aligned, since the place of a matrix in its cache lines changes times by a sixth.
    float* const numbers = aligned_alloc(64, (count * sizeof *numbers + 63) / 64 * 64);
    for (size_t i = 0; i < count; ++i) numbers[i] = (float)rand() / (float)RAND_MAX - 0.5F;
    return numbers;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const double seconds = atof(argv[1]);
    for (int i = 2; i < argc; ++i) {
        int m, n, k;
        char trans[3] = "NN";
        if (sscanf(argv[i], "%dx%dx%d:%2s", &m, &n, &k, trans) < 3) return 2;
        const float alpha = 1, beta = 0;
        float* const a = matrix((size_t)m * (size_t)k);
        float* const b = matrix((size_t)k * (size_t)n);
        float* const c = matrix((size_t)m * (size_t)n);
        const int lda = trans[0] == 'N' ? m : k, ldb = trans[1] == 'N' ? k : n;
        double best = 1e300;
        long count = 1;
        for (double begin = now(); now() - begin < seconds;) {
            const double start = now();
            for (long repeat = 0; repeat < count; ++repeat)
                sgemm_(&trans[0], &trans[1], &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &m);
            const double time = now() - start;
            if (time / (double)count < best) best = time / (double)count;
            if (time < seconds / 50) count *= 2;
        }
        printf("%s %.1f\n", argv[i], best * 1e9);
        free(a);
        free(b);
        free(c);
    }
    return 0;
}
