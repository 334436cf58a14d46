// Calls every product with a vector in every form of names that a library has, and prints a line for each call with a
// hash of what it computed:
//     vectors LIBRARY [intel] [invalid] [FUNCTION]
// intel: functions of Fortran return a complex number through a pointer. invalid: with arguments that are not valid,
// too. FUNCTION: only the functions whose base name this is, such as ddot.
//
// Integers are passed as 64-bit numbers, which libraries with 32-bit integers can read too.
#include <complex.h>
#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t Int;
typedef const Int* IntRef;

enum { matrix_size = 9, vector_size = 128, hidden = 1 };

static void* library;
static int is_intel, has_invalid;
static const char* only;

static const char* const forms[] = {"%s_",
                                    "%s",
                                    "^%s",
                                    "cblas_%s",
                                    "%s_64_",
                                    "%s_64",
                                    "^%s_64",
                                    "cblas_%s_64",
                                    "cblas_%s64_",
                                    "scipy_%s_",
                                    "scipy_cblas_%s",
                                    "scipy_%s_64_",
                                    "scipy_cblas_%s64_"};

/// Finds a function by its base name in a form of names, whose text is stored in `name`.
static void* find(const char* form, const char* base, char* name) {
    if (only != NULL && strcmp(only, base) != 0) return NULL;
    const int is_upper = form[0] == '^';
    snprintf(name, 64, form + is_upper, base);
    for (char* letter = name; is_upper && *letter != '\0'; ++letter) *letter = (char)toupper(*letter);
    return dlsym(library, name);
}

static uint64_t hash_of(const void* bytes, size_t size, uint64_t hash) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char*)bytes)[i]) * 0x100000001b3;
    return hash;
}

static uint64_t state;

static double next_number(void) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (double)(int64_t)(state >> 12) / (double)((int64_t)1 << 51) - 1;
}

static const Int sizes[] = {0, 1, 3, 8, -1};
static const Int increments[] = {1, 2, -1, -3, 0};
static const char transposes[] = "NTC";

static int cblas_letter(char letter) {
    const char* all = "NTC       UL        NU        LR";
    if (letter == 'U') return 121;
    if (letter == 'L') return 122;
    return 111 + (int)(strchr(all, letter) - all);
}
static int cblas_diag(char letter) { return letter == 'N' ? 131 : 132; }

// FOR_TYPE(letter, E, R, S, BY): elements E, their parts R; CBLAS takes a scalar as an S, which is BY(address).
#define AT(address) (*(address))
#define ADDRESS(address) ((const void*)(address))

