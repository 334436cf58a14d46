// Multiplies into memory that a handler of SIGSEGV maps page by page, as programs with memory on demand do. Prints
// the last element, and if the handler ran in this thread and in others: "500 1 1".

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

enum { n = 500, page = 65536 };
#ifdef TLS_BYTES
static __thread volatile char of_thread[TLS_BYTES] = {1};  // on the stack of each thread
#endif
static char* result;
static size_t size;
static volatile sig_atomic_t faults, faults_of_others;

static void on_fault(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    const size_t at = (size_t)((char*)info->si_addr - result);
    if (at >= size) _exit(3);
    *(gettid() == getpid() ? &faults : &faults_of_others) = 1;
    mprotect(result + at / page * page, page, PROT_READ | PROT_WRITE);
}

int main(void) {
#ifdef TLS_BYTES
    of_thread[1] = 2;
#endif
    size = (n * n * sizeof(float) + page - 1) / page * page;
    char* const mapped = mmap(NULL, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 2;
    result = (char*)(((uintptr_t)mapped + page - 1) / page * page);
    float* const a = malloc(n * n * sizeof(float));
    for (int i = 0; i < n * n; ++i) a[i] = 1;
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    const blas_int order = n;
    const float alpha = 1, beta = 0;
    for (int i = 0; i < 100 && !faults_of_others; ++i) {
        mprotect(result, size, PROT_NONE);
        sgemm_("N", "N", &order, &order, &order, &alpha, a, &order, a, &order, &beta, (float*)result, &order);
    }
    printf("%g %d %d\n", ((float*)result)[n * n - 1], (int)faults, (int)faults_of_others);
    return 0;
}
