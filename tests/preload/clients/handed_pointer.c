// Multiplies through pointers that libraries return (wrapper.c). This program does not import the name, and no
// library in its scope has it. scikit-learn and jaxlib get their pointers from scipy in this way.
//
//   handed_pointer together|in-turn[:COUNT] LIBRARY...
//
// Opens all libraries before the first product (together), or each before its own products (in-turn). Each makes
// COUNT products (1).

#include <dlfcn.h>
#include <stdlib.h>

#include "client.h"

static sgemm_function* pointer_of(const char* file) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    sgemm_function* (*pointer)(void);
    *(void**)&pointer = dlsym(library, "sgemm_pointer");
    return pointer();
}

int main(int argc, char** argv) {
    sgemm_function* pointers[8];
    if (argc < 3 || argc > 9) return 2;
    const int in_turn = strncmp(argv[1], "in-turn", 7) == 0;
    const char* count = strchr(argv[1], ':');
    for (int i = 2; i < argc && !in_turn; ++i) pointers[i - 2] = pointer_of(argv[i]);
    for (int i = 2; i < argc; ++i) {
        if (in_turn) pointers[i - 2] = pointer_of(argv[i]);
        const blas_int one = 1;
        const float a = 2, b = 3, alpha = 1, beta = 0;
        float c = 0;
        for (long left = count == NULL ? 1 : atol(count + 1); left > 0; --left)
            pointers[i - 2]("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
        printf("%g\n", c);
    }
    return 0;
}
