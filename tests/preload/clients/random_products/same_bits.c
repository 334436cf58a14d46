// Calls every routine of the BLAS that the mode `reproducible` computes with random arguments: options, sizes,
// leading dimensions, increments, scalars, and operands with zeros, NaN and infinities.
//
//     same_bits LIBRARY SEED COUNT [large]
//
// Prints a line for each of COUNT calls of each routine: the arguments, a hash of all operands in memory and of the
// result, a hash of which of these numbers are NaN and which infinite, a hash of which elements are not finite, and
// the count of numbers that are not. Signs and payloads of NaN do not count. large: products of matrices whose sizes
// are worth three threads.
//
// The calls are the same on all processors. Compiled with STUBS, this is a library whose functions compute nothing.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// X(name, first letters, their elements, arguments). In the arguments, lower-case letters are options, sizes and
// scalars. M is a matrix, and S the matrix of a solve; its rows, its columns, and the option that exchanges these
// follow, or a dot for no option. V is a vector; its length, its length under an option, and that option follow. "=":
// the function returns a number.
#define ROUTINES                                   \
    X(gemm, "sdcz", "sdcz", "tTmnkaMmktMknTbMmn.") \
    X(symm, "sdcz", "sdcz", "sumnaMoo.Mmn.bMmn.")  \
    X(hemm, "cz", "cz", "sumnaMoo.Mmn.bMmn.")      \
    X(syrk, "sdcz", "sdcz", "uynkaMnkybMnn.")      \
    X(herk, "cz", "cz", "uhnkrMnkhrMnn.")          \
    X(syr2k, "sdcz", "sdcz", "uynkaMnkyMnkybMnn.") \
    X(her2k, "cz", "cz", "uhnkaMnkhMnkhrMnn.")     \
    X(trmm, "sdcz", "sdcz", "sutdmnaMoo.Mmn.")     \
    X(trsm, "sdcz", "sdcz", "sutdmnaSoo.Mmn.")     \
    X(gemv, "sdcz", "sdcz", "tmnaMmn.VnmtbVmnt")   \
    X(ger, "sd", "sd", "mnaVmm.Vnn.Mmn.")          \
    X(geru, "cz", "cz", "mnaVmm.Vnn.Mmn.")         \
    X(gerc, "cz", "cz", "mnaVmm.Vnn.Mmn.")         \
    X(symv, "sd", "sd", "unaMnn.Vnn.bVnn.")        \
    X(hemv, "cz", "cz", "unaMnn.Vnn.bVnn.")        \
    X(syr, "sd", "sd", "unaVnn.Mnn.")              \
    X(her, "cz", "cz", "unrVnn.Mnn.")              \
    X(syr2, "sd", "sd", "unaVnn.Vnn.Mnn.")         \
    X(her2, "cz", "cz", "unaVnn.Vnn.Mnn.")         \
    X(trmv, "sdcz", "sdcz", "utdnMnn.Vnn.")        \
    X(trsv, "sdcz", "sdcz", "utdnSnn.Vnn.")        \
    X(axpy, "sdcz", "sdcz", "kaVkk.Vkk.")          \
    X(rot, "sd", "sd", "kVkk.Vkk.rr")              \
    X(srot, "c", "c", "kVkk.Vkk.rr") /* csrot */   \
    X(drot, "z", "z", "kVkk.Vkk.rr") /* zdrot */   \
    X(dot, "sd", "sd", "=kVkk.Vkk.")               \
    X(dotu, "cz", "cz", "=kVkk.Vkk.")              \
    X(dotc, "cz", "cz", "=kVkk.Vkk.")              \
    X(sdot, "d", "s", "=kVkk.Vkk.")   /* dsdot */  \
    X(dsdot, "s", "s", "=krVkk.Vkk.") /* sdsdot */ \
    X(nrm2, "sd", "sd", "=kVkk.")                  \
    X(cnrm2, "s", "c", "=kVkk.")                   \
    X(znrm2, "d", "z", "=kVkk.")                   \
    X(asum, "sd", "sd", "=kVkk.")                  \
    X(casum, "s", "c", "=kVkk.")                   \
    X(zasum, "d", "z", "=kVkk.")

#ifdef STUBS

#define X(name, ...)                      \
    double s##name##_(void) { return 0; } \
    double d##name##_(void) { return 0; } \
    double c##name##_(void) { return 0; } \
    double z##name##_(void) { return 0; } \
    void cblas_c##name##_sub(void) {}     \
    void cblas_z##name##_sub(void) {}
ROUTINES

/// The shim calls this routine to find the width of the library's integers.
int isamax_(const int* n) { return *n < 1 ? 0 : 2; }

#else
#include <ctype.h>
#include <dlfcn.h>

