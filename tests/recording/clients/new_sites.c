// Measures the cost of a call at a new place, with many libraries loaded. Prints nanoseconds of processor time.
//
//   new_sites FOLDER COUNT     loads COUNT copies of a library, called 0.so, 1.so, …
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "../../preload/clients/client.h"

static const blas_int one = 1;
static const float x = 1;
static float c;

#define CALL                                                                  \
    sgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, &c, &one); \
    __asm__ volatile("" ::: "memory");
#define CALLS_4 CALL CALL CALL CALL
#define CALLS_16 CALLS_4 CALLS_4 CALLS_4 CALLS_4
#define CALLS_64 CALLS_16 CALLS_16 CALLS_16 CALLS_16

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    for (int i = 0; i < atoi(argv[2]); ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.so", argv[1], i);
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) return 3;
    }
    CALL double best = 1e9;
    // Takes the best of four series of 64 calls: the others may have been interrupted.
    double begin = now();
#define ROUND                                       \
    CALLS_64 {                                      \
        const double end = now();                   \
        if (end - begin < best) best = end - begin; \
        begin = end;                                \
    }
    ROUND ROUND ROUND ROUND printf("%.0f\n", best / 64);
    return 0;
}
