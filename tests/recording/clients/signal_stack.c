// Measures how much of an alternate signal stack one action in a signal handler needs. Prints the number of bytes
// that were written to.
//
//   signal_stack ACTION      product, execve, execvp, execlp, fexecve, execveat, posix_spawnp or system, or
//                            unseen: execve without an environment, so that the program is not seen
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

extern char** environ;
enum { size = 1 << 17, paint = 0x5a, failed = 77 };

static void multiply(void) {
    const blas_int one = 1;
    const float x = 1;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, &c, &one);
}

static const char* action;
static void act(int signal) {
    char *words[] = {"true", NULL}, *none[] = {NULL};
    pid_t child;
    (void)signal;
    const blas_int one = 1;
    const float x = 1;
    float c = 0;
    if (strcmp(action, "product") == 0) {  // multiplies at a new place
        sgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, &c, &one);
        _exit(c == 1 ? 0 : failed);
    }
    if (strcmp(action, "execve") == 0) execve("/bin/true", words, environ);
    if (strcmp(action, "unseen") == 0) execve("/bin/true", words, none);
    if (strcmp(action, "execvp") == 0) execvp("true", words);
    if (strcmp(action, "execlp") == 0) execlp("true", "true", (char*)NULL);
    if (strcmp(action, "fexecve") == 0) fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), words, environ);
    if (strcmp(action, "execveat") == 0) execveat(open("/bin", O_PATH | O_CLOEXEC), "true", words, environ, 0);
    if (strcmp(action, "posix_spawnp") == 0) _exit(posix_spawnp(&child, "true", NULL, NULL, words, environ));
    if (strcmp(action, "system") == 0) _exit(system("true"));
    _exit(failed);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    action = argv[1];
    // Shared memory: the parent reads the marks of the child, or of the program that the child becomes.
    unsigned char* stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) return 3;
    memset(stack, paint, size);
    multiply();
    const pid_t child = fork();
    if (child == 0) {
        multiply();
        const stack_t alternate = {.ss_sp = stack, .ss_size = size};
        struct sigaction handler = {.sa_handler = act, .sa_flags = SA_ONSTACK};
        if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &handler, NULL) != 0) _exit(failed);
        raise(SIGUSR1);
        _exit(failed);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 4;
    int untouched = 0;
    while (untouched < size && stack[untouched] == paint) ++untouched;
    printf("%d\n", size - untouched);
    return 0;
}
