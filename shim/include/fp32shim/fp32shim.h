/* The public C API of fp32shim. A program can name the parts of its work, and choose the precision at which its
 * float32 matrix products run, for the whole process or for one thread. The API is optional: without it, the
 * environment and the policy file alone govern a program.
 *
 * Order of precedence: the shim decides a call by the first of these that applies: a pin by audits (after an error
 * above the tolerance), a rule of the policy, this thread's innermost scope that names a precision,
 * fp32shim_set_precision, FP32_MATMUL_PRECISION, the policy file's default, the program's own choice. The floor, the
 * lowest precision that may run, is applied last, and overrides all of them.
 *
 * There is nothing to link. The functions of this header look up those of the library at their first call (dlsym), so
 * the program also runs without the shim: then each of them does nothing and returns FP32SHIM_NOT_LOADED, and every
 * product runs as it was called. With glibc before 2.34, link libdl (-ldl). C++ programs can include fp32shim.hpp,
 * which has a scope object; examples/c_api has examples in C, C++, Python and Fortran.
 *
 * For all functions:
 * - The result is an fp32shim_status unless the function says otherwise. No function throws, exits or changes errno.
 *   On any status other than FP32SHIM_OK, nothing has changed.
 * - All functions are thread-safe, and may be called before the first product and after the last. None is meant for
 *   signal handlers. A scope belongs to the thread that pushed it; everything else belongs to the process.
 * - A change applies to later products of the same thread. Other threads see it at their next product, without a
 *   lock. A product that has begun keeps its decision, and so does a captured CUDA graph.
 * - Strings are NUL-terminated ASCII, or UTF-8 for labels. They are copied and stay the caller's. Names of precisions
 *   and floors are case-insensitive.
 * - After fork, the child has a copy of the process's settings and of the scopes of the thread that forked.
 */
#ifndef FP32SHIM_FP32SHIM_H
#define FP32SHIM_FP32SHIM_H

#include <stddef.h>

#if defined(FP32SHIM_IS_THE_LIBRARY)
#define FP32SHIM_API __attribute__((visibility("default")))
#else
#include <dlfcn.h>
#include <string.h>
#pragma GCC system_header /* no warnings about functions that a program does not call */
#define FP32SHIM_API static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the binary interface. It rises when a function changes its meaning or is removed, but not for new
 * functions or new status values. */
#define FP32SHIM_ABI_VERSION 1

/* Size in bytes, including the NUL, of a buffer for the name of any precision, source or floor. */
#define FP32SHIM_NAME_SIZE 16

/* The largest number of scopes that one thread can have opened by fp32shim_push_scope at a time. */
#define FP32SHIM_MAX_SCOPES 64

/* The limit in bytes, including the NUL, of a thread's joined labels, which are those of scopes and NVTX ranges. */
#define FP32SHIM_MAX_SCOPE_PATH 1024

typedef enum fp32shim_status {
    FP32SHIM_NOT_LOADED =
        -1, /* the process runs without the shim, or with one of another ABI version or without the function */
    FP32SHIM_OK = 0,
    FP32SHIM_INVALID_ARGUMENT = 1, /* an unknown name, a forbidden NULL, a buffer that is too small */
    FP32SHIM_NOT_ACTIVE = 2,       /* FP32_MATMUL_DISABLE=1, or the process runs with elevated rights */
    FP32SHIM_SCOPE_MISMATCH = 3,   /* pop on a thread that has no open scope */
    FP32SHIM_SCOPE_DEPTH = 4,      /* too many scopes are open, their labels are too long, or there is no memory */
    FP32SHIM_POLICY_ERROR = 5,     /* the policy has errors; stderr has the first, and the number of others */
    FP32SHIM_NOT_RECORDED = 6      /* the process has no recording, or this thread's last product is not in it */
} fp32shim_status;

/* What a recording says of one product. docs/schema.md ("A decision") lists the words of each text. A text that does
 * not fit is cut. An empty text, or -1 as a size, means that the fact is not known. */
typedef struct fp32shim_product {
    char function[64];        /* such as "cblas_sgemm" */
    char dtype[16];           /* "float32", "complex64" … */
    long long m, n, k, batch; /* sizes in elements, as passed to the library: C is m×n, and k is summed */
    char requested[16];       /* precision that was asked for */
    char source[16];          /* who asked for it */
    char applied[16];         /* the lowest format that the executed call permits */
    char actual[16];          /* format that the library says it used */
    char how[24];             /* way in which the product was executed */
    char reason[48];          /* why `applied` differs from the request; otherwise "as_requested" */
    char rule[64];            /* name of the rule that matched */
} fp32shim_product;

/* Returns the FP32SHIM_ABI_VERSION with which the loaded library was built; 0 if the shim is not loaded, or has
 * another version than this header. Never fails. */
