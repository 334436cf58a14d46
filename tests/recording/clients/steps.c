// Does the steps that its arguments name, one after the other, and prints what it computed. Tests combine products
// with things that happen to processes, in any order. The program ends by _exit where a step says so.
//
//   products:COUNT[:SIZE]   products of SIZE x SIZE x SIZE (8), and a line with the bits of the last result
//   sizes:COUNT             one product of each of COUNT different sizes
//   threads:COUNT           COUNT threads, one after the other, of one product each
//   small-thread:COUNT      COUNT products in a thread with the smallest possible stack
//   handler:COUNT:SIGNALS   COUNT products or more, until SIGNALS signals have come, whose handler multiplies too;
//                           prints the number of products and of signals
//   cancelled-threads:COUNT COUNT threads, one after the other, of one product each, while their cancellation waits
//   ask[:COUNT]             for each line of standard input, or COUNT of them, a product, and its bits
//   forks:COUNT             COUNT children, one after the other, of 3 products each; they leave by _exit
//   nested-forks:DEPTH      a child that forks a child …, of 3 products each
//   first-forks:DEPTH       like nested-forks, each in a new PID namespace, so that all have the process id 1
//   busy-forks:COUNT        forks:COUNT while another thread is inside large products; prints their number
//   jumps:COUNT             until COUNT products were left by siglongjmp from a signal handler; prints the number
//   exit-beside:COUNT       the process exits, while COUNT threads continue to multiply
//   loading:LIBRARY         from now on, until stop-loading, another thread loads and unloads a library
//   daemonize               continues as a daemon: a grandchild, in /, that has closed all but standard streams
//   spawn, exec             a new process of this program does the remaining steps; exec: in place of this one
//   close-all               closes every descriptor but the standard ones
//   unlink:PATH, cut:PATH[:BYTES], chdir:PATH, chroot:PATH, user:ID
//   own-bus-error, own-bus-signal   a store beyond the end of a mapped file; SIGBUS sent by kill
//   handle-bus-errors       from now on, a handler of SIGBUS ends the process with 9
//   jumping-clock           from now on, the time of day is an hour late, an hour early, …
//   clear-environment, overwrite-environment     the second also overwrites the bytes of the variables
//   limit:fsize:BYTES, limit:as:BYTES     as: BYTES more than the present size
//   trap-gettid             from now on, SIGSYS's handler answers gettid, and multiplies the first time
//   sandbox                 from now on, every system call but a few ends the process
//   occupy:PATH             sets a limit of 256 descriptors, and opens the file on all of them
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

extern char** environ;

enum { usual_size = 8, large_size = 200, largest_size = 256 };

static void multiply(blas_int m, blas_int n, blas_int k, float* c) {
    static float a[largest_size * largest_size], b[largest_size * largest_size];
    static atomic_int is_filled;
    if (!is_filled) {  // two threads may both fill it, with the same values
        fill(a, sizeof a / sizeof *a, 1);
        fill(b, sizeof b / sizeof *b, 2);
        is_filled = 1;
    }
    const float alpha = 1, beta = 0;
    sgemm_("N", "N", &m, &n, &k, &alpha, a, &m, b, &k, &beta, c, &m);
}

/// A step `STEP:TEXT:SECOND`, the numbers in both texts, and the arguments that follow.
struct step {
    const char* text;
    long number;
    long second;
    char** following;
};

static void fail(const char* what) {
    fprintf(stderr, "steps: %s: %s\n", what, strerror(errno));
    _exit(2);
}

static void products(const struct step* step) {
    const blas_int size = step->second > 0 ? (blas_int)step->second : usual_size;
    float c[usual_size * usual_size];
    float* result = size <= usual_size ? c : malloc(sizeof(float) * (size_t)size * (size_t)size);
    for (long i = 0; i < step->number; ++i) multiply(size, size, size, result);
    print_bits("products", result, 4);
    if (result != c) free(result);
}

static void sizes(const struct step* step) {
    enum { edge = 47 };
    static float c[edge * edge];
    uint32_t sum = 0;
    for (long i = 0; i < step->number; ++i) {
        multiply(1 + (blas_int)(i % edge), 1 + (blas_int)(i / edge % edge), 1 + (blas_int)(i / edge / edge), c);
        uint32_t bits;
        memcpy(&bits, c, sizeof bits);
        sum = sum * 31 + bits;
    }
    printf("sizes %08x\n", (unsigned)sum);
}

static void* one_product(void* unused) {
    (void)unused;
    float c[usual_size * usual_size];
    multiply(usual_size, usual_size, usual_size, c);
    return NULL;
}

