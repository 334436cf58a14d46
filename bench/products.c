// Calls functions of BLAS with given sizes, and prints the time of one call, in nanoseconds, for each:
//
//   products cpu|wall SECONDS [ROUTINE]SIZES[:TRANS][*COUNT] ...
//
// ROUTINE is a type (s, d, c or z; default s) and a name (default gemm): c64x64x64 is a cgemm. SIZES are
//
//   gemm MxNxK    symm trsm trmm MxN, side left    syrk NxK    gemv ger MxN    symv trmv N    dot asum nrm2 N
//
// For complex types, symv means hemv, and there is no dot, asum or nrm2. TRANS is N (default) or T for each factor.
// COUNT calls with different matrices follow each other, as numpy and PyTorch multiply a stack of matrices, and their
// times are added. The printed time is the shortest of all repetitions within SECONDS. `cpu` is the processor time of
// all threads of the process, which other programs do not affect; with several threads use `wall`.
//
// bench/performance.py runs this program with fp32shim and without.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static clockid_t used_clock;

static double now(void) {
    struct timespec time;
    clock_gettime(used_clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct Call {
    char type;
    char trans[3];
    int sizes[3], count;
    size_t strides[3];  // bytes from an operand of one call to that of the next
    char* operands[3];
};

static size_t bytes_of(char type) { return type == 's' ? 4 : type == 'z' ? 16 : 8; }

// ---- routines: how one call is made -----------------------------------------------------------------------------

static const float one_s[2] = {1, 0}, zero_s[2] = {0, 0};
static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};
static const void* one(const struct Call* p) { return strchr("sc", p->type) != NULL ? (const void*)one_s : one_d; }
static const void* zero(const struct Call* p) { return strchr("sc", p->type) != NULL ? (const void*)zero_s : zero_d; }
static const int next = 1;

#define FOR_TYPES(name, parameters)          \
    void s##name##_ parameters;              \
    void d##name##_ parameters;              \
    void c##name##_ parameters;              \
    void z##name##_ parameters;              \
    typedef void name##_function parameters; \
    static name##_function* const name[] = {s##name##_, d##name##_, c##name##_, z##name##_}

typedef const char* Letter;
typedef const int* Int;
typedef const void* Factor;
FOR_TYPES(gemm, (Letter, Letter, Int, Int, Int, Factor, Factor, Int, Factor, Int, Factor, void*, Int));
FOR_TYPES(symm, (Letter, Letter, Int, Int, Factor, Factor, Int, Factor, Int, Factor, void*, Int));
FOR_TYPES(syrk, (Letter, Letter, Int, Int, Factor, Factor, Int, Factor, void*, Int));
FOR_TYPES(trmm, (Letter, Letter, Letter, Letter, Int, Int, Factor, Factor, Int, void*, Int));
FOR_TYPES(trsm, (Letter, Letter, Letter, Letter, Int, Int, Factor, Factor, Int, void*, Int));
FOR_TYPES(gemv, (Letter, Int, Int, Factor, Factor, Int, Factor, Int, Factor, void*, Int));
FOR_TYPES(trmv, (Letter, Letter, Letter, Int, Factor, Int, void*, Int));
typedef void symv_function(Letter, Int, Factor, Factor, Int, Factor, Int, Factor, void*, Int);
symv_function ssymv_, dsymv_, chemv_, zhemv_;
static symv_function* const symv[] = {ssymv_, dsymv_, chemv_, zhemv_};
typedef void ger_function(Int, Int, Factor, Factor, Int, Factor, Int, void*, Int);
ger_function sger_, dger_, cgeru_, zgeru_;
static ger_function* const ger[] = {sger_, dger_, cgeru_, zgeru_};
float sdot_(Int, Factor, Int, Factor, Int), sasum_(Int, Factor, Int), snrm2_(Int, Factor, Int);
double ddot_(Int, Factor, Int, Factor, Int), dasum_(Int, Factor, Int), dnrm2_(Int, Factor, Int);
static volatile double number;

static int index_of(char type) { return (int)(strchr("sdcz", type) - "sdcz"); }
#define RUN(name, ...) \
    static void run_##name(const struct Call* p, void* a, void* b, void* c) { __VA_ARGS__; }
#define OF_TYPE(name) name[index_of(p->type)]
#define M (&p->sizes[0])
#define N (&p->sizes[1])
#define K (&p->sizes[2])
RUN(gemm, OF_TYPE(gemm)(&p->trans[0], &p->trans[1], M, N, K, one(p), a, p->trans[0] == 'N' ? M : K, b,
                        p->trans[1] == 'N' ? K : N, zero(p), c, M))
RUN(symm, OF_TYPE(symm)("L", "L", M, N, one(p), a, M, b, M, zero(p), c, M))
RUN(syrk, OF_TYPE(syrk)("L", p->trans, M, N, one(p), a, p->trans[0] == 'N' ? M : N, zero(p), c, M); (void)b)
RUN(trmm, OF_TYPE(trmm)("L", "L", p->trans, "N", M, N, one(p), a, M, c, M); (void)b)
RUN(trsm, OF_TYPE(trsm)("L", "L", p->trans, "N", M, N, one(p), a, M, c, M); (void)b)
RUN(gemv, OF_TYPE(gemv)(p->trans, M, N, one(p), a, M, b, &next, zero(p), c, &next))
RUN(trmv, OF_TYPE(trmv)("L", p->trans, "N", M, a, M, c, &next); (void)b)
RUN(symv, OF_TYPE(symv)("L", M, one(p), a, M, b, &next, zero(p), c, &next))
RUN(ger, OF_TYPE(ger)(M, N, one(p), a, &next, b, &next, c, M))
RUN(dot, number = p->type == 's' ? (double)sdot_(M, a, &next, b, &next) : ddot_(M, a, &next, b, &next); (void)c)
RUN(asum, number = p->type == 's' ? (double)sasum_(M, a, &next) : dasum_(M, a, &next); (void)b; (void)c)
RUN(nrm2, number = p->type == 's' ? (double)snrm2_(M, a, &next) : dnrm2_(M, a, &next); (void)b; (void)c)

// The routines. `operands` has the size of each operand in letters: `mk` is M times K numbers, and `1` means that the
// routine does not use the operand.
static const struct Routine {
    const char* name;
    const char* operands[3];
    void (*run)(const struct Call*, void*, void*, void*);
} routines[] = {
    {"gemm", {"mk", "kn", "mn"}, run_gemm}, {"symm", {"mm", "mn", "mn"}, run_symm},
    {"syrk", {"mn", "1", "mm"}, run_syrk},  {"trmm", {"mm", "1", "mn"}, run_trmm},
    {"trsm", {"mm", "1", "mn"}, run_trsm},  {"gemv", {"mn", "mn", "mn"}, run_gemv},
    {"trmv", {"mm", "1", "m"}, run_trmv},   {"symv", {"mm", "m", "m"}, run_symv},
    {"ger", {"m", "n", "mn"}, run_ger},     {"dot", {"m", "m", "1"}, run_dot},
    {"asum", {"m", "1", "1"}, run_asum},    {"nrm2", {"m", "1", "1"}, run_nrm2},
};

static size_t numbers(const struct Call* p, const char* letters) {
    size_t product = 1;
    for (; *letters != '\0'; ++letters)
        product *= *letters == '1' ? 1 : (size_t)p->sizes[*letters == 'm' ? 0 : *letters == 'n' ? 1 : 2];
    return product;
}

// ---- measuring --------------------------------------------------------------------------------------------------

// Random numbers from -0.5 to 0.5. A matrix that triangular routines read is nearly the identity, so that they can
// multiply their own results over and over.
static void fill(void* operand, size_t count, char type, int triangular, int size) {
    const size_t parts = strchr("cz", type) != NULL ? 2 : 1;
    static unsigned random = 1;
    for (size_t i = 0; i < count * parts; ++i) {
        random = random * 1664525U + 1013904223U;
        double value = (double)random / 4294967296.0 - 0.5;
        if (triangular) value = i % parts != 0 ? 0 : i / parts % (size_t)(size + 1) == 0 ? 1 : value * 1e-5;
        if (bytes_of(type) / parts == 4)
            ((float*)operand)[i] = (float)value;
        else
            ((double*)operand)[i] = value;
    }
}

static void call(const struct Call* p, const struct Routine* routine) {
    for (size_t i = 0; i < (size_t)p->count; ++i)
        routine->run(p, p->operands[0] + i * p->strides[0], p->operands[1] + i * p->strides[1],
                     p->operands[2] + i * p->strides[2]);
}

static double seconds_of_one(const struct Call* p, const struct Routine* routine, double seconds) {
    // Makes an untimed call, because the first call of a library may take a tenth of a second.
    if ((double)p->sizes[0] * p->sizes[1] * p->sizes[2] < 1e8) call(p, routine);
    double best = 1e300;
    long repeats = 1;
    for (const double begin = now(); now() - begin < seconds;) {
        const double start = now();
        for (long repeat = 0; repeat < repeats; ++repeat) call(p, routine);
        const double time = now() - start;
        if (time / (double)repeats < best) best = time / (double)repeats;
        if (time < seconds / 50) repeats *= 2;
    }
    return best;
}

// Reads a call such as c64x64x64:TN*10 into `p`. Returns its routine, or NULL if there is no such call.
static const struct Routine* read_call(const char* text, struct Call* p) {
    *p = (struct Call){.type = 's', .trans = "NN", .sizes = {1, 1, 1}, .count = 1};
    const struct Routine* found = NULL;
    // First reads the text as a name without a type, because names such as symm and dot begin with the letter of a
    // type.
    for (int has_type = 0; has_type < 2 && found == NULL; ++has_type) {
        if (has_type && (*text == '\0' || strchr("sdcz", *text) == NULL)) break;
        if (has_type) p->type = *text++;
        if (isdigit((unsigned char)*text)) found = &routines[0];
        for (size_t i = 0; i < sizeof routines / sizeof *routines && found == NULL; ++i)
            if (strncmp(routines[i].name, text, strlen(routines[i].name)) == 0) {
                found = &routines[i];
                text += strlen(found->name);
            }
    }
    if (found == NULL || sscanf(text, "%dx%dx%d", &p->sizes[0], &p->sizes[1], &p->sizes[2]) < 1) return NULL;
    if (strchr(text, ':') != NULL) sscanf(strchr(text, ':'), ":%2[NT]", p->trans);
    if (strchr(text, '*') != NULL) p->count = atoi(strchr(text, '*') + 1);
    return found;
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    used_clock = strcmp(argv[1], "wall") == 0 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    const double seconds = atof(argv[2]);
    // Threads that OpenBLAS has just started spin for a tenth of a second, and take a core from other threads.
    if (used_clock == CLOCK_MONOTONIC) nanosleep(&(struct timespec){0, 300000000}, NULL);
    for (int i = 3; i < argc; ++i) {
        struct Call p;
        const struct Routine* const routine = read_call(argv[i], &p);
        if (routine == NULL) return 2;
        for (int operand = 0; operand < 3; ++operand) {
            const size_t count = numbers(&p, routine->operands[operand]);
            p.strides[operand] = count * bytes_of(p.type);
            // Matrices are aligned, because their offset within a cache line changes times by a sixth.
            p.operands[operand] = aligned_alloc(64, (p.strides[operand] * (size_t)p.count + 63) / 64 * 64);
            const int triangular = operand == 0 && strncmp(routine->name, "tr", 2) == 0;
            fill(p.operands[operand], count * (size_t)p.count, p.type, triangular, p.sizes[0]);
        }
        printf("%s %.1f\n", argv[i], seconds_of_one(&p, routine, seconds) * 1e9);
        for (int operand = 0; operand < 3; ++operand) free(p.operands[operand]);
    }
    return 0;
}
