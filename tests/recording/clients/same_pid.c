// A process with the id 1 whose child also has the id 1, each as the first process of a PID namespace. It forks while
// other threads are busy. Then the child multiplies.
//
//   same_pid COUNT first              another thread makes the first product, and so reads the settings
//   same_pid COUNT busy [LIBRARY]     other threads make products of new sizes, and load, use and unload a library
//   same_pid COUNT vfork              children by vfork, which share the parent's memory; their ids differ
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

enum { seconds = 60, largest = 40 };

static int multiply(blas_int m, blas_int n, blas_int k) {
    static float a[largest * largest], b[largest * largest];
    float c[largest * largest];
    const float alpha = 1, beta = 0;
    c[0] = 1;
    sgemm_("N", "N", &m, &n, &k, &alpha, a, &m, b, &k, &beta, c, &m);
    return c[0] == 0 ? 0 : 1;
}

static const char* library;

static void* first(void* unused) {
    multiply(2, 2, 2);
    return unused;
}

static atomic_int is_warm;
static void* new_sizes(void* unused) {
    for (long i = 0;; ++i) {
        multiply(1 + (blas_int)(i % largest), 1 + (blas_int)(i / largest % largest),
                 1 + (blas_int)(i / largest / largest % largest));
        is_warm = 1;
    }
    return unused;
}

static void* new_libraries(void* unused) {
    for (;;) {
        void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        sgemm_function* function = NULL;
        if (handle == NULL) _exit(2);
        *(void**)&function = dlsym(handle, "sgemm_");
        const blas_int one = 1;
        const float x = 1, beta = 0;
        float c;
        if (function) function("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &beta, &c, &one);
        dlclose(handle);
    }
    return unused;
}

/// In a process with the id 1, forks another process with that id while threads are busy.
static int fork_the_first(const char* way, long number) {
    alarm(seconds);
    if (getpid() != 1) return 2;
    pthread_t id;
    if (strcmp(way, "first") == 0) {
        if (pthread_create(&id, NULL, first, NULL) != 0) return 2;
    } else {
        if (pthread_create(&id, NULL, new_sizes, NULL) != 0 || pthread_create(&id, NULL, new_sizes, NULL) != 0 ||
            (library != NULL && pthread_create(&id, NULL, new_libraries, NULL) != 0))
            return 2;
        while (!is_warm) sched_yield();
    }
    if (unshare(CLONE_NEWPID) != 0) return 2;
    for (volatile long wait = 0; wait < number % 97 * 3000; ++wait) {
    }
    const pid_t forked = fork();
    if (forked == 0) {
        alarm(seconds);
        int wrong = getpid() == 1 ? 0 : 2;
        for (blas_int size = 1; size <= 3; ++size) wrong |= multiply(size, 3, 2);
        _exit(wrong);
    }
    int status = -1;
    if (forked < 0 || waitpid(forked, &status, 0) != forked) return 2;
    return status == 0 ? 0 : 4;
}

static int vforks(long count) {
    volatile long bad = 0;
    pthread_t id;
    if (pthread_create(&id, NULL, new_sizes, NULL) != 0) return 2;
    for (long i = 0; i < count; ++i) {
        const pid_t forked = vfork();
        if (forked == 0) _exit(multiply(1 + (blas_int)(i % largest), 2, 2));
        int status = -1;
        waitpid(forked, &status, 0);
        bad += status != 0;
    }
    printf("%ld of %ld ended badly\n", bad, count);
    return 0;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const long count = atol(argv[1]);
    library = argc > 3 ? argv[3] : NULL;
    alarm((unsigned)(seconds + count));
    if (strcmp(argv[2], "vfork") == 0) return vforks(count);
    long bad = 0;
    for (long i = 0; i < count; ++i) {
        const pid_t between = fork();  // after unshare, every fork creates a process of the new namespace
        if (between == 0) {
            if (unshare(CLONE_NEWPID) != 0) _exit(9);
            const pid_t forked = fork();
            if (forked == 0) _exit(fork_the_first(argv[2], i));
            int status = -1;
            waitpid(forked, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
        }
        int status = -1;
        waitpid(between, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 9) return 9;  // namespaces are not available here
        if (status != 0) fprintf(stderr, "same_pid: number %ld ended with wait status %#x\n", i, (unsigned)status);
        bad += status != 0;
    }
    printf("%ld of %ld ended badly\n", bad, count);
    return 0;
}
