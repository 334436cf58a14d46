// Makes the process's first product on a stack of 16 KB that ends at a page without access. glibc requires 128 KB per
// thread on this processor, but a coroutine may have less.
//
//   small_context direct | lookup LIBRARY    lookup: finds the function by dlsym, also on that stack

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../clients/client.h"

enum { stack_size = 16 << 10 };

static ucontext_t outside, inside;
static void* library;
static float c;

static void multiply(void) {
    sgemm_function* product = &sgemm_;
    if (library) *(void**)&product = dlsym(library, "sgemm_");
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    product("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
}

int main(int argc, char** argv) {
    if (argc == 3) library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (argc != 2 && !library) return 2;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* pages = mmap(NULL, stack_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, page, PROT_NONE) != 0) return 3;
    getcontext(&inside);
    inside.uc_stack.ss_sp = pages + page;
    inside.uc_stack.ss_size = stack_size;
    inside.uc_link = &outside;
    makecontext(&inside, multiply, 0);
    swapcontext(&outside, &inside);

    size_t untouched = 0;
    while (untouched < stack_size && pages[page + untouched] == 0) ++untouched;
    fprintf(stderr, "%zu bytes of stack were used\n", stack_size - untouched);
    printf("%g\n", c);
    return 0;
}
