// Forks just when another thread, in dlclose, has unmapped a library. In the child the library stays in the loader's
// list for ever, although its memory is gone. The child then makes products, and small mappings, some of which take
// the library's place. A trap at the loader's munmap finds the moment.
//
//   forks_in_dlclose COUNT LIBRARY     the library is larger than 2 MiB
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

enum { piece = 1 << 20, trapped_from = 2 * piece };

static void multiply(blas_int size) {
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, alpha = 1, beta = 0;
    float c[4];
    sgemm_("N", "N", &size, &size, &size, &alpha, a, &size, b, &size, &beta, c, &size);
}

static sem_t is_unmapped, is_forked;
static atomic_int is_done;
static char* unmapped_end;

static void wait_for(sem_t* semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {
    }
}

/// Unmaps in pieces, which do not trigger the trap, and waits for the fork.
static void on_munmap(int signal, siginfo_t* info, void* context) {
    (void)signal;
    (void)info;
#if defined(__x86_64__)
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    char* begin = (char*)registers[REG_RDI];
    const size_t size = (size_t)registers[REG_RSI];
    registers[REG_RAX] = 0;
#else
    unsigned long long* registers = ((ucontext_t*)context)->uc_mcontext.regs;
    char* begin = (char*)registers[0];
    const size_t size = (size_t)registers[1];
    registers[0] = 0;
#endif
    for (size_t done = 0; done < size; done += piece) munmap(begin + done, size - done < piece ? size - done : piece);
    if (is_done) return;
    unmapped_end = begin + size;
    sem_post(&is_unmapped);
    wait_for(&is_forked);
}

static void trap_munmap(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_munmap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, NULL);
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 0, 3),
                                   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                                   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, trapped_from, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(9);
}

static long count;
static void* load_and_unload(void* library) {
    for (long i = 0; i < count; ++i) {
        void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) _exit(2);
        dlclose(handle);
    }
    return NULL;
}

/// Runs the child. Calls no function of the loader, which might wait for ever for a thread that the child does not
/// have.
static void child(int maps) {
    alarm(600);
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 1; i <= maps; ++i)
        mmap(unmapped_end - (size_t)i * page_size, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
             0);
    multiply(1);
    multiply(2);
    _exit(0);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    count = atol(argv[1]);
    sem_init(&is_unmapped, 0, 0);
    sem_init(&is_forked, 0, 0);
    multiply(2);
    trap_munmap();
    pthread_t id;
    if (pthread_create(&id, NULL, load_and_unload, argv[2]) != 0) return 2;
    long good = 0;
    for (long i = 0; i < count; ++i) {
        wait_for(&is_unmapped);
        const pid_t forked = fork();
        if (forked == 0) child((int)(i % 8));
        sem_post(&is_forked);
        int status = -1;
        waitpid(forked, &status, 0);
        if (status != 0) fprintf(stderr, "forks_in_dlclose: a child ended with wait status %#x\n", (unsigned)status);
        good += status == 0;
    }
    is_done = 1;
    sem_post(&is_forked);  // malloc also unmaps this much once
    pthread_join(id, NULL);
    printf("%ld of %ld ended well\n", good, count);
    return 0;
}
