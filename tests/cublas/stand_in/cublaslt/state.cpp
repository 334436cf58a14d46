// Stand-in of libcublasLt.so.13: handles, versions, names of statuses.

#include "cublaslt/algorithm.hpp"
#include "environment.hpp"
#include "handle_pool.hpp"

namespace {

stand_in::HandlePool<cublasLtContext>& pool() {
    static auto* const instance = new stand_in::HandlePool<cublasLtContext>;
    return *instance;
}

struct StatusText {
    cublasStatus_t status;
    const char* name;
    const char* text;
};

constexpr StatusText status_texts[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "not initialized (fp32shim stand-in)"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "allocation failed (fp32shim stand-in)"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "invalid value (fp32shim stand-in)"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "not on this device (fp32shim stand-in)"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory not accessible (fp32shim stand-in)"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "execution failed (fp32shim stand-in)"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "internal error (fp32shim stand-in)"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "not supported (fp32shim stand-in)"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "license error (fp32shim stand-in)"},
};

}  // namespace

extern "C" {

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t* handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    stand_in::environment();
    cublasLtHandle_t fresh = pool().take();
    const cublasStatus_t status = stand_in::attach(&fresh->head);
    if (status != CUBLAS_STATUS_SUCCESS) {
        pool().give_back(fresh);
        return status;
    }
    *handle = fresh;
    return CUBLAS_STATUS_SUCCESS;
}

// Reads the environment. libcublas calls this for its first handle, which counts as the first of cublasLt, too.
__attribute__((visibility("default"))) void stand_in_read_environment() { stand_in::environment(); }

cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::uint32_t expected = stand_in::LibraryHandle::alive_mark;
    if (!handle->head.mark.compare_exchange_strong(expected, 0)) return CUBLAS_STATUS_NOT_INITIALIZED;
    pool().give_back(handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char* CUBLASWINAPI cublasLtGetStatusName(cublasStatus_t status) {
    for (const StatusText& text : status_texts)
        if (text.status == status) return text.name;
    return "unrecognized status";
}

const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status) {
    for (const StatusText& text : status_texts)
        if (text.status == status) return text.text;
    return "unrecognized status (fp32shim stand-in)";
}

std::size_t CUBLASWINAPI cublasLtGetVersion(void) { return CUBLAS_VERSION; }

std::size_t CUBLASWINAPI cublasLtGetCudartVersion(void) { return CUDART_VERSION; }

cublasStatus_t CUBLASWINAPI cublasLtGetProperty(libraryPropertyType type, int* value) {
    if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    switch (type) {
        case MAJOR_VERSION:
            *value = CUBLAS_VER_MAJOR;
            return CUBLAS_STATUS_SUCCESS;
        case MINOR_VERSION:
            *value = CUBLAS_VER_MINOR;
            return CUBLAS_STATUS_SUCCESS;
        case PATCH_LEVEL:
            *value = CUBLAS_VER_PATCH;
            return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}
}
