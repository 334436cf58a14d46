/* Scopes in C: the program names the parts of its work, and sets the precision that each may run at. It looks up
 * the functions, so it builds and runs with or without fp32shim. scopes.py and scopes.f90 are the same program. */
#define _GNU_SOURCE /* declares RTLD_DEFAULT */
#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

#include "fp32shim/fp32shim.h"

enum { n = 64 };

/* Pointers to the functions; null if fp32shim is not loaded. */
static struct {
    int (*abi_version)(void);
    int (*get_precision)(char*, size_t, char*, size_t);
    int (*get_floor)(char*, size_t);
    int (*push_scope)(const char*, const char*, const char*);
    int (*pop_scope)(void);
    const char* (*status_string)(int);
} shim;

/* ISO C does not convert an object pointer to a function pointer. POSIX allows this assignment instead. */
static void look_up(const char* name, void* function) { *(void**)function = dlsym(RTLD_DEFAULT, name); }

static void find_shim(void) {
    look_up("fp32shim_abi_version", &shim.abi_version);
    if (!shim.abi_version) {
        printf("fp32shim is not loaded: scopes do nothing\n");
        return;
    }
    if (shim.abi_version() != FP32SHIM_ABI_VERSION) {
        printf("fp32shim has ABI %d, this program knows %d: scopes do nothing\n", shim.abi_version(),
               FP32SHIM_ABI_VERSION);
        return;
    }
    look_up("fp32shim_get_precision", &shim.get_precision);
    look_up("fp32shim_get_floor", &shim.get_floor);
    look_up("fp32shim_push_scope", &shim.push_scope);
    look_up("fp32shim_pop_scope", &shim.pop_scope);
    look_up("fp32shim_status_string", &shim.status_string);
}

/* Opens a scope. Returns 1 if it was opened and must be closed. */
static int enter(const char* label, const char* precision, const char* floor) {
    if (!shim.push_scope) return 0;
    const int status = shim.push_scope(label, precision, floor);
    if (status != FP32SHIM_OK) fprintf(stderr, "scope %s: %s\n", label, shim.status_string(status));
    return status == FP32SHIM_OK;
}

static void leave(int entered) {
    if (entered) shim.pop_scope();
}

/* Multiplies fixed numbers once, and prints the difference from the same product in double precision. */
static void multiply(const char* part) {
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; ++i) {
        a[i] = sinf((float)i);
        b[i] = cosf((float)i);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);

    double error = 0;
    double size = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double exact = 0;
            for (int k = 0; k < n; ++k) exact += (double)a[i * n + k] * b[k * n + j];
            error += (c[i * n + j] - exact) * (c[i * n + j] - exact);
            size += exact * exact;
        }
    }

    char precision[FP32SHIM_NAME_SIZE] = "-";
    char source[FP32SHIM_NAME_SIZE] = "-";
    char floor[FP32SHIM_NAME_SIZE] = "-";
    if (shim.get_precision) shim.get_precision(precision, sizeof precision, source, sizeof source);
    if (shim.get_floor) shim.get_floor(floor, sizeof floor);
    printf("%-24s  asked %-8s by %-12s  floor %-5s  relative error %.1e\n", part, precision, source, floor,
           sqrt(error / size));
}

int main(void) {
    find_shim();
    multiply("(no scope)");

    const int model = enter("model", "high", NULL);
    multiply("model");

    const int solver = enter("solver", NULL, "fp32"); /* the floor overrides the scope around it */
    multiply("model/solver");
    leave(solver);

    leave(model);
    return 0;
}
