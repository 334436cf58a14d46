// Exhausts a process's memory before its first product. Each case runs in a new child, so that the product is always
// the first. Prints how many children ended well; a child that does not reports the failure on standard error.
//
//   exhausted malloc               malloc fails (under failing_malloc.c), but is not called
//   exhausted thread               the same without address space, with the product in a thread of the smallest stack
//   exhausted handler              like malloc, in a signal handler of a program that has many pthread keys
//
//   exhausted space COUNT [KIB]    RLIMIT_AS and malloc exhausted; with KIB left, 2 * KIB, …, COUNT times
//
//   exhausted once                 one product in this process itself
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

__attribute__((weak)) void fail_allocations_from(long number);
__attribute__((weak)) int allocations_have_failed(void);

enum { good = 0, wrong = 1, seconds = 30 };

static int multiply(void) {
    const blas_int two = 2;
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, alpha = 1, beta = 0;
    float c[4] = {0};
    for (int i = 0; i < 3; ++i) sgemm_("N", "N", &two, &two, &two, &alpha, a, &two, b, &two, &beta, c, &two);
    return c[0] == 23 && c[3] == 46 ? good : wrong;
}

static sem_t may_begin;
static int result = wrong;
static void* thread(void* unused) {
    while (sem_wait(&may_begin) != 0) {
    }
    result = multiply();
    return unused;
}

static void multiply_in_handler(int number) {
    (void)number;
    result = multiply();
}

static void limit_space(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) _exit(2);
    fclose(file);
    const struct rlimit limit = {(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
}

static int child(const char* way, long kibibytes_left) {
    alarm(seconds);
    if (strcmp(way, "space") == 0) {
        limit_space();
        for (size_t size = 1 << 24; size >= 16; size /= 2)
            while (malloc(size) != NULL) {
            }
        struct rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur += (rlim_t)kibibytes_left << 10;
        return setrlimit(RLIMIT_AS, &limit) == 0 ? multiply() : 2;
    }
    if (strcmp(way, "malloc") == 0) {
        fail_allocations_from(1);
        result = multiply();
    } else if (strcmp(way, "handler") == 0) {
        pthread_key_t key;
        for (int i = 0; i < 40; ++i) pthread_key_create(&key, NULL);
        signal(SIGUSR1, multiply_in_handler);
        fail_allocations_from(1);
        raise(SIGUSR1);
    } else {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
        pthread_t id;
        sem_init(&may_begin, 0, 0);
        if (pthread_create(&id, &attributes, thread, NULL) != 0) return 2;
        limit_space();
        fail_allocations_from(1);
        sem_post(&may_begin);
        pthread_join(id, NULL);
    }
    return allocations_have_failed() ? wrong : result;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    if (strcmp(argv[1], "once") == 0) return multiply() == good ? 3 : wrong;
    const int by_space = strcmp(argv[1], "space") == 0;
    if (!by_space && fail_allocations_from == NULL) return 2;
    const long count = by_space ? atol(argv[2]) : 1, step = argc > 3 ? atol(argv[3]) : 4;
    long ended_well = 0;
    for (long made = 0; made < count; ++made) {
        const pid_t forked = fork();
        if (forked == 0) _exit(child(argv[1], made * step));
        int status = -1;
        waitpid(forked, &status, 0);
        if (status == 0)
            ++ended_well;
        else
            fprintf(stderr, "exhausted: %s %ld ended with wait status %#x\n", argv[1], made, (unsigned)status);
    }
    printf("%ld of %ld ended well\n", ended_well, count);
    return 0;
}
