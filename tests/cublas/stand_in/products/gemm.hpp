// D = epilogue(alpha * op(A) op(B) + beta * C), for one product or a batch. All gemm functions and cublasLt end here.
#pragma once

#include "products/level3.hpp"

namespace stand_in {

struct BatchedMatrix {
    Matrix matrix;
    std::int64_t stride = 0;     // distance between two matrices of a batch, in elements
    bool pointer_array = false;  // matrix.data is a device array of device pointers
};

// How a product of float64 becomes one of fixed-point numbers. Each row of op(A) and each column of op(B) has a unit.
struct Emulation {
    bool is_on = false;
    int fixed_bits = 0;  // 0: as many as the operands take; if that is more than `most_bits`, they stay float64
    int most_bits = 79;  // assumed; NVIDIA's headers leave it to the library
    int offset = 0;      // added to the number of bits that the operands take
};

enum class Activation { none, relu, gelu };

struct Gemm {
    cublasOperation_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
    std::int64_t m = 0, n = 0, k = 0, batch_count = 1;
    Scalar alpha, beta;
    BatchedMatrix a, b, c, d;
    Rounding rounding;
    Emulation emulation;
    int split_k = 1;  // number of parts of each sum, which are added as numbers of type_of_parts
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

// Returns the number of bits beside the sign in the fewest whole bytes that have at least `bits` of them.
constexpr int whole_bits(int bits) { return (bits + 8) / 8 * 8 - 1; }

// Multiplies. Returns how many bits the last product of the batch kept; -1: it was not emulated.
int run(const View& view, const Gemm& gemm);

}  // namespace stand_in
