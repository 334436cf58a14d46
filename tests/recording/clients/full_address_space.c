// Fills its address space (RLIMIT_AS) after its first product. Then it multiplies at 4096 further places and
// registers 5000 strings with NVTX. Prints how many products were right, and how many strings it got.
//
//   full_address_space         leaves space: no limit
//   full_address_space none    sets the limit to the current size
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../preload/clients/client.h"

static const blas_int two = 2;
static const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, alpha = 1, beta = 0;
static float c[4];
static int right_ones;

#define CALL                                                                      \
    c[0] = c[3] = 0;                                                              \
    sgemm_("N", "N", &two, &two, &two, &alpha, a, &two, b, &two, &beta, c, &two); \
    right_ones += c[0] == 23 && c[1] == 34 && c[2] == 31 && c[3] == 46;
#define CALLS_4 CALL CALL CALL CALL
#define CALLS_16 CALLS_4 CALLS_4 CALLS_4 CALLS_4
#define CALLS_64 CALLS_16 CALLS_16 CALLS_16 CALLS_16
#define CALLS_256 CALLS_64 CALLS_64 CALLS_64 CALLS_64
#define CALLS_1024 CALLS_256 CALLS_256 CALLS_256 CALLS_256

// NVTX's tables of functions, as far as this program needs them (nvtxTypes.h).
typedef void (*Function)(void);
static void nothing(void) {}
static Function core2[32];
static Function* core2_slots[32];
static int module_functions(int module, Function*** slots, unsigned* size) {
    *slots = core2_slots;
    *size = 32;
    return module == 5;
}
static const struct {
    size_t size;
    int (*functions)(int module, Function*** slots, unsigned* size);
} callbacks = {sizeof callbacks, module_functions};
static const void* export_table(uint32_t number) { return number == 1 ? &callbacks : NULL; }

static void limit_space(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) _exit(2);
    fclose(file);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    const struct rlimit both = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &both) != 0) _exit(2);
}

static int named_strings(void) {
    typedef const void* Register(const void* domain, const char* text);
    int named = 0;
    for (int i = 0; core2[10] != nothing && i < 5000; ++i) {
        char text[32];
        snprintf(text, sizeof text, "string number %d", i);
        named += ((Register*)core2[10])(NULL, text) != NULL;
    }
    return named;
}

int main(int argc, char** argv) {
    for (int i = 0; i < 32; ++i) core2_slots[i] = &core2[i], core2[i] = nothing;
    int (*initialize)(const void* (*)(uint32_t)) = 0;
    *(void**)&initialize = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
    if (initialize != 0) initialize(export_table);
    CALL if (argc > 1 && strcmp(argv[1], "none") == 0) limit_space();
    for (int round = 0; round < 2; ++round) {
        CALLS_1024 CALLS_1024 CALLS_1024 CALLS_1024
    }
    const int named = named_strings();
    CALL printf("%d products were right\n", right_ones);
    fprintf(stderr, "%d strings\n", named);
    return 0;
}
