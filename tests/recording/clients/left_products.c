// Leaves products by siglongjmp from the handler of a timer, at any depth of the stack. Prints what remains
// afterwards:
//
//   left_products JUMPS [alternate]    `alternate`: the handler runs on an alternate signal stack
//
// The jump does not restore the signal mask, so signals that the shim blocked would stay blocked.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);

static void multiply(int n) {
    static const float a[16], b[16], one = 1, zero = 0;
    static float c[16];
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}

static sigjmp_buf back;
static volatile sig_atomic_t is_armed;
static volatile long left;

static void leave(int number) {
    (void)number;
    if (!is_armed) return;
    is_armed = 0;
    ++left;
    siglongjmp(back, 1);
}

static long mappings(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    long count = 0;
    for (int c; (c = getc(maps)) != EOF;) count += c == '\n';
    fclose(maps);
    return count;
}

__attribute__((noinline)) static void multiply_below(int depth) {
    volatile char frame[2000];
    frame[depth] = 1;
    if (depth > 0)
        multiply_below(depth - 1);
    else
        multiply(4);
    (void)frame[depth];  // prevents a tail call
}

int main(int argc, char** argv) {
    const long wanted = atol(argv[1]);
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    if (argc > 2) {
        const stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        sigaltstack(&alternate, NULL);
        action.sa_flags |= SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    sigset_t none, found;
    sigprocmask(SIG_SETMASK, NULL, &none);
    unsigned seed = 1;
    volatile long made = 0;
    volatile long changed_masks = 0, before = 0;
    while (left < wanted) {
        // During the first jumps, a thread makes its permanent mappings.
        if (left == 100 && before == 0) before = mappings();
        const struct itimerval timer = {{0, 0}, {0, 1 + rand_r(&seed) % 60}};
        if (sigsetjmp(back, 0) == 0) {
            is_armed = 1;
            setitimer(ITIMER_REAL, &timer, NULL);
            while (is_armed) {
                multiply_below(rand_r(&seed) % 40);
                ++made;
            }
        }
        sigprocmask(SIG_SETMASK, NULL, &found);
        if (memcmp(&found, &none, 8) == 0) continue;
        ++changed_masks;
        sigprocmask(SIG_SETMASK, &none, NULL);
    }
    // On a slow machine every product above may have been left. This one completes.
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    multiply_below(0);
    ++made;
    printf("%ld made, %ld left, %ld masks changed, %ld more mappings\n", made, left, changed_masks,
           mappings() - before);
    return 0;
}