#define X(name, ...) {#name, __VA_ARGS__},
static const struct Routine { const char *name, *letters, *elements, *arguments; } routines[] = {ROUTINES};
enum { matrix_products = 9, most_arguments = 18 };

/// Arguments of Fortran, and lengths of those that are texts. Libraries with 32-bit integers read these as well.
#define POINTERS                                                                                                    \
    void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, \
        void*, void*
#define ARGUMENTS(p) \
    p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17]

static uint64_t state;

static uint64_t next(void) {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}
static int64_t between(int64_t least, int64_t most) {
    return least + (int64_t)(next() % (uint64_t)(most - least + 1));
}
static double number(void) { return (double)((int64_t)next() >> 11) / (double)((int64_t)1 << 52); }

// The call that is being made.
static int is_double, width, is_large;
static enum { plain, with_zeros, with_nonfinite } contents;
static union {
    float floats[12 << 20];
    double doubles[6 << 20];
} memory;
static size_t used;  // how many numbers the operands take, which lie one after the other
static char text[256];

static void put(size_t at, double value) {
    if (is_double)
        memory.doubles[at] = value;
    else
        memory.floats[at] = (float)value;
}
static void* address(size_t at) { return is_double ? (void*)&memory.doubles[at] : (void*)&memory.floats[at]; }

static void say(const char* format, int64_t value) {
    const size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, format, (long long)value);
}

/// Fills `count` numbers of an operand and returns the first one's address.
static void* fill(size_t count) {
    const size_t first = used;
    used += count;
    for (size_t i = first; i < used; ++i)
        put(i, contents == with_zeros && next() % 4 == 0 ? (next() % 2 ? 0.0 : -0.0) : number());
    return address(first);
}

/// Sets up to three numbers of an operand to NaN or an infinity.
static void soil(size_t first) {
    static const double values[] = {__builtin_nan(""), __builtin_inf(), -__builtin_inf()};
    for (int64_t i = between(0, 3); contents == with_nonfinite && used > first && i > 0; --i) {
        const int64_t at = between((int64_t)first, (int64_t)used - 1);
        put((size_t)at, values[next() % 3]);
    }
}

/// Makes a triangle whose solves stay small.
static void make_solvable(size_t first, int64_t order, int64_t ld) {
    double scale = 1;
    while (scale * (double)order > 1) scale /= 2;
    for (int64_t i = 0; i < order * ld * width; ++i) {
        const int is_diagonal = i / width % ld == i / width / ld;
        const double value = number();
        put(first + (size_t)i, is_diagonal && i % width == 0 ? value + (value < 0 ? -1 : 1) : value * scale);
    }
}

static int64_t size(int* has_long) {
    if (is_large) return width == 1 ? between(425, 460) : between(270, 300);
    const int64_t kind = between(0, 15);
    if (kind == 15 && !*has_long) return *has_long = 1, between(250, 530);
    return kind == 0 ? 0 : between(1, kind < 10 ? 20 : kind < 14 ? 70 : 140);
}

/// Returns a scalar: 0, 1, -1 or any number. The scalars of some routines for complex matrices are real.
static void* scalar(int is_real) {
    const int64_t kind = is_large ? 3 : between(0, 4);
    const size_t first = used;
    void* const result = fill((size_t)width);
    if (kind < 3) put(first, kind == 2 ? -1 : (double)kind);
    if (width == 2 && (kind < 4 || is_real)) put(first + 1, 0);
    say(kind < 3 ? ",%lld" : kind == 3 ? ",x" : ",z", kind == 2 ? -1 : kind);
    return result;
}

static uint64_t mixed(uint64_t hash, uint64_t bits) {
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
}

static void print_hashes(int returned, const double* result) {
    uint64_t hash = 0, places = 0, elements = 0;
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = 0; i < used + (size_t)returned; ++i) {
        const double value = i >= used ? result[i - used] : is_double ? memory.doubles[i] : memory.floats[i];
        uint64_t bits = 1;
        if (value == value) memcpy(&bits, &value, sizeof bits);
        hash = mixed(hash, bits);
        const unsigned place = value != value ? 1 : value > 1.7e308 ? 2 : value < -1.7e308 ? 3 : 0;
        if (place == 0) continue;
        places = mixed(places, i * 4 + place);
        if (i / (size_t)width != last) elements = mixed(elements, last = i / (size_t)width);
        ++count;
    }
    printf("%s %016llx %016llx %016llx %zu\n", text, (unsigned long long)hash, (unsigned long long)places,
           (unsigned long long)elements, count);
}

static const char* letters_of(char option) {
    if (option == 's') return "LR";
    if (option == 'u') return "UL";
    if (option == 'd') return "NU";
    if (option == 'h') return "NC";
    if (option == 'y') return width == 2 ? "NT" : "NTC";
    return option == 't' || option == 'T' ? "NTC" : NULL;
}

