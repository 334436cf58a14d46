// Compares gpu_check/cuda/api.hpp with NVIDIA's headers: values, and arguments of functions. The test passes if this
// file compiles.
#include "gpu_check/cuda/api.hpp"

#include <cstddef>
#include <type_traits>

// NVIDIA's headers define macros of these names, so the values are taken before they are included.
constexpr unsigned long long our_flags[] = {gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32,
                                            gpu::CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F};

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>

namespace {

/// Reduces a type to what a C interface distinguishes: an enumeration becomes int, and a pointer to an incomplete
/// type or to a complex number becomes a void pointer.
template <class T>
struct Passed {
    using Type = std::remove_cv_t<T>;
};
template <class T>
requires std::is_enum_v<T>
struct Passed<T> {
    using Type = int;
};
template <class T>
struct Passed<T*> {
    using Pointee = typename Passed<std::remove_cv_t<T>>::Type;
    using Type = std::conditional_t<std::is_class_v<Pointee>, void, Pointee>*;
};
template <class R, class... A>
struct Passed<R(A...)> {
    using Type = typename Passed<R>::Type(typename Passed<A>::Type...);
};

/// Our void pointer stands for every type of pointer.
template <class Theirs, class Ours>
constexpr bool same_argument = std::is_same_v<typename Passed<Theirs>::Type, typename Passed<Ours>::Type> ||
                               (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours> &&
                                std::is_void_v<std::remove_pointer_t<Ours>>);

template <class Theirs, class Ours>
constexpr bool same = false;
template <class R, class... A, class OurR, class... OurA>
requires(sizeof...(A) == sizeof...(OurA)) constexpr bool same<R(A...), OurR(OurA...)> = same_argument<R, OurR> &&
                                                                                        (same_argument<A, OurA> &&
                                                                                         ...);

/// Our function type, with our types replaced by NVIDIA's.
template <class T>
struct Nvidias {
    using Type = T;
};
#define NVIDIAS(name)           \
    template <>                 \
    struct Nvidias<gpu::name> { \
        using Type = ::name;    \
    }
NVIDIAS(cublasStatus_t);
NVIDIAS(cublasOperation_t);
NVIDIAS(cudaDataType);
NVIDIAS(cublasComputeType_t);
NVIDIAS(cublasGemmAlgo_t);
template <class F>
struct NvidiasFunction;
template <class R, class... A>
struct NvidiasFunction<R(gpu::cublasHandle_t, A...)> {
    using Type = typename Nvidias<R>::Type(::cublasHandle_t, typename Nvidias<A>::Type...);
};
template <class F>
using NvidiasEx = typename NvidiasFunction<F>::Type;

#define SAME_FUNCTION(name) static_assert(same<decltype(::name), decltype(gpu::name)>)
#define SAME_VALUE(name) static_assert(static_cast<long long>(::name) == static_cast<long long>(gpu::name))

static_assert(sizeof(::cublasLtMatmulAlgo_t) == sizeof(gpu::cublasLtMatmulAlgo_t));
static_assert(sizeof(::cublasLtMatmulHeuristicResult_t) == sizeof(gpu::cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(::cublasLtMatmulHeuristicResult_t, state) ==
              offsetof(gpu::cublasLtMatmulHeuristicResult_t, state));

SAME_FUNCTION(cuInit);
SAME_FUNCTION(cuDriverGetVersion);
SAME_FUNCTION(cuDeviceGetCount);
SAME_FUNCTION(cuDeviceGet);
SAME_FUNCTION(cuDeviceGetName);
SAME_FUNCTION(cuDeviceGetAttribute);
SAME_FUNCTION(cuDevicePrimaryCtxRetain);
SAME_FUNCTION(cuCtxSetCurrent);
SAME_FUNCTION(cuCtxSynchronize);
SAME_FUNCTION(cuMemGetInfo_v2);
SAME_FUNCTION(cuMemAlloc_v2);
SAME_FUNCTION(cuMemFree_v2);
SAME_FUNCTION(cuMemcpyHtoD_v2);
SAME_FUNCTION(cuMemcpyDtoH_v2);
SAME_FUNCTION(cuMemsetD32_v2);
SAME_FUNCTION(cuEventCreate);
SAME_FUNCTION(cuEventDestroy_v2);
SAME_FUNCTION(cuEventRecord);
SAME_FUNCTION(cuEventSynchronize);
SAME_FUNCTION(cuStreamCreate);
SAME_FUNCTION(cuStreamBeginCapture_v2);
SAME_FUNCTION(cuStreamEndCapture);
SAME_FUNCTION(cuGraphGetNodes);
SAME_FUNCTION(cuGraphNodeGetType);
SAME_FUNCTION(cuGraphInstantiateWithFlags);
SAME_FUNCTION(cuGraphLaunch);
SAME_FUNCTION(cublasCreate_v2);
SAME_FUNCTION(cublasDestroy_v2);
SAME_FUNCTION(cublasGetVersion_v2);
SAME_FUNCTION(cublasSetStream_v2);
SAME_FUNCTION(cublasSetWorkspace_v2);
SAME_FUNCTION(cublasSetMathMode);
SAME_FUNCTION(cublasSetFixedPointEmulationMantissaBitCountPointer);
SAME_FUNCTION(cublasSgemmGroupedBatched);
SAME_FUNCTION(cublasGemmGroupedBatchedEx);
SAME_FUNCTION(cublasLtCreate);
SAME_FUNCTION(cublasLtDestroy);
SAME_FUNCTION(cublasLtMatmulDescCreate);
SAME_FUNCTION(cublasLtMatmulDescDestroy);
SAME_FUNCTION(cublasLtMatrixLayoutCreate);
SAME_FUNCTION(cublasLtMatrixLayoutDestroy);
SAME_FUNCTION(cublasLtMatmulPreferenceCreate);
SAME_FUNCTION(cublasLtMatmulPreferenceDestroy);
SAME_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
SAME_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
SAME_FUNCTION(cublasLtMatmulAlgoCheck);
SAME_FUNCTION(cublasLtMatmulAlgoCapGetAttribute);
SAME_FUNCTION(cublasLtMatmul);
SAME_FUNCTION(cublasSgemm_v2);
SAME_FUNCTION(cublasDgemm_v2);
SAME_FUNCTION(cublasCgemm_v2);
SAME_FUNCTION(cublasCgemm3m);
SAME_FUNCTION(cublasSgemmStridedBatched);
SAME_FUNCTION(cublasCgemmStridedBatched);
SAME_FUNCTION(cublasCgemm3mStridedBatched);
SAME_FUNCTION(cublasSgemmBatched);
SAME_FUNCTION(cublasCgemmBatched);
SAME_FUNCTION(cublasCgemm3mBatched);
SAME_FUNCTION(cublasSgemmEx);
SAME_FUNCTION(cublasCgemmEx);
SAME_FUNCTION(cublasCgemm3mEx);
SAME_FUNCTION(cublasSsymm_v2);
SAME_FUNCTION(cublasCsymm_v2);
SAME_FUNCTION(cublasChemm_v2);
SAME_FUNCTION(cublasSsyrk_v2);
SAME_FUNCTION(cublasDsyrk_v2);
SAME_FUNCTION(cublasCsyrk_v2);
SAME_FUNCTION(cublasCherk_v2);
SAME_FUNCTION(cublasCsyrkEx);
SAME_FUNCTION(cublasCsyrk3mEx);
SAME_FUNCTION(cublasCherkEx);
SAME_FUNCTION(cublasCherk3mEx);
SAME_FUNCTION(cublasSsyr2k_v2);
SAME_FUNCTION(cublasSsyrkx);
SAME_FUNCTION(cublasCsyr2k_v2);
SAME_FUNCTION(cublasCsyrkx);
SAME_FUNCTION(cublasCher2k_v2);
SAME_FUNCTION(cublasCherkx);
SAME_FUNCTION(cublasStrmm_v2);
SAME_FUNCTION(cublasCtrmm_v2);
SAME_FUNCTION(cublasStrsm_v2);
SAME_FUNCTION(cublasCtrsm_v2);
SAME_FUNCTION(cublasStrsmBatched);
SAME_FUNCTION(cublasCtrsmBatched);

// cublas_api.h overloads these functions in C++, for code of CUDA 10.
static_assert(std::is_pointer_v<decltype(static_cast<NvidiasEx<decltype(gpu::cublasGemmEx)>*>(&::cublasGemmEx))>);
static_assert(std::is_pointer_v<decltype(static_cast<NvidiasEx<decltype(gpu::cublasGemmStridedBatchedEx)>*>(
                  &::cublasGemmStridedBatchedEx))>);
static_assert(
    std::is_pointer_v<decltype(static_cast<NvidiasEx<decltype(gpu::cublasGemmBatchedEx)>*>(&::cublasGemmBatchedEx))>);

SAME_VALUE(CUDA_SUCCESS);
SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(CUDA_ERROR_NO_DEVICE);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_VALUE(CU_EVENT_DEFAULT);
SAME_VALUE(CU_STREAM_NON_BLOCKING);
SAME_VALUE(CUDA_R_32F);
SAME_VALUE(CUDA_R_64F);
SAME_VALUE(CUDA_C_32F);
SAME_VALUE(CUBLAS_STATUS_SUCCESS);
SAME_VALUE(CUBLAS_STATUS_NOT_INITIALIZED);
SAME_VALUE(CUBLAS_STATUS_ALLOC_FAILED);
SAME_VALUE(CUBLAS_STATUS_INVALID_VALUE);
SAME_VALUE(CUBLAS_STATUS_ARCH_MISMATCH);
SAME_VALUE(CUBLAS_STATUS_MAPPING_ERROR);
SAME_VALUE(CUBLAS_STATUS_EXECUTION_FAILED);
SAME_VALUE(CUBLAS_STATUS_INTERNAL_ERROR);
SAME_VALUE(CUBLAS_STATUS_NOT_SUPPORTED);
SAME_VALUE(CUBLAS_STATUS_LICENSE_ERROR);
SAME_VALUE(CUBLAS_OP_N);
SAME_VALUE(CUBLAS_OP_T);
SAME_VALUE(CUBLAS_FILL_MODE_LOWER);
SAME_VALUE(CUBLAS_SIDE_LEFT);
SAME_VALUE(CUBLAS_DIAG_NON_UNIT);
SAME_VALUE(CUBLAS_DIAG_UNIT);
SAME_VALUE(CUBLAS_DEFAULT_MATH);
SAME_VALUE(CUBLAS_TENSOR_OP_MATH);
SAME_VALUE(CUBLAS_PEDANTIC_MATH);
SAME_VALUE(CUBLAS_TF32_TENSOR_OP_MATH);
SAME_VALUE(CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
SAME_VALUE(CUBLAS_COMPUTE_16F);
SAME_VALUE(CUBLAS_COMPUTE_32F);
SAME_VALUE(CUBLAS_COMPUTE_32F_PEDANTIC);
SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_16F);
SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_16BF);
SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_VALUE(CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
SAME_VALUE(CUBLAS_COMPUTE_64F);
SAME_VALUE(CUBLAS_COMPUTE_64F_PEDANTIC);
SAME_VALUE(CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT);
SAME_VALUE(CUBLAS_GEMM_DEFAULT);
SAME_VALUE(CUBLAS_GEMM_DEFAULT_TENSOR_OP);
SAME_VALUE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_VALUE(CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);

constexpr unsigned long long their_flags[] = {CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32,
                                              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F};
constexpr bool flags_are_the_same() {
    for (std::size_t i = 0; i < sizeof our_flags / sizeof *our_flags; ++i)
        if (our_flags[i] != their_flags[i]) return false;
    return true;
}
static_assert(flags_are_the_same());

}  // namespace
