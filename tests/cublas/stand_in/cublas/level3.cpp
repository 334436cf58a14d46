// Stand-in of libcublas.so.13: symm, hemm, syrk, herk, syr2k, her2k, syrkx, herkx, trmm, trsm, and their Ex forms.

#include <algorithm>
#include <cstring>

#include "cublas/calls.hpp"
#include "cublas/launch.hpp"
#include "products/level3.hpp"

namespace stand_in {
namespace {

Matrix matrix(const Operand& operand) { return {operand.data, operand.type, operand.leading_dimension}; }

bool shorter(const Operand& operand, std::int64_t rows) {
    return operand.leading_dimension < std::max(std::int64_t{1}, rows);
}

Rounding rounding_of(cublasHandle_t handle, Row family, bool complex) {
    Request request = request_of(handle);
    request.family = family;
    request.complex = complex;
    // The functions of this file have no compute type, so none is refused.
    return {permitted_format(request).value_or(Format::fp32), tf32_ties(request.compute_capability)};
}

// Returns true if the call does nothing because nothing is summed. Other calls then scale C by beta.
bool leaves_empty_sum(Caller caller, std::int64_t k) {
    return k == 0 && caller.xt && answer(Row::empty_sum_of_xt) == "untouched";
}

// Runs `operation`, a template on the element type. Uses complex numbers if C is complex.
template <class Operation>
cublasStatus_t launch_typed(Caller caller, bool complex, Operation operation) {
    if (!environment().compute) return CUBLAS_STATUS_SUCCESS;
    return launch(caller, [operation = std::move(operation), complex](const View& view) {
        complex ? operation(view, Complex{}) : operation(view, double{});
    });
}

// The real functions accept both T and C, which mean the same; each complex function accepts one of them.
bool valid_for_rank_k(cublasOperation_t trans, bool complex, bool hermitian) {
    if (!complex) return valid(trans);
    return trans == CUBLAS_OP_N || trans == (hermitian ? CUBLAS_OP_C : CUBLAS_OP_T);
}

}  // namespace

cublasStatus_t symm(Caller caller, const SymmCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool left = call.side == CUBLAS_SIDE_LEFT;
    const std::int64_t order = left ? call.m : call.n;
    if (!valid(call.side) || !valid(call.fill) || call.m < 0 || call.n < 0 || shorter(call.a, order) ||
        shorter(call.b, call.m) || shorter(call.c, call.m) || call.alpha == nullptr || call.beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call.m == 0 || call.n == 0) return CUBLAS_STATUS_SUCCESS;
    const Rounding rounding = rounding_of(caller.handle, Row::symm_honours_math_mode, is_complex(call.c.type));
    const Scalar alpha = scalar_of(caller.handle, call.alpha, call.c.type);
    const Scalar beta = scalar_of(caller.handle, call.beta, call.c.type);
    const auto operation = [=]<class T>(const View& view, T) {
        const T factor = alpha.value<T>(view);
        Dense<T> product(call.m, call.n);
        if (factor != T{0}) {
            const auto a = read_symmetric<T>(view, matrix(call.a), order, call.fill, call.hermitian, rounding);
            const auto b = read<T>(view, matrix(call.b), call.m, call.n, CUBLAS_OP_N, rounding);
            product = scaled(left ? multiply(a, b) : multiply(b, a), factor);
        }
        update(view, matrix(call.c), product, beta.value<T>(view), Part::full, false);
    };
    return launch_typed(caller, is_complex(call.c.type), operation);
}

cublasStatus_t syrk(Caller caller, Row family, const SyrkCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool complex = is_complex(call.c.type);
    const std::int64_t rows = call.trans == CUBLAS_OP_N ? call.n : call.k;
    if (!valid(call.fill) || !valid_for_rank_k(call.trans, complex, call.hermitian) || call.n < 0 || call.k < 0 ||
        shorter(call.a, rows) || shorter(call.c, call.n) || call.alpha == nullptr || call.beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    // Ex forms accept 8-bit integers, or single precision as in their names.
    const bool narrow = call.a.type == CUDA_C_8I && call.c.type == CUDA_C_32F;
    if (call.a.type != call.c.type && !narrow) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool is_float64 = call.c.type == CUDA_R_64F;
    if (!is_float32(call.c.type) && !is_float64) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (call.n == 0 || leaves_empty_sum(caller, call.k)) return CUBLAS_STATUS_SUCCESS;
    const bool is_pedantic = (caller.handle->math_mode.load() & 7) == CUBLAS_PEDANTIC_MATH;
    if (call.is_3m && ((call.k == 0 && answer(Row::empty_sum) == "refused") ||
                       (is_pedantic && answer(Row::pedantic_mode_of_syrk_3m) == "refused")))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const Rounding rounding = rounding_of(caller.handle, family, complex);
    const cudaDataType scale_type = call.hermitian ? CUDA_R_32F : call.c.type;
    const Scalar alpha = scalar_of(caller.handle, call.alpha, scale_type);
    const Scalar beta = scalar_of(caller.handle, call.beta, scale_type);
    const bool is_emulated =
        is_float64 && yes(Row::f64_emulation_beyond_gemm) && emulates_float64(request_of(caller.handle));
    const Emulation emulation = emulation_of({}).value_or(Emulation{});
    const auto operation = [=]<class T>(const View& view, T) {
        const T factor = alpha.value<T>(view);
        Dense<T> product(call.n, call.n);
        if (factor != T{0} && call.k > 0) {
            auto a = read<T>(view, matrix(call.a), call.n, call.k, call.trans, rounding);
            if (is_emulated)
                round_lines(a, true, emulation.fixed_bits > 0 ? emulation.fixed_bits : emulation.most_bits);
            product = scaled(multiply(a, adjoint(a, call.hermitian)), factor);
        }
        update(view, matrix(call.c), product, beta.value<T>(view), part_of(call.fill), call.hermitian);
    };
    return launch_typed(caller, complex, operation);
}

cublasStatus_t syr2k(Caller caller, Row family, const Syr2kCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool complex = is_complex(call.c.type);
    const std::int64_t rows = call.trans == CUBLAS_OP_N ? call.n : call.k;
    if (!valid(call.fill) || !valid_for_rank_k(call.trans, complex, call.hermitian) || call.n < 0 || call.k < 0 ||
        shorter(call.a, rows) || shorter(call.b, rows) || shorter(call.c, call.n) || call.alpha == nullptr ||
        call.beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call.n == 0 || leaves_empty_sum(caller, call.k)) return CUBLAS_STATUS_SUCCESS;
    const Rounding rounding = rounding_of(caller.handle, family, complex);
    const Scalar alpha = scalar_of(caller.handle, call.alpha, call.c.type);
    const Scalar beta = scalar_of(caller.handle, call.beta, call.hermitian ? CUDA_R_32F : call.c.type);
    const auto operation = [=]<class T>(const View& view, T) {
        const T factor = alpha.value<T>(view);
        Dense<T> product(call.n, call.n);
        if (factor != T{0} && call.k > 0) {
            const auto a = read<T>(view, matrix(call.a), call.n, call.k, call.trans, rounding);
            const auto b = read<T>(view, matrix(call.b), call.n, call.k, call.trans, rounding);
            product = scaled(multiply(a, adjoint(b, call.hermitian)), factor);
            if (call.mirrored) product = sum(product, adjoint(product, call.hermitian));
        }
        // The caller of herkx promises a hermitian result, so the diagonal's imaginary part is not examined.
        update(view, matrix(call.c), product, beta.value<T>(view), part_of(call.fill), call.hermitian);
    };
    return launch_typed(caller, complex, operation);
}

namespace {

cublasStatus_t check(const TriangularCall& call) {
    const std::int64_t order = call.side == CUBLAS_SIDE_LEFT ? call.m : call.n;
    const bool bad = !valid(call.side) || !valid(call.fill) || !valid(call.trans) || !valid(call.diagonal) ||
                     call.m < 0 || call.n < 0 || call.batch_count < 0 || shorter(call.a, order) ||
                     shorter(call.b, call.m) || shorter(call.c, call.m) || call.alpha == nullptr;
    return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

bool lower_after(cublasFillMode_t fill, cublasOperation_t trans) {
    return (fill == CUBLAS_FILL_MODE_LOWER) == (trans == CUBLAS_OP_N);
}

}  // namespace

cublasStatus_t trmm(Caller caller, const TriangularCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS || call.m == 0 || call.n == 0) return status;
    const Rounding rounding = rounding_of(caller.handle, Row::trmm_honours_math_mode, is_complex(call.c.type));
    const Scalar alpha = scalar_of(caller.handle, call.alpha, call.c.type);
    const auto operation = [=]<class T>(const View& view, T) {
        const bool left = call.side == CUBLAS_SIDE_LEFT;
        const T factor = alpha.value<T>(view);
        Dense<T> product(call.m, call.n);
        if (factor != T{0}) {
            const auto a = read_triangular<T>(view, matrix(call.a), left ? call.m : call.n, call.fill, call.trans,
                                              call.diagonal, rounding);
            const auto b = read<T>(view, matrix(call.b), call.m, call.n, CUBLAS_OP_N, rounding);
            product = scaled(left ? multiply(a, b) : multiply(b, a), factor);
        }
        update(view, matrix(call.c), product, T{0}, Part::full, false);
    };
    return launch_typed(caller, is_complex(call.c.type), operation);
}

cublasStatus_t trsm(Caller caller, const TriangularCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS || call.m == 0 || call.n == 0 || call.batch_count == 0) return status;
    const Rounding rounding = rounding_of(caller.handle, Row::trsm_honours_math_mode, is_complex(call.c.type));
    const Scalar alpha = scalar_of(caller.handle, call.alpha, call.c.type);
    const auto operation = [=]<class T>(const View& view, T) {
        const bool left = call.side == CUBLAS_SIDE_LEFT;
        const T factor = alpha.value<T>(view);
        for (std::int64_t i = 0; i < call.batch_count; ++i) {
            const auto at = [&](const Operand& operand) {
                Matrix one = matrix(operand);
                if (!call.pointer_arrays) return one;
                const auto* slot = static_cast<const std::byte*>(operand.data) + i * std::int64_t{sizeof(void*)};
                std::memcpy(&one.data, view(slot, sizeof(void*)), sizeof(void*));
                return one;
            };
            Dense<T> solution(call.m, call.n);
            if (factor != T{0}) {
                // Only products inside the solve are rounded, not divisions by the diagonal.
                const auto a = read_triangular<T>(view, at(call.a), left ? call.m : call.n, call.fill, call.trans,
                                                  call.diagonal, {});
                const auto b = read<T>(view, at(call.b), call.m, call.n, CUBLAS_OP_N, {});
                solution = solve(a, scaled(b, factor), left, lower_after(call.fill, call.trans), rounding);
            }
            update(view, at(call.c), solution, T{0}, Part::full, false);
        }
    };
    return launch_typed(caller, is_complex(call.c.type), operation);
}

}  // namespace stand_in

