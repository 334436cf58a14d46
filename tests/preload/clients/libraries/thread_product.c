/* Multiplies on a new thread, which runs no Python. */
#include <pthread.h>
#include <stddef.h>

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);

static void* multiply(void* unused) {
    const float a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    float c[4] = {0};
    const int n = 2;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    return unused;
}

int multiply_on_a_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, multiply, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}