static void threads(const struct step* step) {
    for (long i = 0; i < step->number; ++i) {
        pthread_t id;
        if (pthread_create(&id, NULL, one_product, NULL) != 0) fail("pthread_create");
        pthread_join(id, NULL);
    }
    printf("threads %ld\n", step->number);
}

static void* products_of_thread(void* count) {
    for (long i = *(const long*)count; i > 0; --i) one_product(NULL);
    return NULL;
}

static void small_thread(const struct step* step) {
    long count = step->number;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0) fail("pthread_attr_setstacksize");
    pthread_t id;
    if (pthread_create(&id, &attributes, products_of_thread, &count) != 0) fail("pthread_create");
    pthread_join(id, NULL);
    printf("small thread %ld\n", count);
}

static void* multiply_cancelled(void* unused) {
    pthread_cancel(pthread_self());
    one_product(unused);
    pthread_testcancel();
    return unused;
}

static void cancelled_threads(const struct step* step) {
    for (long i = 0; i < step->number; ++i) {
        pthread_t id;
        void* result = NULL;
        if (pthread_create(&id, NULL, multiply_cancelled, NULL) != 0) fail("pthread_create");
        pthread_join(id, &result);
        if (result != PTHREAD_CANCELED) fail("pthread_testcancel");
    }
    printf("cancelled threads %ld\n", step->number);
}

static volatile sig_atomic_t handled;
static void on_alarm(int signal) {
    (void)signal;
    one_product(NULL);
    ++handled;
}

static void handler(const struct step* step) {
    struct sigaction action = {0};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    long made = 0;
    for (; made < step->number || handled < step->second; ++made) one_product(NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("handler %ld %ld\n", made, (long)handled);
}

static sigjmp_buf before_product;
static volatile sig_atomic_t may_jump;
static void jump(int signal) {
    (void)signal;
    if (may_jump) siglongjmp(before_product, 1);
}

static void jumps(const struct step* step) {
    struct sigaction action = {0};
    action.sa_handler = jump;
    sigaction(SIGALRM, &action, NULL);
    volatile long made = 0, left = 0;
    for (volatile int size = 1; left < step->number; size = size % usual_size + 1) {
        float c[usual_size * usual_size];
        if (sigsetjmp(before_product, 1) == 0) {
            // Signals arrive at different moments: while a new size gets a row, a ring is full, or a known size is
            // counted.
            const struct itimerval soon = {{0, 0}, {0, 1 + made % 97}};
            setitimer(ITIMER_REAL, &soon, NULL);
            may_jump = 1;
            for (long i = 0; i < 100000; ++i, ++made) multiply(size, size, 1 + (blas_int)(made % largest_size), c);
        } else {
            ++left;
        }
        may_jump = 0;
    }
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("jumps %ld\n%ld made\n", (long)left, (long)made);
}

static void* multiply_on(void* unused) {
    for (;;) one_product(unused);
    return NULL;
}

static void exit_beside(const struct step* step) {
    for (long i = 0; i < step->number; ++i) {
        pthread_t id;
        if (pthread_create(&id, NULL, multiply_on, NULL) != 0) fail("pthread_create");
    }
    usleep(2000);
    exit(3);
}

static void ask(const struct step* step) {
    const struct step one = {.number = 1};
    long answered = 0;
    for (int letter; (letter = getchar()) != EOF;) {
        if (letter != '\n') continue;
        products(&one);
        if (++answered == step->number) return;
    }
}

static void child(void) {
    for (int i = 0; i < 3; ++i) one_product(NULL);
}

static long good_children(long count) {
    long good = 0;
    fflush(stdout);
    for (long i = 0; i < count; ++i) {
        const pid_t forked = fork();
        if (forked == 0) {
            child();
            _exit(0);
        }
        int status = -1;
        waitpid(forked, &status, 0);
        if (status != 0) fprintf(stderr, "steps: a child ended with wait status %#x\n", (unsigned)status);
        good += status == 0;
    }
    return good;
}

static void forks(const struct step* step) { printf("forks %ld\n", good_children(step->number)); }

static int nested_fork(long depth, int is_first_of_namespace) {
    if (depth == 0) return 0;
    if (is_first_of_namespace && unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        fail("unshare");
    fflush(stdout);
    const pid_t forked = fork();
    if (forked == 0) {
        if (is_first_of_namespace && getpid() != 1) _exit(1);
        child();
        _exit(nested_fork(depth - 1, is_first_of_namespace));
    }
    int status = -1;
    waitpid(forked, &status, 0);
    return status == 0 ? 0 : 1;
}

static void nested_forks(const struct step* step) { printf("nested forks %d\n", nested_fork(step->number, 0)); }
static void first_forks(const struct step* step) { printf("first forks %d\n", nested_fork(step->number, 1)); }

static atomic_int stop;
static atomic_long busy_products;
static void* keep_busy(void* unused) {
    (void)unused;
    float* c = malloc(sizeof(float) * large_size * large_size);
    do {
        multiply(large_size, large_size, large_size, c);
        ++busy_products;
    } while (!stop);
    free(c);
    return NULL;
}

static void busy_forks(const struct step* step) {
    pthread_t id;
    pthread_create(&id, NULL, keep_busy, NULL);
    while (busy_products == 0) usleep(1000);
    const long good = good_children(step->number);
    stop = 1;
    pthread_join(id, NULL);
    printf("forks %ld beside %ld\n", good, (long)busy_products);
}

static void* keep_loading(void* library) {
    while (!stop) {
        void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) fail("dlopen");
        dlclose(handle);
    }
    return NULL;
}

static pthread_t loading_thread;
static void loading(const struct step* step) {
    pthread_create(&loading_thread, NULL, keep_loading, (void*)step->text);
}

static void stop_loading(const struct step* step) {
    (void)step;
    stop = 1;
    pthread_join(loading_thread, NULL);
}

static void close_all(const struct step* step) {
    (void)step;
    for (int descriptor = 3; descriptor < 4096; ++descriptor) close(descriptor);
}

static void daemonize(const struct step* step) {
    fflush(stdout);
    if (fork() != 0) _exit(0);
    setsid();
    if (fork() != 0) _exit(0);
    if (chdir("/") != 0) fail("chdir");
    close_all(step);
}

enum { descriptor_limit = 256 };

/// Makes every free descriptor refer to a file.
static void occupy(const struct step* step) {
    const struct rlimit both = {descriptor_limit, descriptor_limit};
    if (setrlimit(RLIMIT_NOFILE, &both) != 0) fail("setrlimit");
    while (open(step->text, O_RDWR | O_CLOEXEC) >= 0) {
    }
    if (errno != EMFILE) fail("open");
}

static rlim_t address_space(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) fail("/proc/self/statm");
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit(const struct step* step) {
    const int is_size = strcmp(step->text, "fsize") == 0;
    const rlim_t bytes = (rlim_t)step->second + (is_size ? 0 : address_space());
    const int resource = is_size ? RLIMIT_FSIZE : RLIMIT_AS;
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) fail("getrlimit");
    limits.rlim_cur = bytes;  // the hard limit stays, so that a later step can raise the limit again
    if (setrlimit(resource, &limits) != 0) fail("setrlimit");
}