using stand_in::Row;

// The macros write parameter lists and nothing else, as in cublas/gemm.cpp.

#define SYMM(NAME, INT, T, TYPE, HERMITIAN)                                                                          \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, INT m,     \
                                     INT n, const T* alpha, const T* A, INT lda, const T* B, INT ldb, const T* beta, \
                                     T* C, INT ldc) {                                                                \
        return stand_in::symm(                                                                                       \
            handle, {HERMITIAN, side, uplo, m, n, alpha, {A, TYPE, lda}, {B, TYPE, ldb}, beta, {C, TYPE, ldc}});     \
    }

#define SYRK(NAME, INT, T, TYPE, SCALAR, HERMITIAN)                                                                \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, \
                                     INT k, const SCALAR* alpha, const T* A, INT lda, const SCALAR* beta, T* C,    \
                                     INT ldc) {                                                                    \
        return stand_in::syrk(handle, Row::syrk_honours_math_mode,                                                 \
                              {HERMITIAN, uplo, trans, n, k, alpha, {A, TYPE, lda}, beta, {C, TYPE, ldc}});        \
    }

#define SYRK_EX(NAME, INT, SCALAR, HERMITIAN, IS_3M)                                                               \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, \
                                     INT k, const SCALAR* alpha, const void* A, cudaDataType a_type, INT lda,      \
                                     const SCALAR* beta, void* C, cudaDataType c_type, INT ldc) {                  \
        return stand_in::syrk(                                                                                     \
            handle, Row::syrk_ex_honours_math_mode,                                                                \
            {HERMITIAN, uplo, trans, n, k, alpha, {A, a_type, lda}, beta, {C, c_type, ldc}, IS_3M});               \
    }

