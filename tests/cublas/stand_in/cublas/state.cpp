// Stand-in of libcublas.so.13: handles and their settings.

#include <cerrno>
#include <cstdlib>

#include "cublas/launch.hpp"
#include "environment.hpp"
#include "handle_pool.hpp"

using stand_in::alive;

namespace {

stand_in::HandlePool<cublasContext>& pool() {
    static auto* const instance = new stand_in::HandlePool<cublasContext>;
    return *instance;
}

bool valid_math_mode(int mode) {
    if (answer(stand_in::Row::math_mode_combinations) == "accepted") return true;
    switch (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) {
        case CUBLAS_DEFAULT_MATH:
        case CUBLAS_TENSOR_OP_MATH:
        case CUBLAS_PEDANTIC_MATH:
        case CUBLAS_TF32_TENSOR_OP_MATH:
        case CUBLAS_FP32_EMULATED_BF16X9_MATH:
        case CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
            return true;
        default:
            return false;
    }
}

template <class Value>
cublasStatus_t get(cublasHandle_t handle, std::atomic<Value> cublasContext::*member, Value* value) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *value = (handle->*member).load();
    return CUBLAS_STATUS_SUCCESS;
}

template <class Value>
cublasStatus_t set(cublasHandle_t handle, std::atomic<Value> cublasContext::*member, Value value, bool valid) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
    (handle->*member).store(value);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

void stand_in_read_environment();

cublasStatus_t CUBLASWINAPI cublasCreate_v2(cublasHandle_t* handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    stand_in::environment();
    stand_in_read_environment();
    cublasHandle_t fresh = pool().take();
    cublasStatus_t status = stand_in::attach(&fresh->head);
    // A handle takes device memory. The stand-in takes little, just enough to test a device that has none left.
    constexpr std::size_t bytes_of_handle = 1 << 14;
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (status == CUBLAS_STATUS_SUCCESS && cuMemGetInfo_v2(&free_bytes, &total) == CUDA_SUCCESS &&
        free_bytes < bytes_of_handle)
        status = CUBLAS_STATUS_ALLOC_FAILED;
    if (status != CUBLAS_STATUS_SUCCESS) {
        pool().give_back(fresh);
        return status;
    }
    fresh->stream = nullptr;
    fresh->pointer_mode = CUBLAS_POINTER_MODE_HOST;
    fresh->math_mode = CUBLAS_DEFAULT_MATH;
    fresh->mode_was_lower = false;
    fresh->atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
    fresh->strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
    fresh->sm_count_target = 0;
    fresh->mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
    fresh->most_bits = 0;
    fresh->bit_offset = 0;
    fresh->kept_bits = nullptr;
    *handle = fresh;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasDestroy_v2(cublasHandle_t handle) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    std::uint32_t expected = stand_in::LibraryHandle::alive_mark;
    if (!handle->head.mark.compare_exchange_strong(expected, 0)) return CUBLAS_STATUS_NOT_INITIALIZED;
    pool().give_back(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasGetVersion_v2(cublasHandle_t, int* version) {
    if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasGetProperty(libraryPropertyType type, int* value) {
    return cublasLtGetProperty(type, value);
}

std::size_t CUBLASWINAPI cublasGetCudartVersion(void) { return cublasLtGetCudartVersion(); }

const char* CUBLASWINAPI cublasGetStatusName(cublasStatus_t status) { return cublasLtGetStatusName(status); }

const char* CUBLASWINAPI cublasGetStatusString(cublasStatus_t status) { return cublasLtGetStatusString(status); }

cublasStatus_t CUBLASWINAPI cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    return set(handle, &cublasContext::stream, stream, true);
}

cublasStatus_t CUBLASWINAPI cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
    return get(handle, &cublasContext::stream, stream);
}

// The stand-in needs no workspace, but it checks the arguments.
cublasStatus_t CUBLASWINAPI cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
    return aligned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t CUBLASWINAPI cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
    return get(handle, &cublasContext::pointer_mode, mode);
}

cublasStatus_t CUBLASWINAPI cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
    const bool valid = mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE;
    return set(handle, &cublasContext::pointer_mode, mode, valid);
}

cublasStatus_t CUBLASWINAPI cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
    return get(handle, &cublasContext::atomics_mode, mode);
}

cublasStatus_t CUBLASWINAPI cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
    const bool valid = mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED;
    return set(handle, &cublasContext::atomics_mode, mode, valid);
}

cublasStatus_t CUBLASWINAPI cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
    errno = ENOENT;  // a real library may change it; the shim calls this for itself
    return get(handle, &cublasContext::math_mode, mode);
}

cublasStatus_t CUBLASWINAPI cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    if (alive(handle) && mode != CUBLAS_DEFAULT_MATH && mode != CUBLAS_PEDANTIC_MATH) handle->mode_was_lower = true;
    errno = ENOENT;
    return set(handle, &cublasContext::math_mode, mode, valid_math_mode(mode));
}

cublasStatus_t CUBLASWINAPI cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
    return get(handle, &cublasContext::sm_count_target, count);
}

cublasStatus_t CUBLASWINAPI cublasSetSmCountTarget(cublasHandle_t handle, int count) {
    return set(handle, &cublasContext::sm_count_target, count, count >= 0);
}

cublasStatus_t CUBLASWINAPI cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int* count) {
    return set(handle, &cublasContext::kept_bits, count, true);
}

cublasStatus_t CUBLASWINAPI cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int** count) {
    return get(handle, &cublasContext::kept_bits, count);
}

cublasStatus_t CUBLASWINAPI cublasGetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                                        cudaEmulationMantissaControl* control) {
    return get(handle, &cublasContext::mantissa_control, control);
}

cublasStatus_t CUBLASWINAPI cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                                        cudaEmulationMantissaControl control) {
    const bool valid =
        control == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC || control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED;
    return set(handle, &cublasContext::mantissa_control, control, valid);
}

cublasStatus_t CUBLASWINAPI cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int* bits) {
    return get(handle, &cublasContext::most_bits, bits);
}

cublasStatus_t CUBLASWINAPI cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int bits) {
    return set(handle, &cublasContext::most_bits, bits, bits >= 0);
}

cublasStatus_t CUBLASWINAPI cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int* offset) {
    return get(handle, &cublasContext::bit_offset, offset);
}

cublasStatus_t CUBLASWINAPI cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int offset) {
    return set(handle, &cublasContext::bit_offset, offset, true);
}

cublasStatus_t CUBLASWINAPI cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* strategy) {
    return get(handle, &cublasContext::strategy, strategy);
}

cublasStatus_t CUBLASWINAPI cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t strategy) {
    const bool valid = strategy >= CUBLAS_EMULATION_STRATEGY_DEFAULT && strategy <= CUBLAS_EMULATION_STRATEGY_EAGER;
    return set(handle, &cublasContext::strategy, strategy, valid);
}
}
