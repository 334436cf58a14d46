// A program that calls the functions of wide_arguments.c. Its arguments fill the widest registers, or only their
// lower quarter or half.

#include "libraries/wide_arguments.h"

#include <stdio.h>

static void print(const int* values, int count) {
    for (int i = 0; i < count; ++i) printf(" %d", values[i]);
    printf("\n");
}

/// Writes `seed` and the following numbers into the first elements, and zero into the others.
static void fill(int* values, int count, int used, int seed) {
    for (int i = 0; i < count; ++i) values[i] = i < used ? seed + i : 0;
}

__attribute__((target("avx2"), noinline)) static void call_8(int used) {
    int_8 x[8], result;
    for (int i = 0; i < 8; ++i) fill((int*)&x[i], 8, used, 100 * i + 1);
    result = sgemm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
    print((const int*)&result, 8);
}

__attribute__((target("avx512f"), noinline)) static void call_16(int used) {
    int_16 x[8], result;
    for (int i = 0; i < 8; ++i) fill((int*)&x[i], 16, used, 100 * i + 1);
    result = cgemm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
    print((const int*)&result, 16);
}

/// Makes the first call, for which the shim finds the call site, and a later one.
int main(int argc, char** argv) {
    (void)argv;
    // Each number of elements is tested in a separate process, where it comes first.
    const int used = argc > 1 ? 4 << (argc - 1) : 4;
    for (int i = 0; i < 2; ++i) {
        if (__builtin_cpu_supports("avx2") && used <= 8) call_8(used);
        if (__builtin_cpu_supports("avx512f")) call_16(used);
    }
    return 0;
}
