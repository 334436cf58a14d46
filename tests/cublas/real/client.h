// A program that asks a real cuBLAS everything that it answers without a device, and prints each status and each byte
// that comes back. test_real_libraries.py compares the text with the shim and without it.
//
// Built twice: linked with the libraries (LINKED), and opening those of its command line.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef void (*Function)(void);

/// A function by name, in what was opened, or as a linked program asks the loader; NULL where nobody has it.
Function function_named(const char* name);

void report(const char* name, int status);

/// Calls a function of any of the libraries by its name and reports the status that it returns. A linked program
/// calls it as programs do; CALL_IF_THERE is for functions that not all of the libraries have.
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

// The parts of the conversation, each in a file of its own.
void call_products(void);
void call_legacy_products(void);
void call_xt_products(void);
void call_state_functions(void);
void call_lt_products(void);
void call_lt_descriptors(void);
