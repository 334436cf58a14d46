/* The public C API of fp32shim. A program can name the parts of its work, and choose the precision at which its
 * float32 matrix products run, for the whole process or for one thread. The API is optional: without it, the
 * environment and the policy file alone govern a program.
 *
 * Order of precedence: the shim decides a call by the first of these that applies: a guard pin of the audit, a rule
 * of the policy, this thread's innermost scope that names a precision, fp32shim_set_precision, FP32_MATMUL_PRECISION,
 * the policy file's default, the program's own choice. The floor is applied last, and overrides all of them.
 *
 * Finding the functions: do not link the library, or the program does not start without it. Look the names up instead
 * (dlsym(RTLD_DEFAULT, "fp32shim_push_scope")), as examples/c_api does in C, Python and Fortran. If they are not
 * found, the program runs without the shim, and every product as it was called.
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

#if defined(__GNUC__)
#define FP32SHIM_API __attribute__((visibility("default")))
#else
#define FP32SHIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the binary interface. It rises when a function changes its meaning or is removed, but not for new
 * functions or new status values. */
#define FP32SHIM_ABI_VERSION 1

/* Size in bytes, including the NUL, of a buffer for the name of any precision, source or floor. */
#define FP32SHIM_NAME_SIZE 16

/* The largest number of scopes that one thread can have pushed by fp32shim_push_scope at a time. */
#define FP32SHIM_MAX_SCOPES 64

/* The limit in bytes, including the NUL, of a thread's joined labels. NVTX ranges count too. */
#define FP32SHIM_MAX_SCOPE_PATH 1024

typedef enum fp32shim_status {
    FP32SHIM_OK = 0,
    FP32SHIM_INVALID_ARGUMENT = 1, /* an unknown name, a forbidden NULL, a buffer that is too small */
    FP32SHIM_NOT_ACTIVE = 2,       /* FP32_MATMUL_DISABLE=1, or the process runs with elevated rights */
    FP32SHIM_SCOPE_MISMATCH = 3,   /* pop on a thread that has no open scope */
    FP32SHIM_SCOPE_DEPTH = 4,      /* more than FP32SHIM_MAX_SCOPES or FP32SHIM_MAX_SCOPE_PATH; or no memory */
    FP32SHIM_POLICY_ERROR = 5      /* the policy has errors; stderr has the first, and the number of others */
} fp32shim_status;

/* Returns the FP32SHIM_ABI_VERSION that the loaded library was built with. Compare it before you call anything else.
 * Always works. */
FP32SHIM_API int fp32shim_abi_version(void);

/* Returns the version of the loaded library, such as "0.1.0". Static; never NULL. Always works. */
FP32SHIM_API const char* fp32shim_version(void);

/* Returns the meaning of a status in English, without a full stop: "pop without push". Static; never NULL, even for
 * numbers that are not an fp32shim_status. Always works. */
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
 * depend on the product itself (sizes, caller, device), so they are not considered here; nor is the ability of the
 * device. The floor is not applied: fp32shim_get_floor returns it.
 *
 * precision: receives "native", "highest", "high", "medium" or "auto"; never an alias.
 * source: receives "thread", "process", "environment", "file" or "native".
 * Each may be NULL with size 0 if it is not wanted. FP32SHIM_NAME_SIZE bytes are enough; if the name does not fit,
 * the result is INVALID_ARGUMENT. On any error, buffers that have room receive "". Errors: INVALID_ARGUMENT,
 * NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_precision(char* precision, size_t precision_size, char* source, size_t source_size);

/* Forbids the whole process to run products below `floor`, from now on. A floor can only be raised, and cannot be
 * removed. The strictest of this floor and those of the environment, the policy and the thread's open scopes applies.
 *
 * floor: "fp32", "bf16x9", "tf32", "bf16" or "fp16", from strict to loose. If it is no stricter than the present
 * floor of the process, the result is FP32SHIM_OK and nothing changes. Errors: INVALID_ARGUMENT (unknown name, or
 * NULL), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_set_floor(const char* floor);

/* Returns the strictest floor in force for products of this thread: of environment, policy, process and scopes.
 *
 * floor: receives a name as in fp32shim_set_floor, or "none". FP32SHIM_NAME_SIZE bytes are enough. If the name does
 * not fit, or for NULL, the result is INVALID_ARGUMENT. On any error a buffer that has room receives "". Errors:
 * INVALID_ARGUMENT, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_floor(char* floor, size_t size);

/* Opens a scope on this thread, inside its open scopes. Products that this thread calls get the scope's label in
 * recordings, and rules can match the label (when = { scope = "inference/..." }). Products that a library calls from
 * its own threads do not: only the thread that calls the BLAS counts.
 *
 * label: a name for this part of the work, such as "layer3.attn". Labels of nested scopes are joined by '/',
 * outermost first: "inference/layer3.attn". A label that begins with '.' is joined without '/': "Model" and
 * ".encoder" make "Model.encoder", one label. NULL or "": the scope adds no label. precision: as in
 * fp32shim_set_precision. The innermost scope with a precision counts. NULL: this scope has none. floor: as in
 * fp32shim_set_floor, until the scope is popped. It cannot loosen the floors of outer scopes. NULL: this scope has
 * none. Errors: INVALID_ARGUMENT (unknown name), NOT_ACTIVE, SCOPE_DEPTH. After an error there is nothing to pop. */
FP32SHIM_API int fp32shim_push_scope(const char* label, const char* precision, const char* floor);

/* Closes the innermost scope that this thread has opened by fp32shim_push_scope. NVTX ranges that were opened
 * inside the scope stay open. When a thread ends, its open scopes are closed.
 * Errors: SCOPE_MISMATCH (none is open), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_pop_scope(void);

/* Returns the number of scopes that this thread has opened by fp32shim_push_scope and not closed; 0 if the library is
 * not active. Code may be left just after a push, before it notes that it has pushed (KeyboardInterrupt, siglongjmp).
 * Such code calls this function before the push, and afterwards pops down to the number returned. */
FP32SHIM_API int fp32shim_scope_depth(void);

/* Reads the policy files again: that of FP32_MATMUL_POLICY, by the variable's first value, and the site's. If they
 * are free of errors, puts them in force at once for all threads. Settings of this API, of the live controls and of
 * the environment stay, with their floors. If the files have errors, the policy in force stays, whatever
 * FP32_MATMUL_ON_ERROR says. Reads files and allocates, so it is not for a hot path.
 * Errors: POLICY_ERROR, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_reload_policy(void);

#ifdef __cplusplus
}
#endif

#endif
