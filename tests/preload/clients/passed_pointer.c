// Multiplies at one place through a pointer to sgemm_ that libraries return (wrapper.c), while these are loaded and
// unloaded.
//
//   passed_pointer THREADS LIBRARY_A LIBRARY_B FILLER     100 rounds: opens A or B, multiplies once in each thread,
//                                                         and closes it by the C library's own dlclose, which the
//                                                         shim does not see; FILLER takes its place in memory
//   passed_pointer kept BLAS LIBRARY_B BLAS_OF_B FILLER   B returns the pointer and is closed; its BLAS stays
//
// Prints the number of wrong products. Those of A's BLAS have the mark 1000, those of B's 2000.

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

enum { rounds = 100, most_threads = 8 };

static sgemm_function* volatile pointer;
static atomic_int round_number, done, wrong;
static volatile float expected;

__attribute__((noinline)) static void multiply(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    pointer("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    if (c != expected) atomic_fetch_add(&wrong, 1);
}

static void* work(void* nothing) {
    for (int seen = 0; seen < rounds; ++seen) {
        while (atomic_load(&round_number) == seen) sched_yield();
        multiply();
        atomic_fetch_add(&done, 1);
    }
    return nothing;
}

static void* opened(const char* file) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static void* open_and_take_pointer(const char* file, float mark) {
    void* library = opened(file);
    sgemm_function* (*get)(void);
    *(void**)&get = dlsym(library, "sgemm_pointer");
    pointer = get();
    expected = mark + 6;
    return library;
}

static int come_and_go(int threads, char** libraries, const char* filler) {
    int (*unseen_close)(void*);
    *(void**)&unseen_close = dlsym(opened("libc.so.6"), "dlclose");
    void* added = NULL;
    pthread_t ids[most_threads];
    for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, NULL);
    for (int number = 1; number <= rounds; ++number) {
        void* library = open_and_take_pointer(libraries[number % 2], number % 2 ? 2000 : 1000);
        atomic_store(&done, 0);
        atomic_store(&round_number, number);
        while (atomic_load(&done) < threads) sched_yield();
        unseen_close(library);
        // In some rounds as many objects are added as were removed, and the called function stays unmapped.
        if (number % 3 == 0) {
            if (added != NULL) unseen_close(added);
            added = opened(filler);
        }
        mmap(NULL, (size_t)number << 14, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
    return 0;
}

static int keep(char** libraries, const char* blas_of_b, const char* filler) {
    opened(libraries[0]);
    void* handed_out_by = open_and_take_pointer(libraries[1], 2000);
    opened(blas_of_b);
    multiply();
    dlclose(handed_out_by);
    multiply();
    opened(filler);
    multiply();
    return 0;
}

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const int is_kept = strcmp(argv[1], "kept") == 0;
    const int status = is_kept ? keep(argv + 2, argv[4], argv[5]) : come_and_go(atoi(argv[1]), argv + 2, argv[4]);
    printf("%d wrong\n", atomic_load(&wrong));
    return status;
}
