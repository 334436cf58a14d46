// Multiplies, meets a limit or an event, and multiplies again. Prints a hash of the results before and after, errno,
// and what remains in the thread. LIMIT is a name in the table at the end of the file.
//
//   limited_products LIMIT [SIZE [first]]    SIZE: of the large products, at most 430
//                                            first: the products before the limit are large, too
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

void ssyrk_(const char*, const char*, const blas_int*, const blas_int*, const float*, const float*, const blas_int*,
            const float*, float*, const blas_int*);
void strmm_(const char*, const char*, const char*, const char*, const blas_int*, const blas_int*, const float*,
            const float*, const blas_int*, float*, const blas_int*);
void cgemm_(const char*, const char*, const blas_int*, const blas_int*, const blas_int*, const float*, const float*,
            const blas_int*, const float*, const blas_int*, const float*, float*, const blas_int*);
void dgemm_(const char*, const char*, const blas_int*, const blas_int*, const blas_int*, const double*, const double*,
            const blas_int*, const double*, const blas_int*, const double*, double*, const blas_int*);
void dsymv_(const char*, const blas_int*, const double*, const double*, const blas_int*, const double*,
            const blas_int*, const double*, double*, const blas_int*);
void zhemv_(const char*, const blas_int*, const double*, const double*, const blas_int*, const double*,
            const blas_int*, const double*, double*, const blas_int*);
void ztrmv_(const char*, const char*, const char*, const blas_int*, const double*, const blas_int*, double*,
            const blas_int*);
void ztrsv_(const char*, const char*, const char*, const blas_int*, const double*, const blas_int*, double*,
            const blas_int*);

#ifndef TLS_BYTES
#define TLS_BYTES 8
#endif
static __thread volatile char of_thread[TLS_BYTES] = {1};

enum { small = 40, large = 430 };
static float a[large * large], b[large * large];
static double wide_a[small * small], wide_b[small * small];
static const float one = 1, half = 0.5F;

struct results {
    float real[large * large], triangle[large * large], in_place[small * small], complex[2 * small * small / 4];
    double wide[small * small];
};
static struct results shared_results, other_results;

static uint64_t hash_of(const struct results* results) {
    const unsigned char* bytes = (const unsigned char*)results;
    uint64_t hash = 1469598103934665603U;
    for (size_t i = 0; i < sizeof *results; ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
    return hash;
}

// All products are made here, so that each place of the program has multiplied before.
__attribute__((noinline)) static void multiply(struct results* to, blas_int n) {
    const blas_int few = small, half_of_few = small / 2;
    const double wide_one = 1, wide_half = 0.5;
    sgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &half, to->real, &n);
    ssyrk_("U", "N", &n, &n, &one, a, &n, &half, to->triangle, &n);
    strmm_("L", "U", "N", "N", &few, &few, &one, a, &few, to->in_place, &few);
    cgemm_("N", "N", &half_of_few, &half_of_few, &half_of_few, a, a, &half_of_few, b, &half_of_few, b, to->complex,
           &half_of_few);
    if (n == small)  // the library makes these; large ones by its own threads would not survive every limit
        dgemm_("N", "T", &few, &few, &few, &wide_one, wide_a, &few, wide_b, &few, &wide_half, to->wide, &few);
}

static void set(struct results* results) {
    for (int i = 0; i < large * large; ++i) results->real[i] = results->triangle[i] = (float)(i % 31) / 17;
    for (int i = 0; i < small * small; ++i) results->in_place[i] = (float)(results->wide[i] = (i % 13) / 7.0);
    for (int i = 0; i < small * small / 2; ++i) results->complex[i] = (float)(i % 11) / 3;
}

static uint64_t hash_of_products(struct results* results, blas_int n) {
    set(results);
    multiply(results, n);
    return hash_of(results);
}

static blas_int size = small, large_here = 90;

// ---- stacks

/// Makes the products with vectors that need most stack in a fixed order, where copies and sums are on the stack.
static void multiply_vectors(void) {
    enum { order = 200 };
    static double square[2 * order * order], x[6 * order], y[6 * order];
    static const double complex_one[] = {1, 0};
    const blas_int n = order, two = 2, back = -3;
    dsymv_("U", &n, complex_one, square, &n, x, &two, complex_one, y, &back);
    zhemv_("L", &n, complex_one, square, &n, x, &back, complex_one, y, &two);
    ztrmv_("U", "N", "U", &n, square, &n, x, &two);
    ztrsv_("L", "C", "U", &n, square, &n, x, &back);
}

static void* multiply_in_thread(void* result) {
    set(&shared_results);
    errno = 77;
    multiply(&shared_results, size);
    multiply_vectors();
    *(int*)result = errno + of_thread[TLS_BYTES - 1];
    return NULL;
}

