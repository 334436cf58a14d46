// Declares the part of CUDA's interface that gpu-check uses, under NVIDIA's names: the driver API, cuBLAS and
// cublasLt of CUDA 12 and 13. The declarations are repeated here so that the program can be built and started without
// CUDA. Functions are declared only for their types, and are looked up at run time.
// tests/cublas/gpu/cuda_declarations_test.cpp compares all declarations with NVIDIA's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpu {

// ---- The driver API
enum CUresult : int { CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100 };
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
enum CUgraphNodeType : int {};
enum CUdevice_attribute : int {
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_GLOBAL = 0 };
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;

CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int* version);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize();
CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total);
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count);
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type);
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);

// ---- Values of cuBLAS
using cublasHandle_t = struct cublasContext*;
enum cudaDataType : int { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_C_32F = 4 };
enum cublasStatus_t : int {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasFillMode_t : int { CUBLAS_FILL_MODE_LOWER = 0 };
enum cublasSideMode_t : int { CUBLAS_SIDE_LEFT = 0 };
enum cublasDiagType_t : int { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasMath_t : int {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH = 8,  // since cuBLAS 13.1
};
enum cublasComputeType_t : int {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78,
    CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT = 79,  // since cuBLAS 13.1
};
enum cublasGemmAlgo_t : int { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

// ---- Types of cuBLAS functions. Scalars and matrices have the type that the function's name tells.
using Operation = cublasOperation_t;
using Fill = cublasFillMode_t;
using Gemm = cublasStatus_t(cublasHandle_t, Operation, Operation, int m, int n, int k, const void* alpha,
                            const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc);
using GemmStridedBatched = cublasStatus_t(cublasHandle_t, Operation, Operation, int m, int n, int k,
                                          const void* alpha, const void* a, int lda, long long stride_a,
                                          const void* b, int ldb, long long stride_b, const void* beta, void* c,
                                          int ldc, long long stride_c, int count);
/// Type of batched gemm functions. `a`, `b` and `c` are arrays with the addresses of matrices.
using GemmBatched = cublasStatus_t(cublasHandle_t, Operation, Operation, int m, int n, int k, const void* alpha,
                                   const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc,
                                   int count);
/// Type of the Ex functions without a compute type: cublasSgemmEx, cublasCgemmEx and cublasCgemm3mEx.
using TypedGemm = cublasStatus_t(cublasHandle_t, Operation, Operation, int m, int n, int k, const void* alpha,
                                 const void* a, cudaDataType, int lda, const void* b, cudaDataType, int ldb,
                                 const void* beta, void* c, cudaDataType, int ldc);
using Symm = cublasStatus_t(cublasHandle_t, cublasSideMode_t, Fill, int m, int n, const void* alpha, const void* a,
                            int lda, const void* b, int ldb, const void* beta, void* c, int ldc);
/// Type of syrk and herk. The scalars of herk are real.
using Syrk = cublasStatus_t(cublasHandle_t, Fill, Operation, int n, int k, const void* alpha, const void* a, int lda,
                            const void* beta, void* c, int ldc);
using TypedSyrk = cublasStatus_t(cublasHandle_t, Fill, Operation, int n, int k, const void* alpha, const void* a,
                                 cudaDataType, int lda, const void* beta, void* c, cudaDataType, int ldc);
/// Type of syr2k, her2k, syrkx and herkx.
using Syr2k = cublasStatus_t(cublasHandle_t, Fill, Operation, int n, int k, const void* alpha, const void* a, int lda,
                             const void* b, int ldb, const void* beta, void* c, int ldc);
using Trmm = cublasStatus_t(cublasHandle_t, cublasSideMode_t, Fill, Operation, cublasDiagType_t, int m, int n,
                            const void* alpha, const void* a, int lda, const void* b, int ldb, void* c, int ldc);
using Trsm = cublasStatus_t(cublasHandle_t, cublasSideMode_t, Fill, Operation, cublasDiagType_t, int m, int n,
                            const void* alpha, const void* a, int lda, void* b, int ldb);
/// Type of batched trsm functions. `a` and `b` are arrays with the addresses of matrices.
using TrsmBatched = cublasStatus_t(cublasHandle_t, cublasSideMode_t, Fill, Operation, cublasDiagType_t, int m, int n,
                                   const void* alpha, const void* a, int lda, void* b, int ldb, int count);

// ---- Functions of cuBLAS
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int* count);

Gemm cublasSgemm_v2, cublasDgemm_v2, cublasCgemm_v2, cublasCgemm3m, cublasHgemm;
GemmStridedBatched cublasSgemmStridedBatched, cublasCgemmStridedBatched, cublasCgemm3mStridedBatched;
GemmBatched cublasSgemmBatched, cublasCgemmBatched, cublasCgemm3mBatched;
cublasStatus_t cublasSgemmGroupedBatched(cublasHandle_t handle, const Operation trans_a[], const Operation trans_b[],
                                         const int m[], const int n[], const int k[], const void* alpha,
                                         const void* a, const int lda[], const void* b, const int ldb[],
                                         const void* beta, void* c, const int ldc[], int group_count,
                                         const int group_size[]);
TypedGemm cublasSgemmEx, cublasCgemmEx, cublasCgemm3mEx;
Symm cublasSsymm_v2, cublasCsymm_v2, cublasChemm_v2;
Syrk cublasSsyrk_v2, cublasDsyrk_v2, cublasCsyrk_v2, cublasCherk_v2;
TypedSyrk cublasCsyrkEx, cublasCsyrk3mEx, cublasCherkEx, cublasCherk3mEx;
Syr2k cublasSsyr2k_v2, cublasSsyrkx, cublasCsyr2k_v2, cublasCsyrkx, cublasCher2k_v2, cublasCherkx;
Trmm cublasStrmm_v2, cublasCtrmm_v2;
Trsm cublasStrsm_v2, cublasCtrsm_v2;
TrsmBatched cublasStrsmBatched, cublasCtrsmBatched;

// Functions that take a compute type:
cublasStatus_t cublasGemmEx(cublasHandle_t handle, Operation trans_a, Operation trans_b, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, Operation trans_a, Operation trans_b, int m, int n,
                                          int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long stride_a, const void* b, cudaDataType b_type, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int count, cublasComputeType_t compute_type,
                                          cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, Operation trans_a, Operation trans_b, int m, int n, int k,
                                   const void* alpha, const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb, const void* beta,
                                   void* const c[], cudaDataType c_type, int ldc, int count,
                                   cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const Operation trans_a[], const Operation trans_b[],
                                          const int m[], const int n[], const int k[], const void* alpha,
                                          const void* const a[], cudaDataType a_type, const int lda[],
                                          const void* const b[], cudaDataType b_type, const int ldb[],
                                          const void* beta, void* const c[], cudaDataType c_type, const int ldc[],
                                          int group_count, const int group_size[], cublasComputeType_t compute_type);

// ---- cublasLt
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque*;
struct cublasLtMatmulAlgo_t {
    std::uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    std::size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
};
enum cublasLtMatmulPreferenceAttributes_t : int { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };
enum cublasLtMatmulAlgoCapAttributes_t : int { CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS = 15 };
/// Bits of CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS.
enum NumericalFlags : unsigned long long {
    CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA = 1ULL << 0,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA = 1ULL << 1,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F = 1ULL << 8,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F = 1ULL << 9,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F = 1ULL << 16,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF = 1ULL << 17,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 = 1ULL << 18,
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F = 1ULL << 19,
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute_type,
                                        cudaDataType scale_type);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found);
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result);
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void* value,
                                                 std::size_t bytes, std::size_t* written);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                              CUstream stream);

}  // namespace gpu
