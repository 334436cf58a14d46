// Refers weakly to functions that its BLAS lacks, and to one that it has. Prints which references are not NULL: in
// code, in a constant table, and in a table that can be written.
//
// NAME: what it calls itself. PROGRAM: built as a program, which also runs a library that it is linked with.

#include <stdio.h>

typedef void function(void);

#define FOR_EACH(visit)                                                                                   \
    visit(sgemm_) visit(dgemm_64_) visit(cblas_dgemm_batch) visit(cblas_sgemm_pack) visit(sgemm_compute_) \
        visit(dgemmt_64_) visit(scipy_cgemm_) visit(cublasSgemm_v2) visit(cublasLtMatmul)

#define DECLARE(name) extern __attribute__((weak)) function name;
FOR_EACH(DECLARE)

#define ADDRESS(name) name,
static function* const constants[] = {FOR_EACH(ADDRESS)};
static function* variables[] = {FOR_EACH(ADDRESS)};
static volatile int is_called = 0;

static void print(const char* where) {
    int i = 0;
#define PRINT(name)                                                                                           \
    printf("%s, %s: %s %s %s %s\n", NAME, where, #name, name ? "code" : "-", constants[i] ? "constant" : "-", \
           variables[i] ? "variable" : "-");                                                                  \
    ++i;
    FOR_EACH(PRINT)
    // Calls that never happen, by which the linker makes entries in the procedure linkage table.
#define CALL(name) name();
    if (is_called) {
        FOR_EACH(CALL)
    }
}

__attribute__((constructor)) static void construct(void) { print("constructor"); }

#ifdef PROGRAM
void run(void);
int main(void) {
    print("main");
    run();
    return 0;
}
#else
void run(void) { print("run"); }
#endif
