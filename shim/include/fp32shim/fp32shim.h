/* The public C API of fp32shim: a program that wants to can name the parts of its work and choose, for itself or
 * for one thread, at which precision its float32 matrix products run. Nobody has to: a program that never heard of
 * fp32shim is governed by the environment and the policy file alone.
 *
 * Where this stands in a call: scopes and precisions set here are read by the step that decides. What wins is, in
 * this order: a guard pin of the audit, a rule of the policy, this thread's innermost scope that names a precision,
 * fp32shim_set_precision, FP32_MATMUL_PRECISION, the policy file's default, the program's own choice. The floor then
 * clamps whatever won, and never the other way round.
 *
 * Finding it: do not link the library, or the program runs with it only. Look the names up instead
 * (dlsym(RTLD_DEFAULT, "fp32shim_push_scope")), as examples/c_api does in C, Python and Fortran; where they are not
 * found the program runs without the shim, and every product as it was called.
 *
 * For all functions:
 * - The result is an fp32shim_status, except where a function says otherwise. Nothing is thrown, nothing exits, errno
 *   is kept, and on any status but FP32SHIM_OK nothing has changed.
 * - All are safe to call from several threads at once, before the first product and after the last. None is meant for
 *   signal handlers. A scope belongs to the thread that pushed it; everything else to the process.
 * - A change holds for products that are called after it returned on the same thread; other threads see it at their
 *   next product, without a lock. A product that has begun keeps its decision, and so does a captured CUDA graph.
 * - Strings are NUL-terminated ASCII, or UTF-8 for labels; they are copied, and stay the caller's. Names of
 *   precisions and floors are case-insensitive.
 * - After fork the child goes on with a copy: the process's settings, and the scopes of the thread that forked.
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

/* Raised when a function here changes its meaning or goes away; not for new functions or new status values. */
#define FP32SHIM_ABI_VERSION 1

/* Bytes, with the NUL, that hold the name of any precision, source or floor. */
#define FP32SHIM_NAME_SIZE 16

/* Scopes that one thread can have pushed by fp32shim_push_scope at a time. */
#define FP32SHIM_MAX_SCOPES 64

/* Bytes, with the NUL, of a thread's labels when they are joined, those of NVTX and ITT ranges included. */
#define FP32SHIM_MAX_SCOPE_PATH 1024

typedef enum fp32shim_status {
    FP32SHIM_OK = 0,
    FP32SHIM_INVALID_ARGUMENT = 1, /* an unknown name, a NULL that is not allowed, a buffer that is too small */
    FP32SHIM_NOT_ACTIVE = 2,       /* FP32_MATMUL_DISABLE=1, or the process runs with elevated rights */
    FP32SHIM_SCOPE_MISMATCH = 3,   /* pop on a thread that has no open scope */
    FP32SHIM_SCOPE_DEPTH = 4,      /* more than FP32SHIM_MAX_SCOPES or FP32SHIM_MAX_SCOPE_PATH; or no memory */
    FP32SHIM_POLICY_ERROR = 5      /* the policy has errors; stderr has the first, and how many more there are */
} fp32shim_status;

/* The FP32SHIM_ABI_VERSION that the loaded library was built with: compare before anything else. Always works. */
FP32SHIM_API int fp32shim_abi_version(void);

/* The version of the loaded library, "0.1.0". Static; never NULL. Always works. */
FP32SHIM_API const char* fp32shim_version(void);

/* What a status means, in English, without a full stop: "pop without push". Static; never NULL, also for numbers that
 * are no fp32shim_status. Always works. */
FP32SHIM_API const char* fp32shim_status_string(int status);

