// Makes the first calls of several threads at the same moment: each thread waits for the others, then multiplies.
//
//   first_calls THREADS CALLS
#include <pthread.h>
#include <stdlib.h>

#include "../../preload/clients/client.h"

static pthread_barrier_t barrier;
static long calls;

static void* multiply(void* unused) {
    (void)unused;
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    float c[4];
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < calls; ++i) cblas_sgemm(column_major, no_trans, no_trans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    return c[0] == 23 && c[3] == 46 ? NULL : &barrier;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    enum { most = 64 };
    const int count = atoi(argv[1]);
    calls = atol(argv[2]);
    if (count > most || pthread_barrier_init(&barrier, NULL, (unsigned)count) != 0) return 2;
    pthread_t threads[most];
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        if (pthread_create(&threads[i], NULL, multiply, NULL) != 0) return 2;
    for (int i = 0; i < count; ++i) {
        void* result = NULL;
        pthread_join(threads[i], &result);
        wrong += result != NULL;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
