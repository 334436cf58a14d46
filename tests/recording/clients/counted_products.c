// Counts its products in shared memory, so that a test knows after a kill which calls had returned.
//
//   counted_products COUNTS THREADS CALLS      each thread makes CALLS products of 8x8x8; then prints `done`, and
//                                              waits until it is killed
//
// COUNTS is a file of one cache line per thread: struct count. `started` rises before each call, `returned` after it.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>

#include "../../preload/clients/client.h"

struct count {
    atomic_ullong started;
    atomic_ullong returned;
    atomic_ullong thread;
    char unused[40];
};
_Static_assert(sizeof(struct count) == 64, "what the test reads");

enum { most_threads = 64, size = 8 };
static long calls;

static void* multiply(void* argument) {
    struct count* count = argument;
    const blas_int n = size;
    const float alpha = 1, beta = 0;
    float a[size * size], b[size * size], c[size * size];
    fill(a, size * size, 1);
    fill(b, size * size, 2);
    atomic_store(&count->thread, (unsigned long long)syscall(SYS_gettid));
    for (long i = 1; i <= calls; ++i) {
        atomic_store_explicit(&count->started, i, memory_order_release);
        sgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
        atomic_store_explicit(&count->returned, i, memory_order_release);
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const int threads = atoi(argv[2]);
    calls = atol(argv[3]);
    const int file = open(argv[1], O_RDWR);
    if (file < 0 || threads < 1 || threads > most_threads) return 2;
    const size_t bytes = (size_t)threads * sizeof(struct count);
    struct count* counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counts == MAP_FAILED) return 2;
    pthread_t ids[most_threads];
    for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, multiply, &counts[i]);
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
    printf("done\n");
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
