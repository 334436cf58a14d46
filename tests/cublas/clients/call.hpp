// One product that a client is about to call, and the argument lists of all families. The members convert to the type
// of each parameter (`const float*` or `const void*`, int or size_t, enum or letter, pointer to a scalar or its
// value). So one list serves a function, its `_64` form, its Ex form, and its ancestor in cublas.h.
#pragma once

#include <cublas_api.h>

#include <complex>
#include <cstdint>
#include <string_view>
#include <vector>

namespace clients {

struct Pointer {
    void* address = nullptr;

    template <class T>
    operator T*() const {
        return static_cast<T*>(address);
    }
};

/// alpha or beta: the bytes in the function's scalar type, on the host or on the device.
struct Scalar {
    std::complex<double> value;
    alignas(16) unsigned char bytes[16] = {};
    void* address = nullptr;

    template <class T>
    operator T*() const {
        return static_cast<T*>(address);
    }
    operator float() const { return static_cast<float>(value.real()); }
    operator cuComplex() const { return {static_cast<float>(value.real()), static_cast<float>(value.imag())}; }
};

/// An option: the BLAS letter, and cuBLAS's value for it. An unknown letter becomes a value that cuBLAS does not
/// have.
struct Option {
    char letter = 0;

    operator char() const { return letter; }
    operator cublasOperation_t() const { return value<cublasOperation_t>("NTC"); }
    operator cublasSideMode_t() const { return value<cublasSideMode_t>("LR"); }
    operator cublasFillMode_t() const { return value<cublasFillMode_t>("LU"); }
    operator cublasDiagType_t() const { return value<cublasDiagType_t>("NU"); }

  private:
    /// The enums of cublas_api.h count from 0 in the order of these letters.
    template <class Enum>
    Enum value(std::string_view letters) const {
        const std::size_t position = letters.find(letter);
        return static_cast<Enum>(position == std::string_view::npos ? 77 : position);
    }
};
static_assert(CUBLAS_OP_T == 1 && CUBLAS_OP_C == 2 && CUBLAS_SIDE_RIGHT == 1 && CUBLAS_FILL_MODE_UPPER == 1 &&
              CUBLAS_DIAG_UNIT == 1);

/// One value per group, as int or as int64_t.
struct Integers {
    std::vector<int> narrow;
    std::vector<std::int64_t> wide;

    void push_back(std::int64_t value) {
        narrow.push_back(static_cast<int>(value));
        wide.push_back(value);
    }
    operator const int*() const { return narrow.data(); }
    operator const std::int64_t*() const { return wide.data(); }
};

/// The arrays of a grouped batch.
struct Groups {
    std::vector<cublasOperation_t> trans_a, trans_b;
    Integers m, n, k, lda, ldb, ldc, size;
    std::vector<float> alpha, beta;
    int count = 0;
};

struct Call {
    cublasHandle_t handle = nullptr;
    Option trans_a, trans_b, side, uplo, diag;
    std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, stride_a = 0, stride_b = 0, stride_c = 0, batch = 1;
    Scalar alpha, beta;
    Pointer a, b, c;  ///< in a batch of pointers, the device address of the array
    Groups groups;
    cudaDataType_t type = CUDA_R_32F, type_c = CUDA_R_32F;
    cublasComputeType_t compute_type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;
};

#define GEMM_OPTIONS c.trans_a, c.trans_b, c.m, c.n, c.k, c.alpha
#define GEMM GEMM_OPTIONS, c.a, c.lda, c.b, c.ldb, c.beta, c.c, c.ldc
#define GEMM_TYPED GEMM_OPTIONS, c.a, c.type, c.lda, c.b, c.type, c.ldb, c.beta, c.c, c.type_c, c.ldc
#define GEMM_EX GEMM_TYPED, c.compute_type, c.algo
#define GEMM_STRIDED \
    GEMM_OPTIONS, c.a, c.lda, c.stride_a, c.b, c.ldb, c.stride_b, c.beta, c.c, c.ldc, c.stride_c, c.batch
#define GEMM_STRIDED_EX                                                                                         \
    GEMM_OPTIONS, c.a, c.type, c.lda, c.stride_a, c.b, c.type, c.ldb, c.stride_b, c.beta, c.c, c.type_c, c.ldc, \
        c.stride_c, c.batch, c.compute_type, c.algo
#define GEMM_BATCHED GEMM, c.batch
#define GEMM_BATCHED_EX GEMM_TYPED, c.batch, c.compute_type, c.algo
#define GROUP_OPTIONS c.groups.trans_a.data(), c.groups.trans_b.data(), c.groups.m, c.groups.n, c.groups.k
#define GEMM_GROUPED                                                                                       \
    GROUP_OPTIONS, c.groups.alpha.data(), c.a, c.groups.lda, c.b, c.groups.ldb, c.groups.beta.data(), c.c, \
        c.groups.ldc, c.groups.count, c.groups.size
#define GEMM_GROUPED_EX                                                                         \
    GROUP_OPTIONS, c.groups.alpha.data(), c.a, c.type, c.groups.lda, c.b, c.type, c.groups.ldb, \
        c.groups.beta.data(), c.c, c.type_c, c.groups.ldc, c.groups.count, c.groups.size, c.compute_type
#define SYMM c.side, c.uplo, c.m, c.n, c.alpha, c.a, c.lda, c.b, c.ldb, c.beta, c.c, c.ldc
#define SYRK c.uplo, c.trans_a, c.n, c.k, c.alpha, c.a, c.lda, c.beta, c.c, c.ldc
#define SYRK_TYPED c.uplo, c.trans_a, c.n, c.k, c.alpha, c.a, c.type, c.lda, c.beta, c.c, c.type_c, c.ldc
#define SYR2K c.uplo, c.trans_a, c.n, c.k, c.alpha, c.a, c.lda, c.b, c.ldb, c.beta, c.c, c.ldc
#define TRMM c.side, c.uplo, c.trans_a, c.diag, c.m, c.n, c.alpha, c.a, c.lda, c.b, c.ldb, c.c, c.ldc
#define TRSM c.side, c.uplo, c.trans_a, c.diag, c.m, c.n, c.alpha, c.a, c.lda, c.c, c.ldc
#define TRSM_BATCHED TRSM, c.batch

}  // namespace clients
