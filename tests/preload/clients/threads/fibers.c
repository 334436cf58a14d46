// Changes fibers in a signal handler, so that more products are in flight on one thread than a thread has blocks of
// scratch memory. Prints the number of products that were wrong.

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#include "../client.h"

enum { fibers = 20, n = 160, rounds = 40, stack_size = 1 << 18 };
static ucontext_t contexts[fibers + 1];  // the last one is main's
static float ones[n * n], results[fibers][n * n];
static volatile int current = fibers, done, wrong;  // a signal may interrupt a change of the last two
static sigset_t changes;

static void change_fiber(int number) {
    (void)number;
    const int before = current, next = (before + 1) % (fibers + 1);
    current = next;
    swapcontext(&contexts[before], &contexts[next]);
}

static void multiply_often(int fiber) {
    const blas_int size = n;
    const float alpha = (float)(fiber + 1), zero = 0;
    float* const result = results[fiber];
    sigprocmask(SIG_UNBLOCK, &changes, NULL);
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < n * n; ++i) result[i] = -1;
        sgemm_("N", "N", &size, &size, &size, &alpha, ones, &size, ones, &size, &zero, result, &size);
        int differs = 0;
        for (int i = 0; i < n * n; ++i) differs |= result[i] != n * alpha;
        __atomic_fetch_add(&wrong, differs, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    for (;;) {
    }
}

int main(void) {
    for (int i = 0; i < n * n; ++i) ones[i] = 1;
    sigaddset(&changes, SIGALRM);
    sigprocmask(SIG_BLOCK, &changes, NULL);  // a change of fibers must not interrupt another one
    for (int fiber = 0; fiber < fibers; ++fiber) {
        getcontext(&contexts[fiber]);
        contexts[fiber].uc_stack.ss_sp = malloc(stack_size);
        contexts[fiber].uc_stack.ss_size = stack_size;
        makecontext(&contexts[fiber], (void (*)(void))multiply_often, 1, fiber);
    }
    signal(SIGALRM, change_fiber);
    sigprocmask(SIG_UNBLOCK, &changes, NULL);
    const struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    while (done < fibers) {
    }
    printf("%d\n", wrong);
    return 0;
}
