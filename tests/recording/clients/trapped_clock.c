// Multiplies when the processor's counter can no longer be read, or when almost no system call is allowed. `when`:
//   first   the counter traps before the first product       raw     like first, by the system call itself
//   later   it traps after ten products                       child   it traps, and a forked child multiplies
//   strict  strict seccomp after ten products                 strict first   before the first
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);

static float a[64], b[64], c[64];
static const float one = 1, zero = 0;

static void products(int count) {
    for (int i = 0; i < count; ++i) {
        const int n = 1 + i % 8;
        sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    }
}

static void products_elsewhere(int count) {
    for (int n = 8; count > 0; --count) sgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

int main(int argc, char** argv) {
    const char* when = argc > 1 ? argv[1] : "";
    const int is_strict = strncmp(when, "strict", 6) == 0;
    if (strcmp(when, "later") == 0 || strcmp(when, "strict") == 0) products(10);
    if (is_strict) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 9;
    } else if (strcmp(when, "raw") == 0) {
        if (syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 9;
    } else if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) {
        return 9;
    }
    if (strcmp(when, "child") == 0 && fork() != 0) {
        int status = 0;
        wait(&status);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
    }
    products(1000);
    products_elsewhere(200);
    if (write(1, "end\n", 4) != 4) return 7;
    syscall(SYS_exit, 3);
}