FP32SHIM_API int fp32shim_abi_version(void);

/* Returns the version of the loaded library, such as "0.1.0". The text is static and never NULL; it is "" without the
 * shim. Never fails. */
FP32SHIM_API const char* fp32shim_version(void);

/* Returns the meaning of a status in English, without a full stop, such as "pop without push". The text is static and
 * never NULL, even for numbers that are not an fp32shim_status. Never fails. */
FP32SHIM_API const char* fp32shim_status_string(int status);

/* Sets the precision of the process. The latest call wins; `fp32shim set` on the live process counts as a call.
 *
 * precision: "native" (as the program calls), "highest" (full FP32), "high" (TF32), "medium" (BF16), "auto" (high
 *   if the hardware or the CPU preview has it, otherwise native), or an alias: "ieee", "fp32", "tf32", "bf16". NULL
 *   removes the process's setting: environment, file and native decide again. "bf16x9", "bf16x3", "bf16x2", "tf32x3",
 *   "xf32", "fp16", "e4m3", "e5m2", "fp32_perturbed", "fp64", "fp64_emulated", "fixed", "single" and "sgemm" are for
 *   rules only.
 * Errors: INVALID_ARGUMENT (unknown name), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_set_precision(const char* precision);

/* Returns the precision of this thread's products that no rule matches, and the source of that precision. Rules
 * depend on the product itself (sizes, caller, device), so they are not considered here. The abilities of the device
 * are not considered either. The floor is not applied; fp32shim_get_floor returns it.
 *
 * precision: receives "native", "highest", "high", "medium" or "auto"; never an alias.
 * source: receives "thread", "process", "environment", "file" or "native".
 * A buffer may be NULL with size 0 if its text is not wanted. FP32SHIM_NAME_SIZE bytes are enough; if a name does not
 * fit, the result is INVALID_ARGUMENT. On any error, buffers that have room receive "". Errors: INVALID_ARGUMENT,
 * NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_precision(char* precision, size_t precision_size, char* source, size_t source_size);

/* Forbids the whole process to run products below `floor`, from now on. A floor can only be raised, and cannot be
 * removed. The strictest of this floor and those of the environment, the policy and the thread's open scopes applies.
 *
 * floor: "fp32", "bf16x9", "tf32", "bf16" or "fp16", from strict to loose. If it is no stricter than the present
 * floor of the process, the result is FP32SHIM_OK and nothing changes. Errors: INVALID_ARGUMENT (unknown name, or
 * NULL), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_set_floor(const char* floor);

/* Returns the strictest floor in force for products of this thread: that of the environment, the policy, the process
 * or an open scope.
 *
 * floor: receives a name as in fp32shim_set_floor, or "none". FP32SHIM_NAME_SIZE bytes are enough. If the name does
 * not fit, or `floor` is NULL, the result is INVALID_ARGUMENT. On any error a buffer that has room receives "".
 * Errors: INVALID_ARGUMENT, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_floor(char* floor, size_t size);

/* Opens a scope on this thread, inside its open scopes. Products that this thread calls get the scope's label in
 * recordings, and rules can match the label (when = { scope = "inference/..." }). Products that a library calls from
 * threads of its own do not get it: only the scopes of the thread that calls the BLAS count.
 *
 * label: a name for this part of the work, such as "layer3.attn". Labels of nested scopes are joined by '/',
 * outermost first: "inference/layer3.attn". A label that begins with '.' is joined without '/': "Model" and
 * ".encoder" make the single label "Model.encoder". If label is NULL or "", the scope adds no label.
 *
 * precision: a name as in fp32shim_set_precision, or NULL if this scope has no precision. The innermost scope that
 * has a precision counts.
 *
 * floor: a name as in fp32shim_set_floor, or NULL if this scope has no floor. The floor applies until the scope is
 * popped. It cannot loosen the floors of outer scopes. Errors: INVALID_ARGUMENT (unknown name), NOT_ACTIVE,
 * SCOPE_DEPTH. After an error there is nothing to pop. */
FP32SHIM_API int fp32shim_push_scope(const char* label, const char* precision, const char* floor);

/* Closes the innermost scope that this thread has opened by fp32shim_push_scope. NVTX ranges that were opened
 * inside the scope stay open. When a thread ends, its open scopes are closed.
 * Errors: SCOPE_MISMATCH (none is open), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_pop_scope(void);

/* Returns the number of scopes that this thread has opened by fp32shim_push_scope and not closed; 0 if the library is
 * not active. Code may be left just after a push, before it notes that it has pushed (KeyboardInterrupt, siglongjmp).
 * Such code calls fp32shim_scope_depth before the push, and afterwards pops scopes until that depth is reached. */
FP32SHIM_API int fp32shim_scope_depth(void);

