// Calls every function of a real cuBLAS that works without a device, and prints each status and each byte of the
// answers. test_real_libraries.py compares the output with and without the shim.
//
// Built twice: linked with the libraries (LINKED), and opening the libraries that its command line names.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef void (*Function)(void);

/// Returns a function by its name, from the opened libraries, or in a linked program from the loader; NULL: not
/// found.
Function function_named(const char* name);

void report(const char* name, int status);

/// Calls a function of one of the libraries by its name and prints the status that it returns. A linked program calls
/// it directly, as programs do. CALL_IF_THERE is for functions that some of the libraries do not have.
#define CALL_IF_THERE(name, ...)                                               \
    do {                                                                       \
        __typeof__(&name) function = (__typeof__(&name))function_named(#name); \
        if (function == NULL)                                                  \
            printf("%s is not there\n", #name);                                \
        else                                                                   \
            report(#name, function(__VA_ARGS__));                              \
    } while (0)
#ifdef LINKED
#define CALL(name, ...) report(#name, name(__VA_ARGS__))
#else
#define CALL(name, ...) CALL_IF_THERE(name, __VA_ARGS__)
#endif

// The parts of the test, each in a separate file.
void call_products(void);
void call_legacy_products(void);
void call_xt_products(void);
void call_state_functions(void);
void call_lt_products(void);
void call_lt_descriptors(void);