static void on_small_stack(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, 16384 + TLS_BYTES / 4096 * 4096) != 0) exit(9);
    pthread_t thread;
    int result = 0;
    if (pthread_create(&thread, &attributes, multiply_in_thread, &result) != 0) exit(9);
    pthread_join(thread, NULL);
    if (result != 77) exit(8);
}

static volatile sig_atomic_t handled;
static void multiply_in_handler(int number) {
    (void)number;
    multiply(&other_results, small);
    handled = 1;
}

static void on_signal_stack(void) {
    const size_t bytes = 16384 + (size_t)sysconf(_SC_MINSIGSTKSZ);
    char* const memory = mmap(NULL, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, 4096, PROT_NONE);
    const stack_t alternate = {.ss_sp = memory + 4096, .ss_size = bytes};
    sigaltstack(&alternate, NULL);
    const struct sigaction action = {.sa_handler = multiply_in_handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    set(&other_results);
    raise(SIGUSR1);
    if (!handled || hash_of(&other_results) != hash_of_products(&shared_results, small)) exit(8);
}

// ---- filters of system calls

static void set_filter(const int* numbers, int count, unsigned answer) {
    struct sock_filter code[16];
    int length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; ++i)
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i],
                                                      (unsigned char)(count - i), 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
    const struct sock_fprog program = {(unsigned short)length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) exit(9);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) exit(9);
}

static const int of_threads[] = {SYS_clone, SYS_clone3};
static const int of_memory[] = {SYS_mmap, SYS_mprotect, SYS_munmap, SYS_madvise, SYS_mremap, SYS_clone, SYS_clone3};
static void kill_for_threads(void) {
    size = large_here;
    set_filter(of_threads, 2, SECCOMP_RET_KILL_PROCESS);
}
static void refuse_threads(void) {
    size = large_here;
    set_filter(of_threads, 2, SECCOMP_RET_ERRNO | EPERM);
}
static void kill_for_memory(void) { set_filter(of_memory, 7, SECCOMP_RET_KILL_PROCESS); }
static void refuse_memory(void) { set_filter(of_memory, 7, SECCOMP_RET_ERRNO | EPERM); }
static int is_strict;
static void strict(void) {
    is_strict = 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(9);
}
static void strict_unseen(void) {
    is_strict = 1;
    if (syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) _exit(9);
}

// ---- signals, threads, processes

static void check_thread(void) {
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    for (int number = 1; number < 32; ++number)
        if (sigismember(&set, number) == 1) exit(7);
    int state = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    if (state != PTHREAD_CANCEL_ENABLE) exit(6);
}

// Other threads, such as those of a library, get no signal of this timer.
static timer_t timer_of_this_thread(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = gettid();
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) exit(9);
    return timer;
}

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static void jump(int number) {
    (void)number;
    if (!may_jump) return;
    may_jump = 0;
    siglongjmp(back, 1);
}

static long lines_of(const char* file, const char* start) {
    char line[512];
    long count = 0, value = 0;
    FILE* lines = fopen(file, "r");
    while (fgets(line, sizeof line, lines) != NULL) {
        ++count;
        if (start != NULL && strncmp(line, start, strlen(start)) == 0) value = atol(line + strlen(start));
    }
    fclose(lines);
    return start != NULL ? value : count;
}

// Leaves products at random moments, and checks that neither mappings nor memory nor threads pile up.
static void leave_by_jumps(int jumps, int microseconds) {
    const struct sigaction action = {.sa_handler = jump};
    sigaction(SIGALRM, &action, NULL);
    const timer_t timer = timer_of_this_thread();
    volatile long mappings = 0, kilobytes = 0;
    unsigned seed = 1;
    for (volatile int left = 0; left < jumps;) {
        if (left == jumps / 4 && mappings == 0) {
            mappings = lines_of("/proc/self/maps", NULL);
            kilobytes = lines_of("/proc/self/status", "VmData:");
        }
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            const struct itimerspec when = {{0, 0}, {0, 1000L * (1 + rand_r(&seed) % microseconds)}};
            timer_settime(timer, 0, &when, NULL);
            while (may_jump) multiply(&other_results, size);
        } else {
            ++left;
        }
    }
    signal(SIGALRM, SIG_IGN);
    check_thread();
    hash_of_products(&other_results, size);
    const long more = lines_of("/proc/self/maps", NULL) - mappings;
    const long more_kilobytes = lines_of("/proc/self/status", "VmData:") - kilobytes;
    const char* own = getenv("LD_PRELOAD");
    if (own == NULL) return;  // some libraries lose memory themselves
    if (more > 40 || more_kilobytes > 200000) {
        printf("%ld more mappings, %ld more kB\n", more, more_kilobytes);
        exit(5);
    }
}
static void jump_out(void) { leave_by_jumps(400, 300); }
static void jump_out_of_large(void) {
    size = large_here;
    leave_by_jumps(40, 3000);
}