static void unlink_file(const struct step* step) {
    if (unlink(step->text) != 0 && errno != ENOENT) fail("unlink");  // without the shim the file does not exist
}

static void cut_file(const struct step* step) {
    if (truncate(step->text, step->second) != 0 && errno != ENOENT) fail("truncate");
}

static void own_bus_error(const struct step* step) {
    (void)step;
    const int file = memfd_create("cut", 0);
    volatile char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || page == MAP_FAILED) fail("mmap");
    fflush(stdout);
    *page = 1;
}

static void on_bus_error(int signal) {
    (void)signal;
    (void)!write(STDOUT_FILENO, "own handler\n", 12);
    _exit(9);
}

static void handle_bus_errors(const struct step* step) {
    (void)step;
    signal(SIGBUS, on_bus_error);
}

static void own_bus_signal(const struct step* step) {
    (void)step;
    fflush(stdout);
    kill(getpid(), SIGBUS);
}

static void change_directory(const struct step* step) {
    if (chdir(step->text) != 0) fail("chdir");
}

static void change_root(const struct step* step) {
    if (chroot(step->text) != 0) fail("chroot");
}

static void change_user(const struct step* step) {
    if (setuid((uid_t)step->number) != 0) fail("setuid");
}

static void clear_environment(const struct step* step) {
    (void)step;
    clearenv();
}

static void overwrite_environment(const struct step* step) {
    for (char** entry = environ; *entry != NULL; ++entry) memset(*entry, 'x', strlen(*entry));
    clear_environment(step);
}

/// Answers gettid. The process has only one thread, so the thread's id is that of the process.
static void on_gettid(int signal, siginfo_t* info, void* context) {
    (void)signal;
    (void)info;
    if (handled++ == 0) one_product(NULL);
    mcontext_t* registers = &((ucontext_t*)context)->uc_mcontext;
#if defined(__x86_64__)
    registers->gregs[REG_RAX] = getpid();
#else
    registers->regs[0] = (unsigned long)getpid();
#endif
}

