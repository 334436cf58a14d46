// The descriptors of cublasLt, which are plain memory and work without a device. The test makes them in each way, and
// reads, writes and reads back every attribute, in the right size and in wrong ones.
#include "client.h"

#include <cublasLt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { attribute_count = 64, largest_attribute = 256, memory_size = 2048 };

typedef cublasStatus_t (*Get)(void* descriptor, int attribute, void* value, size_t size, size_t* written);
typedef cublasStatus_t (*Set)(void* descriptor, int attribute, const void* value, size_t size);
typedef cublasStatus_t (*Destroy)(void* descriptor);

struct Kind {
    const char* name;
    cublasStatus_t (*create)(void** descriptor);
    cublasStatus_t (*init)(void* descriptor, size_t size);
    const char *get, *set, *destroy;
};

#define NAMED(name) ((__typeof__(&name))function_named(#name))

static cublasStatus_t create_product(void** descriptor) {
    return NAMED(cublasLtMatmulDescCreate)((cublasLtMatmulDesc_t*)descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F);
}
static cublasStatus_t init_product(void* descriptor, size_t size) {
    return NAMED(cublasLtMatmulDescInit_internal)(descriptor, size, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
}
static cublasStatus_t create_layout(void** descriptor) {
    return NAMED(cublasLtMatrixLayoutCreate)((cublasLtMatrixLayout_t*)descriptor, CUDA_R_32F, 100, 200, 300);
}
static cublasStatus_t init_layout(void* descriptor, size_t size) {
    return NAMED(cublasLtMatrixLayoutInit_internal)(descriptor, size, CUDA_R_32F, 100, 200, 300);
}
static cublasStatus_t create_preference(void** descriptor) {
    return NAMED(cublasLtMatmulPreferenceCreate)((cublasLtMatmulPreference_t*)descriptor);
}
static cublasStatus_t init_preference(void* descriptor, size_t size) {
    return NAMED(cublasLtMatmulPreferenceInit_internal)(descriptor, size);
}
static cublasStatus_t create_transform(void** descriptor) {
    return NAMED(cublasLtMatrixTransformDescCreate)((cublasLtMatrixTransformDesc_t*)descriptor, CUDA_R_32F);
}
static cublasStatus_t init_transform(void* descriptor, size_t size) {
    return NAMED(cublasLtMatrixTransformDescInit_internal)(descriptor, size, CUDA_R_32F);
}

static const struct Kind kinds[] = {
    {"product", create_product, init_product, "cublasLtMatmulDescGetAttribute", "cublasLtMatmulDescSetAttribute",
     "cublasLtMatmulDescDestroy"},
    {"layout", create_layout, init_layout, "cublasLtMatrixLayoutGetAttribute", "cublasLtMatrixLayoutSetAttribute",
     "cublasLtMatrixLayoutDestroy"},
    {"preference", create_preference, init_preference, "cublasLtMatmulPreferenceGetAttribute",
     "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulPreferenceDestroy"},
    {"transform", create_transform, init_transform, "cublasLtMatrixTransformDescGetAttribute",
     "cublasLtMatrixTransformDescSetAttribute", "cublasLtMatrixTransformDescDestroy"},
};

static void print_bytes(const unsigned char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
}

/// Returns the size of an attribute; 0: the descriptor has no attribute of that number.
static size_t attribute_size(Get get, void* descriptor, int attribute) {
    size_t size = 0;
    const cublasStatus_t status = get(descriptor, attribute, NULL, 0, &size);
    return status == CUBLAS_STATUS_SUCCESS && size <= largest_attribute ? size : 0;
}

static void print_attributes(Get get, void* descriptor) {
    for (int attribute = 0; attribute < attribute_count; ++attribute) {
        unsigned char value[largest_attribute];
        memset(value, 0xEE, sizeof value);
        size_t written = 0;
        const size_t size = attribute_size(get, descriptor, attribute);
        printf("  %d: %d ", attribute, (int)get(descriptor, attribute, value, size == 0 ? 8 : size, &written));
        print_bytes(value, written <= sizeof value ? written : 0);
        putchar('\n');
    }
}

/// Writes small numbers, which most attributes accept, in the right size and in neighbouring sizes.
static void set_attributes(Get get, Set set, void* descriptor) {
    for (int attribute = 0; attribute < attribute_count; ++attribute) {
        const size_t size = attribute_size(get, descriptor, attribute);
        printf("  set %d:", attribute);
        for (unsigned char number = 1; number <= 16; number *= 2) {
            unsigned char value[largest_attribute + 1] = {number};
            if (size > 0) printf(" %d", (int)set(descriptor, attribute, value, size - 1));
            printf(" %d %d", (int)set(descriptor, attribute, value, size + 1),
                   (int)set(descriptor, attribute, value, size));
        }
        putchar('\n');
    }
}

static void call_created(const struct Kind* kind) {
    const Get get = (Get)function_named(kind->get);
    const Set set = (Set)function_named(kind->set);
    void* descriptor = NULL;
    printf("created %s: %d\n", kind->name, (int)kind->create(&descriptor));
    print_attributes(get, descriptor);
    set_attributes(get, set, descriptor);
    print_attributes(get, descriptor);
    printf("destroyed: %d, nothing: %d\n", (int)((Destroy)function_named(kind->destroy))(descriptor),
           (int)((Destroy)function_named(kind->destroy))(NULL));
}

static void call_in_own_memory(const struct Kind* kind, size_t size) {
    const Get get = (Get)function_named(kind->get);
    const Set set = (Set)function_named(kind->set);
    unsigned char* memory = malloc(memory_size);
    unsigned char* copy = malloc(memory_size);
    memset(memory, 0xA5, memory_size);
    const cublasStatus_t status = kind->init(memory, size);
    printf("%s of %zu bytes: %d ", kind->name, size, (int)status);
    size_t end = memory_size;
    while (end > 0 && memory[end - 1] == 0xA5) --end;
    print_bytes(memory, end);
    putchar('\n');
    if (status == CUBLAS_STATUS_SUCCESS && size % 64 == 0) {
        set_attributes(get, set, memory);
        memcpy(copy, memory, memory_size);  // programs may copy descriptors, which are plain memory
        print_attributes(get, memory);
        print_attributes(get, copy);
    }
    free(copy);
    free(memory);
}

void call_lt_descriptors(void) {
    printf("version %zu, runtime %zu\n", NAMED(cublasLtGetVersion)(), NAMED(cublasLtGetCudartVersion)());
    for (int status = 0; status < 20; ++status)
        printf("%s: %s\n", NAMED(cublasLtGetStatusName)((cublasStatus_t)status),
               NAMED(cublasLtGetStatusString)((cublasStatus_t)status));
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
        call_created(&kinds[kind]);
        for (size_t size = 0; size <= 512; size += 8) call_in_own_memory(&kinds[kind], size);
    }
    // Tries compute types that exist and some that do not.
    for (int compute_type = 0; compute_type < 100; ++compute_type) {
        cublasLtMatmulDesc_t descriptor = NULL;
        const cublasStatus_t status =
            NAMED(cublasLtMatmulDescCreate)(&descriptor, (cublasComputeType_t)compute_type, CUDA_R_32F);
        printf("compute type %d: %d\n", compute_type, (int)status);
        if (status == CUBLAS_STATUS_SUCCESS) NAMED(cublasLtMatmulDescDestroy)(descriptor);
    }
}