/* Reads the policy files again: the file that FP32_MATMUL_POLICY named at the first reading, and the site's file. If
 * they have no errors, puts them in force at once for all threads. Settings made by this API, by `fp32shim set` and
 * in the environment stay, with their floors. If the files have errors, the policy in force stays, whatever
 * FP32_MATMUL_ON_ERROR says. Reads files and allocates, so it is not for a hot path.
 * Errors: POLICY_ERROR, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_reload_policy(void);

/* Returns what this process's recording (FP32_MATMUL_LOG=NAME.fp32rec) says of the last product that this thread
 * asked for: at which precision it ran, and why. Takes some microseconds, and more if the recording has many texts.
 *
 * product: receives the answer. size: must be sizeof(fp32shim_product). Errors: INVALID_ARGUMENT (size is another
 * number, or product is NULL), NOT_ACTIVE, NOT_RECORDED. After the last two, the product is empty. */
FP32SHIM_API int fp32shim_last_product(fp32shim_product* product, size_t size);

#ifndef FP32SHIM_IS_THE_LIBRARY

/* ---- How the functions of the library are found. Programs must not use what follows. ---- */

static inline void* fp32shim_find(void** kept, const char* name) {
    void* found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(NULL, name); /* in glibc, NULL is RTLD_DEFAULT */
        __atomic_store_n(kept, found == NULL ? (void*)kept : found, __ATOMIC_RELAXED);
    }
    return found == (void*)kept ? NULL : found; /* the address `kept` stands for a missing function */
}

/* Defines the function `name`, which calls the library's function or, if it is missing, returns `otherwise`. */
#define FP32SHIM_FORWARD(result, name, parameters, arguments, otherwise)                          \
    static inline result name parameters {                                                        \
        static void* kept = NULL;                                                                 \
        void* const found = fp32shim_is_loaded() ? fp32shim_find(&kept, #name) : NULL;            \
        result(*function) parameters;                                                             \
        if (found == NULL) return otherwise;                                                      \
        memcpy(&function, &found, sizeof function); /* ISO C has no cast to a function pointer */ \
        return function arguments;                                                                \
    }

static inline int fp32shim_is_loaded(void) {
    static void* kept = NULL;
    void* const found = fp32shim_find(&kept, "fp32shim_abi_version");
    int (*function)(void);
    if (found == NULL) return 0;
    memcpy(&function, &found, sizeof function);
    return function() == FP32SHIM_ABI_VERSION;
}

static inline int fp32shim_clear_text(char* text, size_t size) {
    if (text != NULL && size > 0) text[0] = '\0';
    return FP32SHIM_NOT_LOADED;
}

static inline int fp32shim_clear_product(fp32shim_product* product, size_t size) {
    if (product != NULL && size == sizeof *product) memset(product, 0, size);
    return FP32SHIM_NOT_LOADED;
}

FP32SHIM_FORWARD(int, fp32shim_abi_version, (void), (), 0)
FP32SHIM_FORWARD(const char*, fp32shim_version, (void), (), "")
FP32SHIM_FORWARD(const char*, fp32shim_status_string, (int status), (status),
                 status == FP32SHIM_NOT_LOADED ? "fp32shim is not loaded" : "unknown status")
FP32SHIM_FORWARD(int, fp32shim_set_precision, (const char* precision), (precision), FP32SHIM_NOT_LOADED)
FP32SHIM_FORWARD(int, fp32shim_get_precision,
                 (char* precision, size_t precision_size, char* source, size_t source_size),
                 (precision, precision_size, source, source_size),
                 fp32shim_clear_text(precision, precision_size) + 0 * fp32shim_clear_text(source, source_size))
FP32SHIM_FORWARD(int, fp32shim_set_floor, (const char* floor), (floor), FP32SHIM_NOT_LOADED)
FP32SHIM_FORWARD(int, fp32shim_get_floor, (char* floor, size_t size), (floor, size), fp32shim_clear_text(floor, size))
FP32SHIM_FORWARD(int, fp32shim_push_scope, (const char* label, const char* precision, const char* floor),
                 (label, precision, floor), FP32SHIM_NOT_LOADED)
FP32SHIM_FORWARD(int, fp32shim_pop_scope, (void), (), FP32SHIM_NOT_LOADED)
FP32SHIM_FORWARD(int, fp32shim_scope_depth, (void), (), 0)
FP32SHIM_FORWARD(int, fp32shim_reload_policy, (void), (), FP32SHIM_NOT_LOADED)
FP32SHIM_FORWARD(int, fp32shim_last_product, (fp32shim_product * product, size_t size), (product, size),
                 fp32shim_clear_product(product, size))

#undef FP32SHIM_FORWARD
#endif

#ifdef __cplusplus
}
#endif

#endif