/// From now on, lets a handler answer one system call.
static void trap(unsigned number, void (*answer)(int, siginfo_t*, void*)) {
    struct sigaction action = {0};
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSYS, &action, NULL);
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("seccomp");
}

static void trap_gettid(const struct step* step) {
    (void)step;
    trap(SYS_gettid, on_gettid);
}

/// Answers by the C library's function. If the kernel maps its clock into processes, that makes no system call.
static void on_clock(int signal, siginfo_t* info, void* context) {
    (void)signal;
    (void)info;
    static long answers;
    static int is_asking;
    mcontext_t* registers = &((ucontext_t*)context)->uc_mcontext;
#if defined(__x86_64__)
    const clockid_t clock = (clockid_t)registers->gregs[REG_RDI];
    struct timespec* answer = (struct timespec*)registers->gregs[REG_RSI];
    registers->gregs[REG_RAX] = 0;
#else
    const clockid_t clock = (clockid_t)registers->regs[0];
    struct timespec* answer = (struct timespec*)registers->regs[1];
    registers->regs[0] = 0;
#endif
    if (is_asking++ == 0) clock_gettime(clock, answer);
    --is_asking;
    if (clock == CLOCK_REALTIME) answer->tv_sec += answers++ % 2 == 0 ? 3600 : -3600;
}

static void jumping_clock(const struct step* step) {
    (void)step;
    trap(SYS_clock_gettime, on_clock);
}

/// Allows the system calls that sandboxes for other people's code allow: for memory, threads, open files, and the
/// process's own ids. All others end the process.
static void sandbox(const struct step* step) {
    (void)step;
    static const unsigned allowed[] = {SYS_read,       SYS_write,          SYS_futex,         SYS_brk,
                                       SYS_mmap,       SYS_munmap,         SYS_mprotect,      SYS_newfstatat,
                                       SYS_fstat,      SYS_getpid,         SYS_gettid,        SYS_exit,
                                       SYS_exit_group, SYS_rt_sigprocmask, SYS_clock_gettime, SYS_getrandom};
    enum { count = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[2 * count + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (size_t i = 0; i < count; ++i) {
        filter[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        filter[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[2 * count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("seccomp");
}

/// Returns the command line of a process that does the following steps. `following[-1]` is the present step.
static char** command_line(const struct step* step) {
    static char name[] = "steps";
    step->following[-1] = name;
    return step->following - 1;
}

static void spawn(const struct step* step) {
    pid_t started;
    if ((errno = posix_spawn(&started, "/proc/self/exe", NULL, NULL, command_line(step), environ)) != 0)
        fail("posix_spawn");
    int status = -1;
    waitpid(started, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void exec(const struct step* step) {
    execv("/proc/self/exe", command_line(step));
    fail("execv");
}

static const struct {
    const char* name;
    void (*act)(const struct step* step);
} actions[] = {
    {"products", products},
    {"sizes", sizes},
    {"threads", threads},
    {"cancelled-threads", cancelled_threads},
    {"handler", handler},
    {"jumps", jumps},
    {"exit-beside", exit_beside},
    {"ask", ask},
    {"small-thread", small_thread},
    {"forks", forks},
    {"nested-forks", nested_forks},
    {"first-forks", first_forks},
    {"busy-forks", busy_forks},
    {"loading", loading},
    {"stop-loading", stop_loading},
    {"daemonize", daemonize},
    {"spawn", spawn},
    {"exec", exec},
    {"close-all", close_all},
    {"unlink", unlink_file},
    {"cut", cut_file},
    {"own-bus-error", own_bus_error},
    {"own-bus-signal", own_bus_signal},
    {"handle-bus-errors", handle_bus_errors},
    {"chdir", change_directory},
    {"chroot", change_root},
    {"user", change_user},
    {"trap-gettid", trap_gettid},
    {"jumping-clock", jumping_clock},
    {"sandbox", sandbox},
    {"clear-environment", clear_environment},
    {"overwrite-environment", overwrite_environment},
    {"limit", limit},
    {"occupy", occupy},
};

static int act(char* word, char** following) {
    const char* name = strsep(&word, ":");
    struct step step = {"", 0, 0, following};
    if (word != NULL) step.text = strsep(&word, ":");
    step.number = atol(step.text);
    if (word != NULL) step.second = atol(word);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; ++i) {
        if (strcmp(actions[i].name, name) != 0) continue;
        actions[i].act(&step);
        return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; ++i)
        if (!act(argv[i], argv + i + 1)) return 2;
    return 3;  // a status that no shell returns by chance
}
