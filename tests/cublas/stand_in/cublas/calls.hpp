// Implementations of cuBLAS's products, which the v2, legacy v1 and cublasXt functions share. Each checks its
// arguments in the order in which the reference lists the errors, decides the format, and queues the work.
#pragma once

#include <cstdint>

#include "cublas/handle.hpp"

namespace stand_in {

struct Caller {
    cublasHandle_t handle;
    // true for cublasXt: operands may be in host memory, and the call returns when the work is done.
    bool xt = false;

    Caller(cublasHandle_t caller_handle, bool through_xt = false) : handle(caller_handle), xt(through_xt) {}
};

enum class Batch { single, strided, pointers };

struct Operand {
    const void* data;
    cudaDataType type;
    std::int64_t leading_dimension;
    std::int64_t stride = 0;
};

struct GemmCall {
    cublasOperation_t trans_a, trans_b;
    std::int64_t m, n, k;
    const void* alpha;
    Operand a, b;
    const void* beta;
    Operand c;
    Batch batch = Batch::single;
    std::int64_t batch_count = 1;
    cudaDataType scale_type = CUDA_R_32F;
};

// Functions without a compute type. `family` tells if the math mode affects them.
cublasStatus_t gemm(Caller caller, Row family, const GemmCall& call);

// C = alpha * A * B + beta * C, with A symmetric or hermitian, on the left or right side.
struct SymmCall {
    bool hermitian;
    cublasSideMode_t side;
    cublasFillMode_t fill;
    std::int64_t m, n;
    const void* alpha;
    Operand a, b;
    const void* beta;
    Operand c;
};
cublasStatus_t symm(Caller caller, const SymmCall& call);

// One triangle of C = alpha * op(A) op(A)' + beta * C. The ' means transposition, and for hermitian products also
// conjugation.
struct SyrkCall {
    bool hermitian;
    cublasFillMode_t fill;
    cublasOperation_t trans;
    std::int64_t n, k;
    const void* alpha;
    Operand a;
    const void* beta;
    Operand c;
    bool is_3m = false;
};
cublasStatus_t syrk(Caller caller, Row family, const SyrkCall& call);

// A rank-k update with two matrices: alpha * op(A) op(B)'. The 2k forms also add its mirror image.
struct Syr2kCall {
    bool hermitian;
    bool mirrored;
    cublasFillMode_t fill;
    cublasOperation_t trans;
    std::int64_t n, k;
    const void* alpha;
    Operand a, b;
    const void* beta;
    Operand c;
};
cublasStatus_t syr2k(Caller caller, Row family, const Syr2kCall& call);

// trmm: C = alpha * op(A) * B. trsm: solves op(A) X = alpha * B, where B, called C here, becomes X.
struct TriangularCall {
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasOperation_t trans;
    cublasDiagType_t diagonal;
    std::int64_t m, n;
    const void* alpha;
    Operand a, b, c;
    bool pointer_arrays = false;
    std::int64_t batch_count = 1;
};
cublasStatus_t trmm(Caller caller, const TriangularCall& call);
cublasStatus_t trsm(Caller caller, const TriangularCall& call);

}  // namespace stand_in
