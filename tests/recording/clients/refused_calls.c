// Simulates a sandbox that answers system calls with an error, or with success without doing anything. Each case runs
// in a new child, which then makes its first products. Prints which children did not end well.
//
//   refused_calls [COUNT]     COUNT times
//   refused_calls once NAME   in this process itself, which is refused the call NAME
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

static int refuse(unsigned number, unsigned error) {
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int multiply(void) {
    float c[4] = {0};
    for (blas_int size = 1; size <= 2; ++size) {
        const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, alpha = 1, beta = 0;
        for (int i = 0; i < 40; ++i)
            sgemm_("N", "N", &size, &size, &size, &alpha, a, &size, b, &size, &beta, c, &size);
    }
    return c[0] == 23 && c[3] == 46 ? 0 : 1;
}

static const struct {
    const char* name;
    unsigned number;
} calls[] = {
    {"clock_gettime", SYS_clock_gettime},
    {"nanosleep", SYS_nanosleep},
    {"futex", SYS_futex},
    {"openat", SYS_openat},
    {"close", SYS_close},
    {"read", SYS_read},
    {"write", SYS_write},
    {"writev", SYS_writev},
    {"pwritev2", SYS_pwritev2},
    {"fcntl", SYS_fcntl},
    {"fstat", SYS_fstat},
    {"newfstatat", SYS_newfstatat},
    {"fallocate", SYS_fallocate},
    {"ftruncate", SYS_ftruncate},
    {"fchmod", SYS_fchmod},
    {"readlinkat", SYS_readlinkat},
    {"getcwd", SYS_getcwd},
    {"uname", SYS_uname},
    {"getpid", SYS_getpid},
    {"gettid", SYS_gettid},
    {"madvise", SYS_madvise},
    {"mincore", SYS_mincore},
    {"mmap", SYS_mmap},
    {"munmap", SYS_munmap},
    {"rt_sigaction", SYS_rt_sigaction},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"rt_sigpending", SYS_rt_sigpending},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait},
    {"fstatfs", SYS_fstatfs},
    {"ioctl", SYS_ioctl},
    {"getrandom", SYS_getrandom},
    {"clock_gettime and nanosleep", SYS_clock_gettime},
};
static const unsigned errors[] = {EPERM, EINTR, ENOSYS, EAGAIN, ENOMEM, 0};

static int multiply_without(const char* name) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (strcmp(calls[i].name, name) == 0 && refuse(calls[i].number, EPERM)) return multiply();
    return 2;
}

int main(int argc, char** argv) {
    if (argc > 2) return multiply_without(argv[2]);
    const long repeats = argc > 1 ? atol(argv[1]) : 1;
    enum { call_count = sizeof calls / sizeof *calls, error_count = sizeof errors / sizeof *errors, seconds = 60 };
    long bad = 0, made = 0;
    for (long i = 0; i < repeats * call_count * error_count; ++i) {
        const unsigned error = errors[i % error_count];
        const size_t call = (size_t)(i / error_count) % call_count;
        // No program can cope if the kernel claims to have given memory or disk space that is not there.
        if (error == 0 && (calls[call].number == SYS_mmap || calls[call].number == SYS_fallocate)) continue;
        const pid_t forked = fork();
        if (forked == 0) {
            alarm(seconds);
            if (call == call_count - 1 && !refuse(SYS_nanosleep, error)) _exit(2);
            if (!refuse(calls[call].number, error)) _exit(2);
            const int result = multiply();
            syscall(SYS_exit_group, result);
        }
        int status = -1;
        waitpid(forked, &status, 0);
        ++made;
        if (status == 0) continue;
        ++bad;
        printf("%s answered with %u: wait status %#x\n", calls[call].name, error, (unsigned)status);
    }
    printf("%ld of %ld ended badly\n", bad, made);
    return 0;
}
