// Makes the process's first product in a thread with the smallest possible stack.
//
//   small_stack LIBRARY direct|lookup [BYTES [A]]   direct: the linked sgemm_; lookup: dlsym in LIBRARY first, in
//                                                   that thread

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "../client.h"

static void* library;
static int looks_up;
static float a = 2;

static void* thread(void* unused) {
    (void)unused;
    sgemm_function* multiply = &sgemm_;
    if (looks_up) *(void**)&multiply = dlsym(library, "sgemm_");
    const blas_int one = 1;
    const float b = 3, alpha = 1, beta = 0;
    static float c;
    multiply("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return &c;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    library = dlopen(argv[1], RTLD_NOW);
    looks_up = strcmp(argv[2], "lookup") == 0;
    if (argc > 4) a = strtof(argv[4], NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const size_t size = argc > 3 ? (size_t)atol(argv[3]) : (size_t)PTHREAD_STACK_MIN;
    if (pthread_attr_setstacksize(&attributes, size) != 0) return 3;
    pthread_t id;
    const int error = pthread_create(&id, &attributes, thread, NULL);
    if (error) {
        printf("pthread_create: %s\n", strerror(error));
        return 0;
    }
    void* result;
    pthread_join(id, &result);
    printf("%g\n", *(float*)result);
    return 0;
}