static void make_arguments(const char* words, void** arguments) {
    static char options[128], passed[128];             // option letters; the index is a letter of the table
    static int64_t sizes[128], steps[most_arguments];  // steps: leading dimensions and increments
    const int is_level_1 = words[0] == '=';
    int has_long = 0, count = 0;
    for (int i = 0; i < most_arguments; ++i) arguments[i] = (void*)1;
    options['.'] = 'N';
    for (words += is_level_1; *words != '\0'; ++words) {
        const unsigned char word = (unsigned char)*words;
        const char* const letters = letters_of(*words);
        if (letters != NULL) {
            options[word] = letters[next() % strlen(letters)];
            passed[word] = next() % 4 == 0 ? (char)tolower(options[word]) : options[word];
            say("%c", passed[word]);
            arguments[count++] = &passed[word];
        } else if (strchr("mnk", *words) != NULL) {
            sizes[word] = is_level_1 && between(0, 7) == 0 ? between(1000, 5000) : size(&has_long);
            sizes['o'] = sizes[options['s'] == 'L' ? 'm' : 'n'];
            say(",%lld", sizes[word]);
            arguments[count++] = &sizes[word];
        } else if (strchr("abr", *words) != NULL) {
            arguments[count++] = scalar(*words == 'r');
        } else {
            const int is_vector = *words == 'V', is_exchanged = options[(unsigned char)words[3]] != 'N';
            const int64_t rows = sizes[(unsigned char)words[1 + is_exchanged]];
            const int64_t columns = sizes[(unsigned char)words[2 - is_exchanged]];
            words += 3;
            int64_t step = between(0, 1) ? 1 : between(1, 3);
            if (is_vector && next() % 3 == 0) step = -step;
            if (!is_vector) step += rows - (rows > 0);
            const size_t first = used;
            arguments[count++] = fill((size_t)((is_vector ? rows * llabs(step) : columns * step) * width));
            if (*(words - 3) == 'S') make_solvable(first, rows, step);
            soil(first);
            say(is_vector ? ",+%lld" : ",/%lld", step);
            steps[count] = step;
            arguments[count] = &steps[count];
            ++count;
        }
    }
}

int main(int count, char** words) {
    void* const library = count < 4 ? NULL : dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return fprintf(stderr, "%s\n", count < 4 ? "no library" : dlerror()), 2;
    is_large = count > 4;
    const size_t routine_count = is_large ? matrix_products : sizeof routines / sizeof routines[0];
    for (size_t r = 0; r < routine_count; ++r)
        for (size_t kind = 0; routines[r].letters[kind] != '\0'; ++kind) {
            const char letter = routines[r].letters[kind], element = routines[r].elements[kind];
            is_double = strchr("dz", element) != NULL;
            width = strchr("cz", element) != NULL ? 2 : 1;
            const int is_number = routines[r].arguments[0] == '=', is_dot = is_number && strchr("cz", letter) != NULL;
            char name[32];
            snprintf(name, sizeof name, is_dot ? "cblas_%c%s_sub" : "%c%s_", letter, routines[r].name);
            void* const f = dlsym(library, name);
            if (f == NULL) return fprintf(stderr, "%s has no %s\n", words[1], name), 2;
            for (int call = 0; call < atoi(words[3]); ++call) {
                state = mixed(mixed(mixed((uint64_t)atoi(words[2]), r), (uint64_t)letter), (uint64_t)call);
                const int64_t chosen = between(0, 3);
                contents = chosen == 0 ? with_zeros : chosen == 1 ? with_nonfinite : plain;
                snprintf(text, sizeof text, "%s:%d:", name, call);
                used = 0;
                void* p[most_arguments];
                make_arguments(routines[r].arguments, p);
                double result[2] = {0, 0};
                float parts[2];
                if (is_dot) {
                    void* const to = letter == 'c' ? (void*)parts : (void*)result;
                    ((void (*)(int64_t, void*, int64_t, void*, int64_t, void*))f)(
                        *(int64_t*)p[0], p[1], *(int64_t*)p[2], p[3], *(int64_t*)p[4], to);
                    for (int i = 0; i < 2 && letter == 'c'; ++i) result[i] = parts[i];
                } else if (!is_number) {
                    ((void (*)(POINTERS))f)(ARGUMENTS(p));
                } else if (letter == 's') {
                    result[0] = ((float (*)(POINTERS))f)(ARGUMENTS(p));
                } else {
                    result[0] = ((double (*)(POINTERS))f)(ARGUMENTS(p));
                }
                print_hashes(is_dot ? 2 : is_number, result);
            }
        }
    return 0;
}
#endif
