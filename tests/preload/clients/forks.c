// Forks at difficult moments.
//
//   forks busy      50 times while another thread is inside products; each child multiplies once
//   forks inside    in the middle of a product (fake_blas.c's hook); parent and child both finish it and continue

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

extern void (*fake_blas_hook)(void);

static float product(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

static atomic_int stop;
static const float expected = 6 + 1000;

static void* keep_busy(void* unused) {
    (void)unused;
    while (!stop) product();
    return NULL;
}

static int busy(void) {
    pthread_t id;
    pthread_create(&id, NULL, keep_busy, NULL);
    int good = 0;
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(product() == expected ? 0 : 1);
        int status = -1;
        waitpid(child, &status, 0);
        good += status == 0;
    }
    stop = 1;
    pthread_join(id, NULL);
    printf("%d good children\n", good);
    return 0;
}

static pid_t forked = -1;
static void fork_here(void) {
    fake_blas_hook = NULL;
    forked = fork();
}

static int inside(void) {
    fake_blas_hook = fork_here;
    const int first = product() == expected;
    const int second = product() == expected;
    if (forked == 0) _exit(first && second ? 0 : 1);
    int status = -1;
    waitpid(forked, &status, 0);
    printf("parent %d %d, child %d\n", first, second, status == 0);
    return 0;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    return strcmp(argv[1], "busy") == 0 ? busy() : inside();
}
