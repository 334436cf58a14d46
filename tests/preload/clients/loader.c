// Opens, runs and closes libraries in the order of its arguments. Knows nothing of BLAS.
//
//   loader WORD...
//     local=FILE, global=FILE, deepbind=FILE   dlopen it
//     run=FILE     call its run()
//     where=FILE   print the address at which it is loaded
//     close=FILE   dlclose it
// A file must be opened before it is run, located or closed. At most 16 are open at a time.

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { most = 16 };
static struct {
    const char* file;
    void* handle;
} opened[most];

static int open_library(const char* file, int flags) {
    for (int i = 0; i < most; ++i) {
        if (opened[i].handle) continue;
        opened[i].file = file;
        opened[i].handle = dlopen(file, RTLD_NOW | flags);
        if (!opened[i].handle) fprintf(stderr, "%s\n", dlerror());
        return opened[i].handle != NULL;
    }
    return 0;
}

static int act(const char* verb, const char* file) {
    if (strcmp(verb, "local") == 0) return open_library(file, RTLD_LOCAL);
    if (strcmp(verb, "global") == 0) return open_library(file, RTLD_GLOBAL);
    if (strcmp(verb, "deepbind") == 0) return open_library(file, RTLD_LOCAL | RTLD_DEEPBIND);
    for (int i = 0; i < most; ++i) {
        if (!opened[i].handle || strcmp(opened[i].file, file) != 0) continue;
        if (strcmp(verb, "run") == 0) {
            void (*run)(void);
            *(void**)&run = dlsym(opened[i].handle, "run");
            if (run) run();
            return run != NULL;
        }
        if (strcmp(verb, "where") == 0) {
            printf("at %#lx\n", (unsigned long)((struct link_map*)opened[i].handle)->l_addr);
            return 1;
        }
        if (strcmp(verb, "close") == 0) {
            const int status = dlclose(opened[i].handle);
            opened[i].handle = NULL;
            return status == 0;
        }
    }
    return 0;
}

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        char* equals = strchr(argv[i], '=');
        if (!equals) return 2;
        *equals = '\0';
        if (!act(argv[i], equals + 1)) {
            fprintf(stderr, "cannot %s %s\n", argv[i], equals + 1);
            return 1;
        }
    }
    return 0;
}