static void* multiply_for_ever(void* ready) {
    for (;;) {
        multiply(&other_results, size);
        *(volatile int*)ready = 1;
        pthread_testcancel();
    }
    return NULL;
}

static void cancel(void) {
    size = large_here;
    for (int i = 0; i < 3; ++i) {
        volatile int ready = 0;
        pthread_t thread;
        void* result;
        if (pthread_create(&thread, NULL, multiply_for_ever, (void*)&ready) != 0) exit(9);
        while (!ready) usleep(100);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) exit(8);
    }
}

static volatile sig_atomic_t forked;
static uint64_t expected;
static void check_child(pid_t child) {
    int status = 0;
    if (child == 0) _exit(hash_of_products(&shared_results, size) != expected);
    if (waitpid(child, &status, 0) != child || status != 0) exit(8);
}

static void fork_and_multiply(void) {
    size = large_here;
    expected = hash_of_products(&shared_results, size);
    for (int i = 0; i < 2; ++i) check_child(fork());
    pthread_t thread;
    volatile int ready = 0;
    if (pthread_create(&thread, NULL, multiply_for_ever, (void*)&ready) != 0) exit(9);
    while (!ready) usleep(100);
    for (int i = 0; i < 3; ++i) check_child(fork());
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static void fork_in_handler(int number) {
    (void)number;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    ++forked;
}
static void fork_inside(void) {
    size = large_here;
    const struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerspec often = {{0, 1000000}, {0, 1000000}}, never = {{0, 0}, {0, 0}};
    const timer_t timer = timer_of_this_thread();
    timer_settime(timer, 0, &often, NULL);
    while (forked < 3) multiply(&other_results, size);
    timer_settime(timer, 0, &never, NULL);
}

// ---- memory and processes are used up

static void limit(int resource, rlim_t value) {
    const struct rlimit both = {value, value};
    if (setrlimit(resource, &both) != 0) exit(9);
}
static void no_address_space(void) { limit(RLIMIT_AS, 1 << 20); }
static void no_data(void) { limit(RLIMIT_DATA, 1 << 16); }
static void no_threads(void) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) exit(9);
    limit(RLIMIT_NPROC, 1);
    size = large_here;
}
static void large_product(void) { size = large_here; }
static void nothing(void) {}

static const struct {
    const char* name;
    void (*meet)(void);
} limits[] = {{"none", nothing},
              {"large", large_product},
              {"small_stack", on_small_stack},
              {"signal_stack", on_signal_stack},
              {"kill_for_threads", kill_for_threads},
              {"refuse_threads", refuse_threads},
              {"kill_for_memory", kill_for_memory},
              {"refuse_memory", refuse_memory},
              {"strict", strict},
              {"strict_unseen", strict_unseen},
              {"jump", jump_out},
              {"jump_large", jump_out_of_large},
              {"cancel", cancel},
              {"fork", fork_and_multiply},
              {"fork_inside", fork_inside},
              {"no_address_space", no_address_space},
              {"no_data", no_data},
              {"no_threads", no_threads}};

int main(int argc, char** argv) {
    for (int i = 0; i < large * large; ++i) {
        a[i] = (float)(i % 101) / 64 - 0.7F;
        b[i] = (float)(i % 89) / 71 - 0.6F;
    }
    for (int i = 0; i < small * small; ++i) wide_a[i] = wide_b[i] = (i % 67) / 31.0 - 1;
    if (argc > 2) large_here = atoi(argv[2]);
    if (large_here > large) return 9;
    const int is_large = argc > 3;
    of_thread[1] = 2;
    const uint64_t before = hash_of_products(&shared_results, is_large ? large_here : small);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i)
        if (argc > 1 && strcmp(argv[1], limits[i].name) == 0) limits[i].meet();
    if (is_large) size = large_here;
    set(&shared_results);
    errno = 77;
    for (int i = 0; i < 3; ++i) multiply(&shared_results, size);
    const int error = errno;
    char line[200];
    const int length = snprintf(line, sizeof line, "%016llx %016llx %d\n", (unsigned long long)before,
                                (unsigned long long)hash_of(&shared_results), error);
    if (write(1, line, (size_t)length) != length) _exit(4);
    syscall(is_strict ? SYS_exit : SYS_exit_group, 3);  // strict seccomp forbids the second
}
