// Multiplies from code that is generated at run time: copies of one function at chosen addresses.
//
//   runtime_code places COUNT STRIDE ROUNDS   COUNT places whose return addresses are STRIDE bytes apart, called in
//                                             turn. Prints for each round how many calls took the slow path.
//   runtime_code churn COUNT                  COUNT places, each called twice; prints the growth of memory in KiB
//
// The slow path uses much of the stack, which shows that it was taken. The product itself, and the path of a known
// call site, use little.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

enum { argument_count = 13, place_bytes = 256 };

struct Call {
    sgemm_function* function;
    const void* arguments[argument_count];
};

// void runtime_product(const struct Call*): code that runs at any address it is copied to.
extern const char runtime_product[] __attribute__((visibility("hidden")));
extern const char runtime_product_end[] __attribute__((visibility("hidden")));
#if defined(__x86_64__)
__asm__(
    ".text\n"
    "runtime_product:\n"
    "    pushq %rbx\n"
    "    movq %rdi, %rbx\n"
    "    subq $8, %rsp\n"
    "    pushq 104(%rbx)\n"
    "    pushq 96(%rbx)\n"
    "    pushq 88(%rbx)\n"
    "    pushq 80(%rbx)\n"
    "    pushq 72(%rbx)\n"
    "    pushq 64(%rbx)\n"
    "    pushq 56(%rbx)\n"
    "    movq 8(%rbx), %rdi\n"
    "    movq 16(%rbx), %rsi\n"
    "    movq 24(%rbx), %rdx\n"
    "    movq 32(%rbx), %rcx\n"
    "    movq 40(%rbx), %r8\n"
    "    movq 48(%rbx), %r9\n"
    "    call *(%rbx)\n"
    "    addq $64, %rsp\n"
    "    popq %rbx\n"
    "    ret\n"
    "runtime_product_end:\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    "runtime_product:\n"
    "    stp x29, x30, [sp, #-16]!\n"
    "    mov x29, sp\n"
    "    sub sp, sp, #48\n"
    "    mov x16, x0\n"
    "    ldp x9, x10, [x16, #72]\n"
    "    stp x9, x10, [sp]\n"
    "    ldp x9, x10, [x16, #88]\n"
    "    stp x9, x10, [sp, #16]\n"
    "    ldr x9, [x16, #104]\n"
    "    str x9, [sp, #32]\n"
    "    ldp x0, x1, [x16, #8]\n"
    "    ldp x2, x3, [x16, #24]\n"
    "    ldp x4, x5, [x16, #40]\n"
    "    ldp x6, x7, [x16, #56]\n"
    "    ldr x16, [x16]\n"
    "    blr x16\n"
    "    mov sp, x29\n"
    "    ldp x29, x30, [sp], #16\n"
    "    ret\n"
    "runtime_product_end:\n");
#endif

static const blas_int one = 1;
static const float a = 2, b = 3, alpha = 1, beta = 0;
static float c;
static const struct Call product = {&sgemm_,
                                    {"N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one}};

static void fail(const char* what) {
    printf("%s: %s\n", what, strerror(errno));
    exit(3);
}

/// Calls a copy of the code at `offset` bytes into the room.
static void call_copy(char* room, size_t offset) {
    c = 0;
    ((void (*)(const struct Call*))(room + offset))(&product);
    if (c != 1006) {
        printf("wrong result: %g\n", c);
        exit(4);
    }
}

static void copy_code(char* to) {
    memcpy(to, runtime_product, (size_t)(runtime_product_end - runtime_product));
    __builtin___clear_cache(to, to + place_bytes);
}

/// Part of the stack that is examined, in bytes below this function's frame. Every call uses the part above `near`.
enum { near = 1024, depth = 8192 };

static int goes_deep(char* room, size_t offset) {
    volatile char* const here = __builtin_frame_address(0);
    for (int i = near; i < depth; ++i) here[-i] = 0x5a;
    call_copy(room, offset);
    for (int i = near; i < depth; ++i)
        if (here[-i] != 0x5a) return 1;
    return 0;
}

static size_t count, stride;
static int rounds;

/// Runs in a thread, whose stack is mapped as far down as it is examined.
static void* call_places(void* unused) {
    (void)unused;
    // The kernel allocates only pages that are written, so places may be far apart.
    char* room = mmap(NULL, count * stride + place_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) fail("mmap");
    for (size_t i = 0; i < count; ++i) copy_code(room + i * stride);
    size_t slow = 0;
    for (int round = 0; round < rounds; ++round) {
        slow = 0;
        for (size_t i = 0; i < count; ++i) slow += (size_t)goes_deep(room, i * stride);
        printf("%zu deep calls\n", slow);
    }
    return NULL;
}

/// Returns the size of the process's private memory.
static long anonymous_kib(void) {
    FILE* file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    if (file) fclose(file);
    return kib;
}

static void churn(size_t places) {
    // Maps the pages of one small file again and again: many addresses, little memory, none of it private.
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t file_size = 64 * page;
    const int file = memfd_create("code", 0);
    if (file < 0 || ftruncate(file, (off_t)file_size) != 0) fail("memfd_create");
    char* writable = mmap(NULL, file_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (writable == MAP_FAILED) fail("mmap");
    for (size_t offset = 0; offset < file_size; offset += place_bytes) copy_code(writable + offset);
    const size_t in_file = file_size / place_bytes;
    const size_t windows = (places + in_file - 1) / in_file;
    char* room = mmap(NULL, windows * file_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) fail("mmap");
    long before = 0;
    for (size_t i = 0; i < places; ++i) {
        if (i % in_file == 0 && mmap(room + i * place_bytes, file_size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED,
                                     file, 0) == MAP_FAILED)
            fail("mmap");
        call_copy(room, i * place_bytes);
        call_copy(room, i * place_bytes);
        if (i == 0) before = anonymous_kib();
    }
    printf("grew by %ld KiB\n", anonymous_kib() - before);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    count = (size_t)atol(argv[2]);
    if (strcmp(argv[1], "churn") == 0) {
        churn(count);
        return 0;
    }
    stride = (size_t)atoll(argv[3]);
    rounds = atoi(argv[4]);
    pthread_t thread;
    pthread_create(&thread, NULL, call_places, NULL);
    pthread_join(thread, NULL);
    return 0;
}
