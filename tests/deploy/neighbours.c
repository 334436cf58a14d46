// Stand-ins for libraries that HPC sites preload, and a program that they watch. Each is compiled from this file:
//
//   -DTRACKER    as XALT: starts a program of its own when the process starts and when it ends
//   -DIO         as Darshan: counts opened files, and wraps MPI_Init and MPI_Finalize
//   -DPROFILER   as a library wrapper of Score-P or TAU: counts calls of cblas_sgemm and sgemm_
//   -DPROGRAM    multiplies three times, writes a file, and starts a program; with -DMPI, it first calls MPI_Init,
//                and MPI_Finalize at the end
//
// Each library writes one line to the file that the variable NEIGHBOURS names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char* format, ...) __attribute__((unused));
static void say(const char* format, ...) {
    FILE* file = getenv("NEIGHBOURS") ? fopen(getenv("NEIGHBOURS"), "a") : NULL;
    if (!file) return;
    va_list values;
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fclose(file);
}

#ifdef TRACKER
static int is_watched(void) {
    extern char* program_invocation_short_name;
    return strcmp(program_invocation_short_name, "program") == 0;
}
__attribute__((constructor)) static void begin(void) {
    if (is_watched() && system("LD_PRELOAD= /bin/true") == 0) say("tracker: start\n");
}
__attribute__((destructor)) static void end(void) {
    if (is_watched() && system("LD_PRELOAD= /bin/true") == 0) say("tracker: end\n");
}
#endif

#ifdef IO
static int recordings, others, initialised, finalised;
int open(const char* path, int flags, ...) {
    static int (*next)(const char*, int, ...);
    if (!next) next = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
    va_list values;
    va_start(values, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(values, mode_t) : 0;
    va_end(values);
    if (strstr(path, ".fp32rec")) ++recordings;
    if (strstr(path, "output.txt")) ++others;
    return next(path, flags, mode);
}
int MPI_Init(int* count, char*** words) {
    initialised = 1;
    return ((int (*)(int*, char***))dlsym(RTLD_NEXT, "MPI_Init"))(count, words);
}
int MPI_Finalize(void) {
    finalised = 1;
    return ((int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize"))();
}
__attribute__((destructor)) static void end(void) {
    if (others) say("io: output %d, recordings %d, MPI %d%d\n", others, recordings, initialised, finalised);
}
#endif

#ifdef PROFILER
static int calls;
#define ARGUMENTS_C                                                                                                \
    int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, \
        float beta, float *c, int ldc
void cblas_sgemm(ARGUMENTS_C) {
    static void (*next)(ARGUMENTS_C);
    if (!next) next = (void (*)(ARGUMENTS_C))dlsym(RTLD_NEXT, "cblas_sgemm");
    ++calls;
    next(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
__attribute__((destructor)) static void end(void) {
    if (calls) say("profiler: %d\n", calls);
}
#endif

#ifdef PROGRAM
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
#ifdef MPI
int MPI_Init(int*, char***);
int MPI_Finalize(void);
#endif
int main(void) {
#ifdef MPI
    MPI_Init(NULL, NULL);
#endif
    enum { n = 64 };
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; ++i) a[i] = b[i] = 1 + 0x1p-12F;  // TF32 rounds it to 1
    for (int i = 0; i < 3; ++i) cblas_sgemm(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
    const int file = open("output.txt", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    dprintf(file, "%.9g\n", c[0]);
    close(file);
    if (system("/bin/true") != 0) return 1;
    printf("%.9g\n", c[0]);
#ifdef MPI
    MPI_Finalize();
#endif
    return 0;
}
#endif
