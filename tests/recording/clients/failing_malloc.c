// A preloaded malloc that runs out of memory for ever, either from allocation number FAIL_FROM on (an environment
// variable; 1: from the first), or from the moment that a program chooses.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);

static atomic_long left = -1;  // number of allocations that still succeed; negative: all

/// Lets the next `number - 1` allocations succeed, and none after them.
void fail_allocations_from(long number) { left = number - 1; }

/// True once an allocation has failed.
static atomic_int has_failed;
int allocations_have_failed(void) { return has_failed; }

__attribute__((constructor)) static void begin(void) {
    const char* number = getenv("FAIL_FROM");
    if (number != NULL) fail_allocations_from(atol(number));
}

static int fails(void) {
    long now = left;
    while (now > 0)
        if (atomic_compare_exchange_weak(&left, &now, now - 1)) return 0;
    if (now < 0) return 0;
    has_failed = 1;
    errno = ENOMEM;
    return 1;
}

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
