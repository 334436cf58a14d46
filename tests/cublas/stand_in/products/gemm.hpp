// D = epilogue(alpha * op(A) op(B) + beta * C), for one product or a batch. All gemm functions and cublasLt end here.
#pragma once

#include "products/level3.hpp"

namespace stand_in {

struct BatchedMatrix {
    Matrix matrix;
    std::int64_t stride = 0;     // distance between two matrices of a batch, in elements
    bool pointer_array = false;  // matrix.data is a device array of device pointers
};

enum class Activation { none, relu, gelu };

struct Gemm {
    cublasOperation_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
    std::int64_t m = 0, n = 0, k = 0, batch_count = 1;
    Scalar alpha, beta;
    BatchedMatrix a, b, c, d;
    Rounding rounding;
    int fixed_point_bits = 0;  // float64: rows of op(A) and columns of op(B) become fixed-point numbers; 0: not
    int split_k = 1;           // number of parts of each sum, which are added as numbers of a type
    cudaDataType type_of_parts = CUDA_R_32F;
    bool adds_in_fp16 = false;  // each sum is rounded to FP16 after each product
    std::size_t alignment = 1;  // required alignment of pointers in a pointer array; others are a misaligned access

    // The epilogue of cublasLt:
    Activation activation = Activation::none;
    const void* bias = nullptr;  // bias vector: one element per row of D
    cudaDataType bias_type = CUDA_R_32F;
    std::int64_t bias_stride = 0;
    const void* scale_a = nullptr;  // for float8 operands: device address of a float
    const void* scale_b = nullptr;
};

void run(const View& view, const Gemm& gemm);

}  // namespace stand_in
