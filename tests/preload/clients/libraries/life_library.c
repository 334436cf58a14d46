// A library that multiplies before main() and after it: in its constructor, in a thread that the constructor starts
// and joins, in an atexit handler and in its destructor.

#include <pthread.h>
#include <stdlib.h>

#include "../client.h"

static void product(const char* when) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("%s: %g\n", when, c);
    fflush(stdout);
}

static void* thread(void* when) {
    product(when);
    return NULL;
}

static void at_exit(void) { product("atexit"); }

__attribute__((constructor)) static void construct(void) {
    pthread_t id;
#ifdef THREAD_FIRST
    pthread_create(&id, NULL, thread, "thread of the constructor");
    pthread_join(id, NULL);
    product("constructor");
#else
    product("constructor");
    pthread_create(&id, NULL, thread, "thread of the constructor");
    pthread_join(id, NULL);
#endif
    atexit(at_exit);
}

__attribute__((destructor)) static void destruct(void) { product("destructor"); }

void life(void) { product("main"); }
