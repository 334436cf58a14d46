// Main program of the clients that client.h describes.
//
//     linked_client PART...
//     dlopen_client LIBCUBLAS LIBCUBLASLT PART...
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#ifdef LINKED
static const int files = 0;

Function function_named(const char* name) {
    Function function = NULL;
    *(void**)&function = dlsym(RTLD_DEFAULT, name);
    return function;
}

static void open_libraries(char** paths) { (void)paths; }
#else
static const int files = 2;
static void* libraries[2];

Function function_named(const char* name) {
    Function function = NULL;
    for (int i = 0; i < files && function == NULL; ++i) *(void**)&function = dlsym(libraries[i], name);
    return function;
}

static void open_libraries(char** paths) {
    for (int i = 0; i < files; ++i) {
        libraries[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (libraries[i] == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
    }
}
#endif

void report(const char* name, int status) { printf("%s %d\n", name, status); }

static int print_if_cuda(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size, (void)data;
    const char* slash = strrchr(object->dlpi_name, '/');
    const char* name = slash == NULL ? object->dlpi_name : slash + 1;
    if (strncmp(name, "libcu", 5) == 0 || strncmp(name, "libnv", 5) == 0) printf("loaded: %s\n", name);
    return 0;
}

int main(int count, char** arguments) {
    static const struct {
        const char* name;
        void (*call)(void);
    } parts[] = {{"products", call_products}, {"legacy", call_legacy_products},
                 {"xt", call_xt_products},    {"state", call_state_functions},
                 {"lt", call_lt_products},    {"descriptors", call_lt_descriptors}};
    const size_t part_count = sizeof parts / sizeof *parts;
    if (count < 2 + files) {
        fprintf(stderr, "%s: which library, and which part?\n", arguments[0]);
        return 2;
    }
    open_libraries(arguments + 1);
    dl_iterate_phdr(print_if_cuda, NULL);
    for (int i = 1 + files; i < count; ++i) {
        size_t part = 0;
        while (part < part_count && strcmp(arguments[i], parts[part].name) != 0) ++part;
        if (part == part_count) {
            fprintf(stderr, "%s: there is no part %s\n", arguments[0], arguments[i]);
            return 2;
        }
        printf("== %s\n", arguments[i]);
        parts[part].call();
    }
    dl_iterate_phdr(print_if_cuda, NULL);
    return 0;
}
