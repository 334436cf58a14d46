// Multiplies matrices of given sizes, and prints the time of one product, in nanoseconds, for each:
//
//   products cpu|wall SECONDS [c]MxNxK[:TRANS][*COUNT] ...
//
// c: complex64 by cgemm_, otherwise float32 by sgemm_. TRANS: NN (default), TN, NT or TT. COUNT: so many products of
// different matrices one after the other, whose times are added, as numpy and PyTorch multiply a stack of matrices.
// The time is the shortest of those that SECONDS allow. `cpu` is the processor time of all threads of the process,
// which other programs do not add to; with several threads use `wall`.
//
// bench/performance.py runs it with fp32shim and without.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void Gemm(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                  const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                  const float* beta, float* c, const int* ldc);
Gemm sgemm_, cgemm_;

static clockid_t used_clock;

static double now(void) {
    struct timespec time;
    clock_gettime(used_clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static float* matrix(size_t count) {
    // Aligned, since the place of a matrix in its cache lines changes times by a sixth.
    float* const numbers = aligned_alloc(64, (count * sizeof *numbers + 63) / 64 * 64);
    for (size_t i = 0; i < count; ++i) numbers[i] = (float)rand() / (float)RAND_MAX - 0.5F;
    return numbers;
}

struct Products {
    int is_complex, m, n, k, count;
    char trans[3];
    float *a, *b, *c;
};

static void multiply(const struct Products* p) {
    static const float one[2] = {1, 0}, zero[2] = {0, 0};
    const int lda = p->trans[0] == 'N' ? p->m : p->k, ldb = p->trans[1] == 'N' ? p->k : p->n;
    const size_t parts = p->is_complex ? 2 : 1;
    const size_t a = parts * (size_t)p->m * (size_t)p->k, b = parts * (size_t)p->k * (size_t)p->n;
    const size_t c = parts * (size_t)p->m * (size_t)p->n;
    for (size_t i = 0; i < (size_t)p->count; ++i)
        if (p->is_complex)
            cgemm_(&p->trans[0], &p->trans[1], &p->m, &p->n, &p->k, one, p->a + i * a, &lda, p->b + i * b, &ldb, zero,
                   p->c + i * c, &p->m);
        else
            sgemm_(&p->trans[0], &p->trans[1], &p->m, &p->n, &p->k, one, p->a + i * a, &lda, p->b + i * b, &ldb, zero,
                   p->c + i * c, &p->m);
}

static double seconds_of_one(const struct Products* p, double seconds) {
    // The first product of a library may take a tenth of a second.
    if ((double)p->m * p->n * p->k < 1e8) multiply(p);
    double best = 1e300;
    long repeats = 1;
    for (const double begin = now(); now() - begin < seconds;) {
        const double start = now();
        for (long repeat = 0; repeat < repeats; ++repeat) multiply(p);
        const double time = now() - start;
        if (time / (double)repeats < best) best = time / (double)repeats;
        if (time < seconds / 50) repeats *= 2;
    }
    return best;
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    used_clock = strcmp(argv[1], "wall") == 0 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    const double seconds = atof(argv[2]);
    for (int i = 3; i < argc; ++i) {
        struct Products p = {.is_complex = argv[i][0] == 'c', .count = 1, .trans = "NN"};
        if (sscanf(argv[i] + p.is_complex, "%dx%dx%d:%2[NT]", &p.m, &p.n, &p.k, p.trans) < 3) return 2;
        if (strchr(argv[i], '*') != NULL) p.count = atoi(strchr(argv[i], '*') + 1);
        const size_t each = (p.is_complex ? 2U : 1U) * (size_t)p.count;
        p.a = matrix(each * (size_t)p.m * (size_t)p.k);
        p.b = matrix(each * (size_t)p.k * (size_t)p.n);
        p.c = matrix(each * (size_t)p.m * (size_t)p.n);
        printf("%s %.1f\n", argv[i], seconds_of_one(&p, seconds) * 1e9);
        free(p.a);
        free(p.b);
        free(p.c);
    }
    return 0;
}