#define FOR_TYPE(p, E, R, S, BY)                                                                                    \
    static E p##a[matrix_size * matrix_size], p##x[vector_size], p##y[vector_size];                                 \
    static void p##fill(void) {                                                                                     \
        state = 0; /* the same numbers for each call, whatever other functions a library has */                     \
        R* parts[] = {(R*)p##a, (R*)p##x, (R*)p##y};                                                                \
        const size_t counts[] = {sizeof p##a, sizeof p##x, sizeof p##y};                                            \
        for (int i = 0; i < 3; ++i)                                                                                 \
            for (size_t j = 0; j < counts[i] / sizeof(R); ++j) parts[i][j] = (R)next_number();                      \
        for (int i = 0; i < matrix_size; ++i) p##a[i * matrix_size + i] += 8; /* triangular solves stay small */    \
    }                                                                                                               \
    static void p##print(const char* name, const void* result, size_t size) {                                       \
        uint64_t hash = hash_of(result, size, 0xcbf29ce484222325);                                                  \
        hash = hash_of(p##a, sizeof p##a, hash);                                                                    \
        hash = hash_of(p##x, sizeof p##x, hash);                                                                    \
        printf("%s %016llx\n", name, (unsigned long long)hash_of(p##y, sizeof p##y, hash));                         \
    }                                                                                                               \
    static void p##level2(const char* form) {                                                                       \
        char name[64];                                                                                              \
        const int is_cblas = strstr(form, "cblas") != NULL;                                                         \
        const Int lda = matrix_size;                                                                                \
        const E alpha = (E)0.75, beta = (E)-0.5;                                                                    \
        for (int i = 0; i < 5; ++i)                                                                                 \
            for (int j = 0; j < 5; ++j)                                                                             \
                for (int order = 101; order <= 101 + is_cblas; ++order)                                             \
                    for (int t = 0; t < 3; ++t) {                                                                   \
                        const Int m = sizes[i], n = sizes[(i + j) % 5], incx = increments[j],                       \
                                  incy = increments[(j + t) % 5];                                                   \
                        const int is_invalid = m < 0 || n < 0 || incx == 0 || incy == 0;                            \
                        if (is_invalid && !has_invalid) continue;                                                   \
                        /* netlib's CBLAS does not end for vectors without elements that it has to conjugate */     \
                        if (order == 101 && (m < 1 || n < 1) && sizeof(E) != sizeof(R)) continue;                   \
                        const char trans = transposes[t], uplo = "UL"[i % 2], diag = "UN"[j % 2];                   \
                        const int ct = cblas_letter(trans), cu = cblas_letter(uplo), cd = cblas_diag(diag);         \
                        const Int ns = i == 4 ? 5 : n;                                                              \
                        void* f;                                                                                    \
                        if ((f = find(form, #p "gemv", name)) != NULL) {                                            \
                            p##fill();                                                                              \
                            if (is_cblas)                                                                           \
                                ((void (*)(int, int, Int, Int, S, E*, Int, E*, Int, S, E*, Int))f)(                 \
                                    order, ct, m, n, BY(&alpha), p##a, lda, p##x, incx, BY(&beta), p##y, incy);     \
                            else                                                                                    \
                                ((void (*)(const char*, IntRef, IntRef, const E*, E*, IntRef, E*, IntRef, const E*, \
                                           E*, IntRef, size_t))f)(&trans, &m, &n, &alpha, p##a, &lda, p##x, &incx,  \
                                                                  &beta, p##y, &incy, hidden);                      \
                            p##print(name, NULL, 0);                                                                \
                        }                                                                                           \
                        static const char* const rank1[] = {#p "ger", #p "geru", #p "gerc"};                        \
                        for (int r = 0; r < 3; ++r) {                                                               \
                            if ((f = find(form, rank1[r], name)) == NULL) continue;                                 \
                            p##fill();                                                                              \
                            if (is_cblas)                                                                           \
                                ((void (*)(int, Int, Int, S, E*, Int, E*, Int, E*, Int))f)(                         \
                                    order, m, n, BY(&alpha), p##x, incx, p##y, incy, p##a, lda);                    \
                            else                                                                                    \
                                ((void (*)(IntRef, IntRef, const E*, E*, IntRef, E*, IntRef, E*, IntRef))f)(        \
                                    &m, &n, &alpha, p##x, &incx, p##y, &incy, p##a, &lda);                          \
                            p##print(name, NULL, 0);                                                                \
                        }                                                                                           \
                        static const char* const symmetric[] = {#p "symv", #p "hemv"};                              \
                        for (int r = 0; r < 2; ++r) {                                                               \
                            /* CBLAS has no csymv, and that of Fortran is a part of LAPACK. */                      \
                            if ((r == 0) != (sizeof(E) == sizeof(R)) ||                                             \
                                (f = find(form, symmetric[r], name)) == NULL)                                       \
                                continue;                                                                           \
                            p##fill();                                                                              \
                            if (is_cblas)                                                                           \
                                ((void (*)(int, int, Int, S, E*, Int, E*, Int, S, E*, Int))f)(                      \
                                    order, cu, n, BY(&alpha), p##a, lda, p##x, incx, BY(&beta), p##y, incy);        \
                            else                                                                                    \
                                ((void (*)(const char*, IntRef, const E*, E*, IntRef, E*, IntRef, const E*, E*,     \
                                           IntRef, size_t))f)(&uplo, &n, &alpha, p##a, &lda, p##x, &incx, &beta,    \
                                                              p##y, &incy, hidden);                                 \
                            p##print(name, NULL, 0);                                                                \
                        }                                                                                           \
                        static const char* const triangular[] = {#p "trmv", #p "trsv"};                             \
                        for (int r = 0; r < 2; ++r) {                                                               \
                            if ((f = find(form, triangular[r], name)) == NULL) continue;                            \
                            p##fill();                                                                              \
                            if (is_cblas)                                                                           \
                                ((void (*)(int, int, int, int, Int, E*, Int, E*, Int))f)(order, cu, ct, cd, ns,     \
                                                                                         p##a, lda, p##x, incx);    \
                            else                                                                                    \
                                ((void (*)(const char*, const char*, const char*, IntRef, E*, IntRef, E*, IntRef,   \
                                           size_t, size_t, size_t))f)(&uplo, &trans, &diag, &ns, p##a, &lda, p##x,  \
                                                                      &incx, hidden, hidden, hidden);               \
                            p##print(name, NULL, 0);                                                                \
                        }                                                                                           \
                    }                                                                                               \
    }                                                                                                               \
    /* Calls a function of two vectors, or of one, that returns an E. */                                            \
    static void p##dots(const char* form, const char* base, int is_by_pointer) {                                    \
        char name[64];                                                                                              \
        void* const f = find(form, base, name);                                                                     \
        if (f == NULL) return;                                                                                      \
        const int is_cblas = strstr(form, "cblas") != NULL, is_sub = strstr(base, "_sub") != NULL;                  \
        for (int i = 0; i < 5; ++i)                                                                                 \
            for (int j = 0; j < 25; ++j) {                                                                          \
                const Int n = sizes[i] == 8 ? 37 : sizes[i], incx = increments[j % 5], incy = increments[j / 5];    \
                p##fill();                                                                                          \
                E result = 0;                                                                                       \
                if (is_sub)                                                                                         \
                    ((void (*)(Int, E*, Int, E*, Int, E*))f)(n, p##x, incx, p##y, incy, &result);                   \
                else if (is_cblas)                                                                                  \
                    result = ((E(*)(Int, E*, Int, E*, Int))f)(n, p##x, incx, p##y, incy);                           \
                else if (is_by_pointer)                                                                             \
                    ((void (*)(E*, IntRef, E*, IntRef, E*, IntRef))f)(&result, &n, p##x, &incx, p##y, &incy);       \
                else                                                                                                \
                    result = ((E(*)(IntRef, E*, IntRef, E*, IntRef))f)(&n, p##x, &incx, p##y, &incy);               \
                p##print(name, &result, sizeof result);                                                             \
            }                                                                                                       \
    }                                                                                                               \
    static void p##norms(const char* form, const char* base) {                                                      \
        char name[64];                                                                                              \
        void* const f = find(form, base, name);                                                                     \
        if (f == NULL) return;                                                                                      \
        for (int i = 0; i < 5; ++i)                                                                                 \
            for (int j = 0; j < 5; ++j) {                                                                           \
                const Int n = sizes[i] == 8 ? 37 : sizes[i], incx = increments[j];                                  \
                p##fill();                                                                                          \
                const R result = strstr(form, "cblas") != NULL ? ((R(*)(Int, E*, Int))f)(n, p##x, incx)             \
                                                               : ((R(*)(IntRef, E*, IntRef))f)(&n, p##x, &incx);    \
                p##print(name, &result, sizeof result);                                                             \
            }                                                                                                       \
    }

FOR_TYPE(s, float, float, float, AT)
FOR_TYPE(d, double, double, double, AT)
FOR_TYPE(c, float complex, float, const void*, ADDRESS)
FOR_TYPE(z, double complex, double, const void*, ADDRESS)

/// Calls sdsdot and dsdot, whose sums are wider than their operands.
static void wide_sums(const char* form) {
    char name[64];
    const int is_cblas = strstr(form, "cblas") != NULL;
    const float start = 0.3F;
    void* const sdsdot = find(form, "sdsdot", name);
    for (int j = 0; sdsdot != NULL && j < 25; ++j) {
        const Int n = 1 + 2 * j, incx = increments[j % 5], incy = increments[j / 5] / 2;
        sfill();
        const float result =
            is_cblas ? ((float (*)(Int, float, float*, Int, float*, Int))sdsdot)(n, start, sx, incx, sy, incy)
                     : ((float (*)(IntRef, const float*, float*, IntRef, float*, IntRef))sdsdot)(&n, &start, sx,
                                                                                                 &incx, sy, &incy);
        sprint(name, &result, sizeof result);
    }
    void* const dsdot = find(form, "dsdot", name);
    for (int j = 0; dsdot != NULL && j < 25; ++j) {
        const Int n = 1 + j, incx = increments[j % 5], incy = increments[j / 5];
        sfill();
        const double result =
            is_cblas ? ((double (*)(Int, float*, Int, float*, Int))dsdot)(n, sx, incx, sy, incy)
                     : ((double (*)(IntRef, float*, IntRef, float*, IntRef))dsdot)(&n, sx, &incx, sy, &incy);
        sprint(name, &result, sizeof result);
    }
}

int main(int count, char** words) {
    library = count < 2 ? NULL : dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return fprintf(stderr, "%s\n", count < 2 ? "no library" : dlerror()), 2;
    for (int i = 2; i < count; ++i) {
        if (strcmp(words[i], "intel") == 0)
            is_intel = 1;
        else if (strcmp(words[i], "invalid") == 0)
            has_invalid = 1;
        else
            only = words[i];
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i) {
        const char* const form = forms[i];
        slevel2(form), dlevel2(form), clevel2(form), zlevel2(form);
        sdots(form, "sdot", 0), ddots(form, "ddot", 0);
        cdots(form, "cdotu", is_intel), cdots(form, "cdotc", is_intel);
        zdots(form, "zdotu", is_intel), zdots(form, "zdotc", is_intel);
        if (strstr(form, "cblas") != NULL) {
            cdots(form, "cdotu_sub", 0), cdots(form, "cdotc_sub", 0);
            zdots(form, "zdotu_sub", 0), zdots(form, "zdotc_sub", 0);
        }
        wide_sums(form);
        snorms(form, "snrm2"), dnorms(form, "dnrm2"), cnorms(form, "scnrm2"), znorms(form, "dznrm2");
        snorms(form, "sasum"), dnorms(form, "dasum"), cnorms(form, "scasum"), znorms(form, "dzasum");
    }
    return 0;
}
