// Looks up BLAS names in every way that <dlfcn.h> has, and prints the visible part of each answer.
//
//   lookups LIBRARY...    opens each as RTLD_LOCAL

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "client.h"

static void say_error(const char* what) {
    const char* error = dlerror();
    // Leaves out the object, with which the message begins. It is the caller of dlsym, under the shim the shim
    // itself.
    const char* problem = error ? strstr(error, ": ") : NULL;
    printf("%s: dlerror%s\n", what, problem ? problem : ": (none)");
}

static void say_error_of_handle(const char* what) {
    const char* error = dlerror();
    printf("%s: dlerror: %s\n", what, error ? error : "(none)");
}

static float product(void* address) {
    sgemm_function* multiply;
    *(void**)&multiply = address;
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    multiply("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

static void try_product(const char* what, void* address) {
    if (address)
        printf("%s: %g\n", what, product(address));
    else
        printf("%s: not found\n", what);
}

int main(int argc, char** argv) {
    void* pointers[16];
    void* handles[16];
    const int count = argc - 1;
    if (count > 16) return 2;
    for (int i = 0; i < count; ++i) {
        handles[i] = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);
        if (!handles[i]) return 1;
        pointers[i] = dlsym(handles[i], "sgemm_");
        try_product("handle", pointers[i]);
    }
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < i; ++j)
            printf("%d and %d: %s\n", j, i, pointers[i] == pointers[j] ? "same" : "different");
        printf("again %d: %s\n", i, dlsym(handles[i], "sgemm_") == pointers[i] ? "same" : "different");
        printf("and again: %g\n", product(pointers[i]));
    }

    try_product("default", dlsym(RTLD_DEFAULT, "sgemm_"));
    say_error("default");
    try_product("next", dlsym(RTLD_NEXT, "sgemm_"));
    say_error("next");
    if (count > 0) {
        try_product("no such version", dlvsym(handles[0], "sgemm_", "NO_SUCH_VERSION"));
        say_error_of_handle("no such version");
        printf("nobody's batch: %s\n", dlsym(handles[0], "csyrk_batch_strided_64_") ? "found" : "not found");
        say_error_of_handle("nobody's batch");
        // A product between a failed look-up and dlerror() must not lose the message.
        dlsym(handles[0], "no_such_function");
        product(pointers[0]);
        say_error_of_handle("after a product");
        say_error("and once more");
        printf("not a BLAS name: %s\n", dlsym(handles[0], "isamax_") ? "found" : "not found");
        dlerror();
        dlsym(handles[0], "sgemm_");
        say_error("after success");
    }
    printf("puts: %s\n", dlsym(RTLD_DEFAULT, "puts") == (void*)&puts ? "the one we link with" : "another");
    printf("malloc: %s\n", dlsym(RTLD_NEXT, "malloc") ? "found" : "not found");
    printf("nobody's name: %s\n", dlsym(RTLD_DEFAULT, "csyrk_batch_strided_64_") ? "found" : "not found");
    say_error("nobody's name");
    return 0;
}