#define SYR2K(NAME, INT, T, TYPE, SCALAR, HERMITIAN, MIRRORED, FAMILY)                                              \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n,  \
                                     INT k, const T* alpha, const T* A, INT lda, const T* B, INT ldb,               \
                                     const SCALAR* beta, T* C, INT ldc) {                                           \
        return stand_in::syr2k(                                                                                     \
            handle, Row::FAMILY,                                                                                    \
            {HERMITIAN, MIRRORED, uplo, trans, n, k, alpha, {A, TYPE, lda}, {B, TYPE, ldb}, beta, {C, TYPE, ldc}}); \
    }

#define TRMM(NAME, INT, T, TYPE)                                                                                   \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,          \
                                     cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha, \
                                     const T* A, INT lda, const T* B, INT ldb, T* C, INT ldc) {                    \
        return stand_in::trmm(                                                                                     \
            handle, {side, uplo, trans, diag, m, n, alpha, {A, TYPE, lda}, {B, TYPE, ldb}, {C, TYPE, ldc}});       \
    }

#define TRSM(NAME, INT, T, TYPE)                                                                                   \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,          \
                                     cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha, \
                                     const T* A, INT lda, T* B, INT ldb) {                                         \
        return stand_in::trsm(                                                                                     \
            handle, {side, uplo, trans, diag, m, n, alpha, {A, TYPE, lda}, {B, TYPE, ldb}, {B, TYPE, ldb}});       \
    }

