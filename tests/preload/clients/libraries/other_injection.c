// An NVTX injection library that is not the shim. It prints that it was called, and registers nothing.
#include <stdio.h>

#ifdef PRELOADED
#define NAME InitializeInjectionNvtx2Preinject
#else
#define NAME InitializeInjectionNvtx2
#endif

int NAME(const void* (*get_export_table)(unsigned)) {
    puts(get_export_table(1) != NULL ? "other injection" : "no table");
    fflush(stdout);
    return 1;
}
