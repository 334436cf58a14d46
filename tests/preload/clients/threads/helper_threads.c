// Makes products that are large enough for several threads where a thread that the program has not started may do
// harm. Prints ok if all went as on one thread.
//
//   helper_threads first|locale|fork|ids|malloc|trap|flags|count
//     first   the process's first product, a small one, is in a signal handler that may have interrupted malloc
//     locale  the same with setlocale
//     fork    a signal handler forks inside a product, and the child returns to the product
//     ids     another thread sets its ids meanwhile, for which glibc signals all threads
//     malloc  in a signal handler that may have interrupted malloc
//     trap    an overflow raises SIGFPE, whose handler leaves the product by siglongjmp
//     flags   the last column overflows, which sets a flag
//     count   the process has one thread after each product

#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../client.h"

enum { n = 200 };
static float a[n * n], b[n * n], c[n * n];
static volatile sig_atomic_t in_handlers;
static blas_int size_in_handlers = n;
static sigjmp_buf outside;

static void multiply_size(blas_int size) {
    const float one = 1, zero = 0;
    sgemm_("N", "N", &size, &size, &size, &one, a, &size, b, &size, &zero, c, &size);
}

static void multiply(void) { multiply_size(n); }

static void* multiply_often(void* done) {
    for (int i = 0; i < 200; ++i) multiply();
    *(volatile int*)done = 1;
    return NULL;
}

static void multiply_in_handler(int number) {
    (void)number;
    multiply_size(size_in_handlers);
    ++in_handlers;
}

static void leave(int number) { siglongjmp(outside, number); }

static volatile pid_t forked;
static void fork_in_handler(int number) {
    (void)number;
    if (forked == -1) forked = fork();
}

static int fork_inside(void) {
    signal(SIGALRM, fork_in_handler);
    for (int round = 0; round < 20; ++round) {
        forked = -1;
        ualarm(500 + 100 * (unsigned)round, 0);
        do {
            memset(c, 0, sizeof c);
            multiply();
        } while (forked == -1);
        int wrong = 0, status = 0;
        for (int i = 0; i < n * n; ++i) wrong |= c[i] != n;
        if (forked == 0) _exit(wrong);
        if (waitpid(forked, &status, 0) != forked || status != 0 || wrong) return 0;
    }
    return 1;
}

static int interrupt_setlocale(void) {
    signal(SIGALRM, multiply_in_handler);
    ualarm(100, 0);  // the first call of setlocale reads a file
    for (int i = 0; in_handlers < 1 || i % 4 != 0; ++i) setlocale(LC_ALL, i % 2 == 0 ? "C.UTF-8" : "C");
    return 1;
}

static int set_ids(void) {
    volatile int done = 0;
    pthread_t other;
    pthread_create(&other, NULL, multiply_often, (void*)&done);
    while (!done)
        if (setegid(getegid()) != 0) return 0;
    return pthread_join(other, NULL) == 0;
}

static void* sleep_without_signals(void* unused) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) pause();
    return unused;
}

static int interrupt_malloc(void) {
    pthread_t other;
    pthread_create(&other, NULL, sleep_without_signals, NULL);  // malloc takes locks only beside a second thread
    signal(SIGALRM, multiply_in_handler);
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    void* memory[256] = {0};
    for (unsigned i = 0; in_handlers < (size_in_handlers == n ? 20 : 3); i = i * 1664525U + 1013904223U) {
        void** const one = &memory[i >> 24];
        free(*one);
        *one = malloc(1100 + (i >> 8) % 3000);
        memset(*one, 1, 16);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return 1;
}

static int trap(void) {
    signal(SIGFPE, leave);
    volatile int left = 0;
    for (int i = 0; i < 10; ++i) {
        if (sigsetjmp(outside, 1) == 0) {
            feenableexcept(FE_OVERFLOW);
            multiply();
            fedisableexcept(FE_OVERFLOW);
        } else {
            fedisableexcept(FE_OVERFLOW);
            ++left;
        }
    }
    return left == 10;
}

static int keeps_flags(void) {
    for (int i = 0; i < 200; ++i) {
        feclearexcept(FE_ALL_EXCEPT);
        multiply();
        if (!fetestexcept(FE_OVERFLOW)) return 0;
    }
    return 1;
}

static int thread_count(void) {
    FILE* const file = fopen("/proc/self/stat", "r");
    int count = -1;
    const int fields =
        fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &count);
    fclose(file);
    return fields == 1 ? count : -1;
}

static int has_one_thread(void) {
    for (int i = 0; i < 1000; ++i) {
        multiply();
        if (thread_count() != 1) return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    const char* const part = argc == 2 ? argv[1] : "";
    const int overflows = strcmp(part, "trap") == 0 || strcmp(part, "flags") == 0;
    for (int i = 0; i < n * n; ++i) b[i] = overflows && i / n == n - 1 ? 3e38f : 1, a[i] = 1;
    if (strcmp(part, "first") == 0 || strcmp(part, "locale") == 0)
        size_in_handlers = 8;
    else
        multiply_size(8);  // the settings are read here
    const int good = strcmp(part, "ids") == 0      ? set_ids()
                     : strcmp(part, "first") == 0  ? interrupt_malloc()
                     : strcmp(part, "locale") == 0 ? interrupt_setlocale()
                     : strcmp(part, "fork") == 0   ? fork_inside()
                     : strcmp(part, "malloc") == 0 ? interrupt_malloc()
                     : strcmp(part, "trap") == 0   ? trap()
                     : strcmp(part, "flags") == 0  ? keeps_flags()
                                                   : has_one_thread();
    puts(good ? "ok" : "not as on one thread");
    return 0;
}