#define TRSM_BATCHED(NAME, INT, T, TYPE)                                                                           \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,          \
                                     cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha, \
                                     const T* const A[], INT lda, T* const B[], INT ldb, INT batch_count) {        \
        return stand_in::trsm(handle, {side,                                                                       \
                                       uplo,                                                                       \
                                       trans,                                                                      \
                                       diag,                                                                       \
                                       m,                                                                          \
                                       n,                                                                          \
                                       alpha,                                                                      \
                                       {A, TYPE, lda},                                                             \
                                       {B, TYPE, ldb},                                                             \
                                       {B, TYPE, ldb},                                                             \
                                       true,                                                                       \
                                       batch_count});                                                              \
    }

#define BOTH(FORM, NAME, ...)    \
    FORM(NAME, int, __VA_ARGS__) \
    FORM(NAME##_64, std::int64_t, __VA_ARGS__)

extern "C" {
BOTH(SYMM, cublasSsymm_v2, float, CUDA_R_32F, false)
BOTH(SYMM, cublasCsymm_v2, cuComplex, CUDA_C_32F, false)
BOTH(SYMM, cublasChemm_v2, cuComplex, CUDA_C_32F, true)

BOTH(SYRK, cublasSsyrk_v2, float, CUDA_R_32F, float, false)
BOTH(SYRK, cublasDsyrk_v2, double, CUDA_R_64F, double, false)
BOTH(SYRK, cublasCsyrk_v2, cuComplex, CUDA_C_32F, cuComplex, false)
BOTH(SYRK, cublasCherk_v2, cuComplex, CUDA_C_32F, float, true)

BOTH(SYRK_EX, cublasCsyrkEx, cuComplex, false, false)
BOTH(SYRK_EX, cublasCsyrk3mEx, cuComplex, false, true)
BOTH(SYRK_EX, cublasCherkEx, float, true, false)
BOTH(SYRK_EX, cublasCherk3mEx, float, true, true)

BOTH(SYR2K, cublasSsyr2k_v2, float, CUDA_R_32F, float, false, true, syr2k_honours_math_mode)
BOTH(SYR2K, cublasCsyr2k_v2, cuComplex, CUDA_C_32F, cuComplex, false, true, syr2k_honours_math_mode)
BOTH(SYR2K, cublasCher2k_v2, cuComplex, CUDA_C_32F, float, true, true, syr2k_honours_math_mode)

BOTH(SYR2K, cublasSsyrkx, float, CUDA_R_32F, float, false, false, syrkx_honours_math_mode)
BOTH(SYR2K, cublasCsyrkx, cuComplex, CUDA_C_32F, cuComplex, false, false, syrkx_honours_math_mode)
BOTH(SYR2K, cublasCherkx, cuComplex, CUDA_C_32F, float, true, false, syrkx_honours_math_mode)

BOTH(TRMM, cublasStrmm_v2, float, CUDA_R_32F)
BOTH(TRMM, cublasCtrmm_v2, cuComplex, CUDA_C_32F)

BOTH(TRSM, cublasStrsm_v2, float, CUDA_R_32F)
BOTH(TRSM, cublasCtrsm_v2, cuComplex, CUDA_C_32F)
BOTH(TRSM_BATCHED, cublasStrsmBatched, float, CUDA_R_32F)
BOTH(TRSM_BATCHED, cublasCtrsmBatched, cuComplex, CUDA_C_32F)
}
