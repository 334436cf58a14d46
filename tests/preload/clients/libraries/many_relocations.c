// A library with pages of relocations that it can put out of reach. Its run() multiplies.

#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../client.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

// Addresses that the loader has to look up, each by a relocation: some 96 KiB of them.
#define FOUR(x) x, x, x, x
int (*const volatile addresses[])(void) = {FOUR(FOUR(FOUR(FOUR(FOUR(FOUR(getpagesize))))))};

/// Takes the right to read the whole pages of relocations. Returns the number of these pages.
long hide_relocations(void) {
    uintptr_t begin = 0, end = 0;
    for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_RELA) begin = entry->d_un.d_ptr;
        if (entry->d_tag == DT_RELASZ) end = entry->d_un.d_val;
    }
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    end = (begin + end) & ~(page - 1);
    begin = (begin + page - 1) & ~(page - 1);
    if (end <= begin || mprotect((void*)begin, end - begin, PROT_NONE) != 0) return 0;
    return (long)((end - begin) / page);
}

void run(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    printf("%g of %d\n", c, addresses[17]() > 0);
}