/* Sets the precision of the process; the latest call wins, and `fp32shim set` on the live process is one too.
 *
 * precision: "native" (as the program calls), "highest" (full FP32), "high" (TF32), "medium" (BF16), "auto" (high
 *   where the hardware or the CPU preview has it, else native), or an alias: "ieee", "fp32", "tf32", "bf16". NULL
 *   takes the process's setting back: environment, file and native decide again. "bf16x9",
 *   "bf16x3", "bf16x2", "tf32x3", "xf32", "fp16", "e4m3" and "e5m2" are for rules only.
 * Errors: INVALID_ARGUMENT (unknown name), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_set_precision(const char* precision);

/* What a product of this thread would be asked to run at now, and who says so, if no rule matched it. Rules look at
 * the product itself (sizes, caller, device), so they cannot be answered for here; neither can what the device then
 * does with it. The floor is not applied: fp32shim_get_floor tells it.
 *
 * precision: receives "native", "highest", "high", "medium" or "auto"; never an alias.
 * source: receives "thread", "process", "environment", "file" or "native".
 * Each may be NULL with size 0 (not wanted). FP32SHIM_NAME_SIZE bytes are enough; with fewer than the name takes the
 *   result is INVALID_ARGUMENT. On any error, buffers that have room receive "".
 * Errors: INVALID_ARGUMENT, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_precision(char* precision, size_t precision_size, char* source, size_t source_size);

/* Forbids the whole process anything below `floor`, from now on. A floor can only be raised: of this one, the
 * environment's, the policy's and the thread's open scopes' the strictest holds. It cannot be taken back.
 *
 * floor: "fp32", "bf16x9", "tf32", "bf16" or "fp16", from strict to loose. One that is no stricter than what already
 *   holds is FP32SHIM_OK and changes nothing.
 * Errors: INVALID_ARGUMENT (unknown name, or NULL), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_set_floor(const char* floor);

/* The strictest floor that holds for products of this thread now: environment, policy, process and scopes.
 *
 * floor: receives a name as in fp32shim_set_floor, or "none". FP32SHIM_NAME_SIZE bytes are enough; with fewer than
 *   the name takes, or NULL, the result is INVALID_ARGUMENT. On any error a buffer that has room receives "".
 * Errors: INVALID_ARGUMENT, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_get_floor(char* floor, size_t size);

/* Opens a scope on this thread, inside those that it has open. Products that this thread calls carry its label in
 * recordings, and rules can match it (when = { scope = "inference/..." }). Products that a library calls from threads
 * of its own do not: the thread that calls the BLAS is the one that counts.
 *
 * label: a name for this part of the work, "layer3.attn". Labels of nested scopes are joined by '/', outermost first:
 *   "inference/layer3.attn". One that begins with '.' follows without the '/': "Model" and ".encoder" are
 *   "Model.encoder", one label. NULL or "": the scope adds no label.
 * precision: as in fp32shim_set_precision; the innermost scope that names one counts. NULL: this scope names none.
 * floor: as in fp32shim_set_floor, until the scope is popped; it adds to the floors around it and cannot loosen them.
 *   NULL: this scope sets none.
 * Errors: INVALID_ARGUMENT (unknown name), NOT_ACTIVE, SCOPE_DEPTH. After any of them there is nothing to pop. */
FP32SHIM_API int fp32shim_push_scope(const char* label, const char* precision, const char* floor);

/* Closes the innermost scope that this thread has opened by fp32shim_push_scope; NVTX and ITT ranges that were opened
 * inside it stay open. A thread that ends closes what it left open.
 * Errors: SCOPE_MISMATCH (none is open), NOT_ACTIVE. */
FP32SHIM_API int fp32shim_pop_scope(void);

/* Returns the number of scopes that this thread has opened by fp32shim_push_scope and not closed. Code that may be
 * left between a push and its own note of it (KeyboardInterrupt, siglongjmp) asks for it before, and afterwards pops
 * down to that number. 0 where the library is not active. */
FP32SHIM_API int fp32shim_scope_depth(void);

/* Reads the policy files again (FP32_MATMUL_POLICY as it was read first, and the site's) and, if they are free of
 * errors, puts them in force at once, for all threads. Keeps what this API and the live controls have set, the
 * environment's settings and their floors. Files that have errors change nothing: the policy in force stays, whatever
 * FP32_MATMUL_ON_ERROR says. Reads files and allocates: not for a hot path.
 * Errors: POLICY_ERROR, NOT_ACTIVE. */
FP32SHIM_API int fp32shim_reload_policy(void);

#ifdef __cplusplus
}
#endif

#endif
