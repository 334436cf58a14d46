#include "products/types.hpp"

#include "environment.hpp"

namespace stand_in {

std::size_t size_of(cudaDataType type) {
    switch (type) {
        case CUDA_R_8I:
        case CUDA_R_8F_E4M3:
        case CUDA_R_8F_E5M2:
            return 1;
        case CUDA_R_16F:
        case CUDA_R_16BF:
        case CUDA_C_8I:
            return 2;
        case CUDA_R_32F:
        case CUDA_R_32I:
            return 4;
        case CUDA_R_64F:
        case CUDA_C_32F:
            return 8;
        case CUDA_C_64F:
            return 16;
        default:
            return 0;
    }
}

bool is_complex(cudaDataType type) { return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_8I; }

bool is_float8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool known_compute_type(cublasComputeType_t type) {
    switch (type) {
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC:
        case CUBLAS_COMPUTE_32F_FAST_16F:
        case CUBLAS_COMPUTE_32F_FAST_16BF:
        case CUBLAS_COMPUTE_32F_FAST_TF32:
        case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
        case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return true;
    }
    return false;
}

bool is_fast(cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_32F_FAST_16F || type == CUBLAS_COMPUTE_32F_FAST_16BF ||
           type == CUBLAS_COMPUTE_32F_FAST_TF32;
}

bool is_pedantic(cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_16F_PEDANTIC || type == CUBLAS_COMPUTE_32F_PEDANTIC ||
           type == CUBLAS_COMPUTE_64F_PEDANTIC || type == CUBLAS_COMPUTE_32I_PEDANTIC;
}

bool is_single(cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_32F || type == CUBLAS_COMPUTE_32F_PEDANTIC ||
           type == CUBLAS_COMPUTE_32F_EMULATED_16BFX9 || is_fast(type);
}

bool gemm_types_supported(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
    if (a != b) return false;
    switch (compute) {
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
            return a == CUDA_R_16F && c == CUDA_R_16F;
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return a == CUDA_R_8I && c == CUDA_R_32I;
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC:
            if (a == CUDA_R_16F || a == CUDA_R_16BF)
                return (c == a || c == CUDA_R_32F) && !environment().refuses_half_in_32f;
            if (a == CUDA_R_8I) return c == CUDA_R_32F;
            if (a == CUDA_C_8I) return c == CUDA_C_32F;
            return is_float32(a) && c == a;
        case CUBLAS_COMPUTE_32F_FAST_16F:
        case CUBLAS_COMPUTE_32F_FAST_16BF:
        case CUBLAS_COMPUTE_32F_FAST_TF32:
        case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
            return is_float32(a) && c == a;
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
        case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
            return (a == CUDA_R_64F || a == CUDA_C_64F) && c == a;
    }
    return false;
}

cudaDataType scale_type_of(cublasComputeType_t compute, cudaDataType a) {
    switch (compute) {
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
            return CUDA_R_16F;
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return CUDA_R_32I;
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
        case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
            return is_complex(a) ? CUDA_C_64F : CUDA_R_64F;
        default:
            return is_complex(a) ? CUDA_C_32F : CUDA_R_32F;
    }
}

bool valid(cublasOperation_t operation) {
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}
bool valid(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER; }
bool valid(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
bool valid(cublasDiagType_t diagonal) { return diagonal == CUBLAS_DIAG_NON_UNIT || diagonal == CUBLAS_DIAG_UNIT; }

}  // namespace stand_in
