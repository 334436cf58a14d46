// Combinations of data types and compute types, as the tables of cublasGemmEx and cublasLtMatmul list them.
#pragma once

#pragma GCC visibility push(default)
#include <cublas_api.h>
#pragma GCC visibility pop

#include <cstddef>

namespace stand_in {

std::size_t size_of(cudaDataType type);  // 0: the stand-in does not know the type
bool is_complex(cudaDataType type);
bool is_float8(cudaDataType type);

bool known_compute_type(cublasComputeType_t type);
bool is_fast(cublasComputeType_t type);  // true for FAST_16F, FAST_16BF, FAST_TF32
bool is_pedantic(cublasComputeType_t type);
bool is_single(cublasComputeType_t type);  // true for 32F in all its forms

// Returns true for supported types of C = alpha * A * B + beta * C, with A and B of one type.
bool gemm_types_supported(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c);
// Returns the type of alpha and beta for this combination.
cudaDataType scale_type_of(cublasComputeType_t compute, cudaDataType a);

// Returns true for 32-bit floating-point operands, which a FAST type rounds.
inline bool is_float32(cudaDataType type) { return type == CUDA_R_32F || type == CUDA_C_32F; }

bool valid(cublasOperation_t operation);
bool valid(cublasFillMode_t fill);
bool valid(cublasSideMode_t side);
bool valid(cublasDiagType_t diagonal);

}  // namespace stand_in
