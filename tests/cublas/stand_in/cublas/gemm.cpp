// Stand-in of libcublas.so.13: gemm in all its forms.
//
// A single product of 32-bit operands goes on to cublasLtMatmul, as in the real library, so that a preload that
// watches cublasLt sees an inner call. Its compute type names exactly the format that was decided here.

#include <algorithm>
#include <cstring>

#include "cublas/calls.hpp"
#include "cublas/launch.hpp"
#include "cublaslt/layouts.hpp"
#include "products/gemm.hpp"

namespace stand_in {
namespace {

cublasStatus_t check(const GemmCall& call) {
    if (!valid(call.trans_a) || !valid(call.trans_b)) return CUBLAS_STATUS_INVALID_VALUE;
    if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch_count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    const std::int64_t one = 1;
    if (call.a.leading_dimension < std::max(one, call.trans_a == CUBLAS_OP_N ? call.m : call.k) ||
        call.b.leading_dimension < std::max(one, call.trans_b == CUBLAS_OP_N ? call.k : call.n) ||
        call.c.leading_dimension < std::max(one, call.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call.alpha == nullptr || call.beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

bool is_float64(cudaDataType type) { return type == CUDA_R_64F || type == CUDA_C_64F; }

BatchedMatrix batched(const Operand& operand, Batch batch) {
    return {{operand.data, operand.type, operand.leading_dimension}, operand.stride, batch == Batch::pointers};
}

std::optional<Emulation> mantissa_settings_of(cublasHandle_t handle) {
    return emulation_of({handle->mantissa_control.load(), handle->most_bits.load(), handle->bit_offset.load()});
}

// Lets a half product add in FP16, or add the parts of its sums in the type of its result, where that is permitted.
void add_in_half(const GemmCall& call, const Request& request, Gemm& gemm) {
    if (call.a.type != CUDA_R_16F && call.a.type != CUDA_R_16BF) return;
    const bool is_hgemm = !request.compute_type && call.scale_type == CUDA_R_16F;
    const bool is_16f =
        request.compute_type == CUBLAS_COMPUTE_16F || request.compute_type == CUBLAS_COMPUTE_16F_PEDANTIC;
    gemm.adds_in_fp16 = (is_hgemm && yes(Row::hgemm_adds_in_fp16)) || (is_16f && yes(Row::compute_16f_adds_in_fp16));
    const bool forbids = (request.math_mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) != 0 ||
                         request.compute_type == CUBLAS_COMPUTE_32F_PEDANTIC;
    if (forbids || !yes(Row::reduced_precision_reduction)) return;
    gemm.split_k = 4;
    gemm.type_of_parts = call.c.type;
}

Gemm gemm_of(cublasHandle_t handle, const GemmCall& call, Format format, const Request& request) {
    Gemm gemm;
    gemm.trans_a = call.trans_a;
    gemm.trans_b = call.trans_b;
    gemm.m = call.m;
    gemm.n = call.n;
    gemm.k = call.k;
    gemm.batch_count = call.batch_count;
    gemm.alpha = scalar_of(handle, call.alpha, call.scale_type);
    gemm.beta = scalar_of(handle, call.beta, call.scale_type);
    gemm.a = batched(call.a, call.batch);
    gemm.b = batched(call.b, call.batch);
    gemm.c = gemm.d = batched(call.c, call.batch);
    gemm.rounding = {format, tf32_ties(handle->head.compute_capability)};
    if (is_float32(call.a.type) && format != Format::fp32 && format != Format::bf16x9) gemm.alignment = 16;
    add_in_half(call, request, gemm);
    if (is_float64(call.a.type) && emulates_float64(request))
        gemm.emulation = mantissa_settings_of(handle).value_or(Emulation{});
    return gemm;
}

cublasComputeType_t exact_compute_type(Format format) {
    switch (format) {
        case Format::tf32:
            // Under NVIDIA_TF32_OVERRIDE=0 only the narrower types still lead to TF32.
            if (!environment().tf32_override_off) return CUBLAS_COMPUTE_32F_FAST_TF32;
            return answer(Row::fast_16bf) == "tf32" ? CUBLAS_COMPUTE_32F_FAST_16BF : CUBLAS_COMPUTE_32F_FAST_16F;
        case Format::bf16:
            return CUBLAS_COMPUTE_32F_FAST_16BF;
        case Format::fp16:
            return CUBLAS_COMPUTE_32F_FAST_16F;
        case Format::bf16x9:
            return CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
        case Format::fp32:
            break;
    }
    return CUBLAS_COMPUTE_32F_PEDANTIC;
}

cublasStatus_t through_lt(cublasHandle_t handle, const GemmCall& call, Format format) {
    cublasLtMatmulDescOpaque_t operation;
    auto* const descriptor = reinterpret_cast<MatmulDescriptor*>(&operation);
    initialize(descriptor, sizeof operation, exact_compute_type(format), call.scale_type);
    descriptor->trans_a = call.trans_a;
    descriptor->trans_b = call.trans_b;
    descriptor->pointer_mode = handle->pointer_mode.load(std::memory_order_relaxed);
    cublasLtMatrixLayoutOpaque_t a, b, c;
    const auto layout = [](cublasLtMatrixLayoutOpaque_t* opaque, const Operand& operand, cublasOperation_t operation,
                           std::int64_t rows, std::int64_t columns) {
        if (operation != CUBLAS_OP_N) std::swap(rows, columns);
        initialize(reinterpret_cast<LayoutDescriptor*>(opaque), operand.type, static_cast<std::uint64_t>(rows),
                   static_cast<std::uint64_t>(columns), operand.leading_dimension);
    };
    layout(&a, call.a, call.trans_a, call.m, call.k);
    layout(&b, call.b, call.trans_b, call.k, call.n);
    layout(&c, call.c, CUBLAS_OP_N, call.m, call.n);
    return cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), &operation, call.alpha, call.a.data, &a,
                          call.b.data, &b, call.beta, call.c.data, &c, const_cast<void*>(call.c.data), &c, nullptr,
                          nullptr, 0, handle->stream.load(std::memory_order_relaxed));
}

cublasStatus_t run(Caller caller, const GemmCall& call, Request request) {
    request.complex = is_complex(call.a.type);
    const std::optional<Format> format = permitted_format(request);
    if (!format) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (environment().lacks_memory ||
        (environment().fast_lacks_memory && *format < Format::bf16x9 && *format != Format::fp32) ||
        (environment().fast_lacks_memory && is_float64(call.a.type) && emulates_float64(request)))
        return CUBLAS_STATUS_ALLOC_FAILED;
    if (is_float64(call.a.type) && emulates_float64(request) && !mantissa_settings_of(caller.handle))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!environment().compute || call.m == 0 || call.n == 0 || call.batch_count == 0) return CUBLAS_STATUS_SUCCESS;
    if (call.k == 0 && caller.xt && answer(Row::empty_sum_of_xt) == "untouched") return CUBLAS_STATUS_SUCCESS;
    if (call.k == 0 && request.complex && request.compute_type && call.batch == Batch::pointers &&
        answer(Row::empty_sum) == "refused")
        return CUBLAS_STATUS_NOT_SUPPORTED;
    cublasHandle_t const handle = caller.handle;
    if (!caller.xt && call.batch == Batch::single && is_float32(call.a.type) && call.k > 0)
        return through_lt(handle, call, *format);
    int* const kept_bits = is_float64(call.a.type) ? handle->kept_bits.load() : nullptr;
    return launch(caller, [gemm = gemm_of(handle, call, *format, request), kept_bits](const View& view) {
        const int kept = run(view, gemm);
        if (kept_bits != nullptr) std::memcpy(view(kept_bits, sizeof kept), &kept, sizeof kept);
    });
}

bool is_algorithm(cublasGemmAlgo_t algorithm) {
    return (algorithm >= CUBLAS_GEMM_DEFAULT && algorithm <= CUBLAS_GEMM_ALGO23) ||
           (algorithm >= CUBLAS_GEMM_DEFAULT_TENSOR_OP && algorithm <= CUBLAS_GEMM_ALGO15_TENSOR_OP) ||
           algorithm == CUBLAS_GEMM_AUTOTUNE;
}

cublasStatus_t gemm_ex(cublasHandle_t handle, GemmCall call, cublasComputeType_t compute_type,
                       cublasGemmAlgo_t algorithm) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!known_compute_type(compute_type) || !is_algorithm(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
    call.scale_type = scale_type_of(compute_type, call.a.type);
    const cublasStatus_t status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!gemm_types_supported(compute_type, call.a.type, call.b.type, call.c.type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (compute_type == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT &&
        answer(Row::f64_emulated_type_in_gemm_ex) == "refused")
        return CUBLAS_STATUS_NOT_SUPPORTED;
    Request request = request_of(handle);
    request.compute_type = compute_type;
    request.tensor_op_algorithm =
        algorithm >= CUBLAS_GEMM_DEFAULT_TENSOR_OP && algorithm <= CUBLAS_GEMM_ALGO15_TENSOR_OP;
    return run(handle, call, request);
}

// SgemmEx and CgemmEx: operands are narrower, and the product is computed in single precision.
cublasStatus_t gemm_in_single(cublasHandle_t handle, Row family, GemmCall call) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool supported = gemm_types_supported(CUBLAS_COMPUTE_32F, call.a.type, call.b.type, call.c.type) &&
                           is_complex(call.a.type) == is_complex(call.scale_type);
    const cublasStatus_t status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return supported ? gemm(handle, family, call) : CUBLAS_STATUS_NOT_SUPPORTED;
}

template <class Integer>
struct Groups {
    const cublasOperation_t *trans_a, *trans_b;
    const Integer *m, *n, *k, *lda, *ldb, *ldc;
    const void *alpha, *beta;  // host arrays of scalars
    const void *a, *b, *c;     // device arrays of pointers
    cudaDataType a_type, b_type, c_type;
    Integer count;
    const Integer* sizes;
};

template <class Integer>
cublasStatus_t grouped(cublasHandle_t handle, const Groups<Integer>& groups, Request request,
                       cudaDataType scale_type) {
    if (groups.count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->pointer_mode.load() == CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::optional<Format> format = permitted_format(request);
    if (!format) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (environment().lacks_memory ||
        (environment().fast_lacks_memory && *format < Format::bf16x9 && *format != Format::fp32))
        return CUBLAS_STATUS_ALLOC_FAILED;
    std::vector<Gemm> gemms;
    std::int64_t first = 0;
    for (Integer i = 0; i < groups.count; ++i) {
        const auto pointers = [first](const void* array) { return static_cast<const void* const*>(array) + first; };
        const auto scalar = [i, scale_type](const void* array) {
            return array == nullptr ? nullptr : static_cast<const std::byte*>(array) + i * size_of(scale_type);
        };
        GemmCall call{groups.trans_a[i],
                      groups.trans_b[i],
                      groups.m[i],
                      groups.n[i],
                      groups.k[i],
                      scalar(groups.alpha),
                      {pointers(groups.a), groups.a_type, groups.lda[i]},
                      {pointers(groups.b), groups.b_type, groups.ldb[i]},
                      scalar(groups.beta),
                      {pointers(groups.c), groups.c_type, groups.ldc[i]},
                      Batch::pointers,
                      groups.sizes[i],
                      scale_type};
        const cublasStatus_t status = check(call);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        first += groups.sizes[i];
        if (call.m > 0 && call.n > 0) gemms.push_back(gemm_of(handle, call, *format, request));
    }
    if (!environment().compute || gemms.empty()) return CUBLAS_STATUS_SUCCESS;
    return launch(handle, [gemms = std::move(gemms)](const View& view) {
        for (const Gemm& gemm : gemms) run(view, gemm);
    });
}

template <class Integer>
cublasStatus_t grouped_by_mode(cublasHandle_t handle, const Groups<Integer>& groups) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    Request request = request_of(handle);
    request.family = Row::sgemm_grouped_honours_math_mode;
    return grouped(handle, groups, request, groups.a_type);
}

// Combinations in the manual's table: float32 with 32F, 32F_PEDANTIC and FAST_TF32, 16-bit operands with 32F,
// float64.
template <class Integer>
cublasStatus_t grouped_ex(cublasHandle_t handle, const Groups<Integer>& groups, cublasComputeType_t compute_type) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!known_compute_type(compute_type)) return CUBLAS_STATUS_INVALID_VALUE;
    bool supported = groups.a_type == groups.b_type && groups.a_type == groups.c_type;
    switch (groups.a_type) {
        case CUDA_R_32F:
            supported =
                supported && (compute_type == CUBLAS_COMPUTE_32F || compute_type == CUBLAS_COMPUTE_32F_PEDANTIC ||
                              compute_type == CUBLAS_COMPUTE_32F_FAST_TF32);
            break;
        case CUDA_R_16F:
        case CUDA_R_16BF:
            supported = supported && compute_type == CUBLAS_COMPUTE_32F;
            break;
        case CUDA_R_64F:
            supported =
                supported && (compute_type == CUBLAS_COMPUTE_64F || compute_type == CUBLAS_COMPUTE_64F_PEDANTIC);
            break;
        default:
            supported = false;
    }
    if (!supported) return CUBLAS_STATUS_NOT_SUPPORTED;
    Request request = request_of(handle);
    request.compute_type = compute_type;
    return grouped(handle, groups, request, scale_type_of(compute_type, groups.a_type));
}

}  // namespace

cublasStatus_t gemm(Caller caller, Row family, const GemmCall& call) {
    if (!alive(caller.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    Request request = request_of(caller.handle);
    request.family = family;
    return run(caller, call, request);
}

}  // namespace stand_in

using stand_in::Batch;
using stand_in::Groups;
using stand_in::Row;

// The macros below write parameter lists and nothing else. INT is int, or int64_t in the `_64` forms.

#define GEMM(NAME, INT, T, TYPE, FAMILY)                                                                            \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b,   \
                                     INT m, INT n, INT k, const T* alpha, const T* A, INT lda, const T* B, INT ldb, \
                                     const T* beta, T* C, INT ldc) {                                                \
        return stand_in::gemm(handle, Row::FAMILY,                                                                  \
                              {trans_a,                                                                             \
                               trans_b,                                                                             \
                               m,                                                                                   \
                               n,                                                                                   \
                               k,                                                                                   \
                               alpha,                                                                               \
                               {A, TYPE, lda},                                                                      \
                               {B, TYPE, ldb},                                                                      \
                               beta,                                                                                \
                               {C, TYPE, ldc},                                                                      \
                               Batch::single,                                                                       \
                               1,                                                                                   \
                               TYPE});                                                                              \
    }

#define GEMM_STRIDED(NAME, INT, T, TYPE, FAMILY)                                                                  \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                                     INT m, INT n, INT k, const T* alpha, const T* A, INT lda,                    \
                                     long long int stride_a, const T* B, INT ldb, long long int stride_b,         \
                                     const T* beta, T* C, INT ldc, long long int stride_c, INT batch_count) {     \
        return stand_in::gemm(handle, Row::FAMILY,                                                                \
                              {trans_a,                                                                           \
                               trans_b,                                                                           \
                               m,                                                                                 \
                               n,                                                                                 \
                               k,                                                                                 \
                               alpha,                                                                             \
                               {A, TYPE, lda, stride_a},                                                          \
                               {B, TYPE, ldb, stride_b},                                                          \
                               beta,                                                                              \
                               {C, TYPE, ldc, stride_c},                                                          \
                               Batch::strided,                                                                    \
                               batch_count,                                                                       \
                               TYPE});                                                                            \
    }

#define GEMM_BATCHED(NAME, INT, T, TYPE, FAMILY)                                                                  \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                                     INT m, INT n, INT k, const T* alpha, const T* const A[], INT lda,            \
                                     const T* const B[], INT ldb, const T* beta, T* const C[], INT ldc,           \
                                     INT batch_count) {                                                           \
        return stand_in::gemm(handle, Row::FAMILY,                                                                \
                              {trans_a,                                                                           \
                               trans_b,                                                                           \
                               m,                                                                                 \
                               n,                                                                                 \
                               k,                                                                                 \
                               alpha,                                                                             \
                               {A, TYPE, lda},                                                                    \
                               {B, TYPE, ldb},                                                                    \
                               beta,                                                                              \
                               {C, TYPE, ldc},                                                                    \
                               Batch::pointers,                                                                   \
                               batch_count,                                                                       \
                               TYPE});                                                                            \
    }

#define GEMM_IN_SINGLE(NAME, INT, T, TYPE, FAMILY)                                                                 \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b,  \
                                     INT m, INT n, INT k, const T* alpha, const void* A, cudaDataType a_type,      \
                                     INT lda, const void* B, cudaDataType b_type, INT ldb, const T* beta, void* C, \
                                     cudaDataType c_type, INT ldc) {                                               \
        return stand_in::gemm_in_single(handle, Row::FAMILY,                                                       \
                                        {trans_a,                                                                  \
                                         trans_b,                                                                  \
                                         m,                                                                        \
                                         n,                                                                        \
                                         k,                                                                        \
                                         alpha,                                                                    \
                                         {A, a_type, lda},                                                         \
                                         {B, b_type, ldb},                                                         \
                                         beta,                                                                     \
                                         {C, c_type, ldc},                                                         \
                                         Batch::single,                                                            \
                                         1,                                                                        \
                                         TYPE});                                                                   \
    }

#define GEMM_EX(NAME, INT)                                                                                          \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b,   \
                                     INT m, INT n, INT k, const void* alpha, const void* A, cudaDataType a_type,    \
                                     INT lda, const void* B, cudaDataType b_type, INT ldb, const void* beta,        \
                                     void* C, cudaDataType c_type, INT ldc, cublasComputeType_t compute_type,       \
                                     cublasGemmAlgo_t algo) {                                                       \
        return stand_in::gemm_ex(                                                                                   \
            handle, {trans_a, trans_b, m, n, k, alpha, {A, a_type, lda}, {B, b_type, ldb}, beta, {C, c_type, ldc}}, \
            compute_type, algo);                                                                                    \
    }

#define GEMM_STRIDED_EX(NAME, INT)                                                                                   \
    cublasStatus_t CUBLASWINAPI NAME(                                                                                \
        cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, INT m, INT n, INT k,            \
        const void* alpha, const void* A, cudaDataType a_type, INT lda, long long int stride_a, const void* B,       \
        cudaDataType b_type, INT ldb, long long int stride_b, const void* beta, void* C, cudaDataType c_type,        \
        INT ldc, long long int stride_c, INT batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t algo) { \
        return stand_in::gemm_ex(handle,                                                                             \
                                 {trans_a,                                                                           \
                                  trans_b,                                                                           \
                                  m,                                                                                 \
                                  n,                                                                                 \
                                  k,                                                                                 \
                                  alpha,                                                                             \
                                  {A, a_type, lda, stride_a},                                                        \
                                  {B, b_type, ldb, stride_b},                                                        \
                                  beta,                                                                              \
                                  {C, c_type, ldc, stride_c},                                                        \
                                  Batch::strided,                                                                    \
                                  batch_count},                                                                      \
                                 compute_type, algo);                                                                \
    }

#define GEMM_BATCHED_EX(NAME, INT)                                                                                \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                                     INT m, INT n, INT k, const void* alpha, const void* const A[],               \
                                     cudaDataType a_type, INT lda, const void* const B[], cudaDataType b_type,    \
                                     INT ldb, const void* beta, void* const C[], cudaDataType c_type, INT ldc,    \
                                     INT batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t algo) {  \
        return stand_in::gemm_ex(handle,                                                                          \
                                 {trans_a,                                                                        \
                                  trans_b,                                                                        \
                                  m,                                                                              \
                                  n,                                                                              \
                                  k,                                                                              \
                                  alpha,                                                                          \
                                  {A, a_type, lda},                                                               \
                                  {B, b_type, ldb},                                                               \
                                  beta,                                                                           \
                                  {C, c_type, ldc},                                                               \
                                  Batch::pointers,                                                                \
                                  batch_count},                                                                   \
                                 compute_type, algo);                                                             \
    }

#define GEMM_GROUPED(NAME, INT, T, TYPE)                                                                            \
    cublasStatus_t CUBLASWINAPI NAME(                                                                               \
        cublasHandle_t handle, const cublasOperation_t trans_a[], const cublasOperation_t trans_b[], const INT m[], \
        const INT n[], const INT k[], const T alpha[], const T* const A[], const INT lda[], const T* const B[],     \
        const INT ldb[], const T beta[], T* const C[], const INT ldc[], INT group_count, const INT group_size[]) {  \
        return stand_in::grouped_by_mode(handle, Groups<INT>{trans_a, trans_b, m, n, k, lda, ldb, ldc, alpha, beta, \
                                                             A, B, C, TYPE, TYPE, TYPE, group_count, group_size});  \
    }

#define GEMM_GROUPED_EX(NAME, INT)                                                                                   \
    cublasStatus_t CUBLASWINAPI NAME(cublasHandle_t handle, const cublasOperation_t trans_a[],                       \
                                     const cublasOperation_t trans_b[], const INT m[], const INT n[], const INT k[], \
                                     const void* alpha, const void* const A[], cudaDataType_t a_type,                \
                                     const INT lda[], const void* const B[], cudaDataType_t b_type, const INT ldb[], \
                                     const void* beta, void* const C[], cudaDataType_t c_type, const INT ldc[],      \
                                     INT group_count, const INT group_size[], cublasComputeType_t compute_type) {    \
        return stand_in::grouped_ex(handle,                                                                          \
                                    Groups<INT>{trans_a, trans_b, m, n, k, lda, ldb, ldc, alpha, beta, A, B, C,      \
                                                a_type, b_type, c_type, group_count, group_size},                    \
                                    compute_type);                                                                   \
    }

#define BOTH(FORM, NAME, ...)    \
    FORM(NAME, int, __VA_ARGS__) \
    FORM(NAME##_64, std::int64_t, __VA_ARGS__)
#define BOTH_EX(FORM, NAME) \
    FORM(NAME, int)         \
    FORM(NAME##_64, std::int64_t)

extern "C" {
BOTH(GEMM, cublasSgemm_v2, float, CUDA_R_32F, sgemm_honours_math_mode)
BOTH(GEMM, cublasDgemm_v2, double, CUDA_R_64F, sgemm_honours_math_mode)
BOTH(GEMM, cublasCgemm_v2, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
BOTH(GEMM, cublasZgemm_v2, cuDoubleComplex, CUDA_C_64F, cgemm_honours_math_mode)
BOTH(GEMM, cublasCgemm3m, cuComplex, CUDA_C_32F, cgemm3m_honours_math_mode)
BOTH(GEMM, cublasHgemm, __half, CUDA_R_16F, sgemm_honours_math_mode)

BOTH(GEMM_STRIDED, cublasSgemmStridedBatched, float, CUDA_R_32F, sgemm_honours_math_mode)
BOTH(GEMM_STRIDED, cublasDgemmStridedBatched, double, CUDA_R_64F, sgemm_honours_math_mode)
BOTH(GEMM_STRIDED, cublasCgemmStridedBatched, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
BOTH(GEMM_STRIDED, cublasZgemmStridedBatched, cuDoubleComplex, CUDA_C_64F, cgemm_honours_math_mode)
BOTH(GEMM_STRIDED, cublasCgemm3mStridedBatched, cuComplex, CUDA_C_32F, cgemm3m_honours_math_mode)
BOTH(GEMM_STRIDED, cublasHgemmStridedBatched, __half, CUDA_R_16F, sgemm_honours_math_mode)

BOTH(GEMM_BATCHED, cublasSgemmBatched, float, CUDA_R_32F, sgemm_honours_math_mode)
BOTH(GEMM_BATCHED, cublasDgemmBatched, double, CUDA_R_64F, sgemm_honours_math_mode)
BOTH(GEMM_BATCHED, cublasCgemmBatched, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
BOTH(GEMM_BATCHED, cublasZgemmBatched, cuDoubleComplex, CUDA_C_64F, cgemm_honours_math_mode)
BOTH(GEMM_BATCHED, cublasCgemm3mBatched, cuComplex, CUDA_C_32F, cgemm3m_honours_math_mode)
BOTH(GEMM_BATCHED, cublasHgemmBatched, __half, CUDA_R_16F, sgemm_honours_math_mode)

BOTH(GEMM_IN_SINGLE, cublasSgemmEx, float, CUDA_R_32F, sgemm_ex_honours_math_mode)
BOTH(GEMM_IN_SINGLE, cublasCgemmEx, cuComplex, CUDA_C_32F, cgemm_honours_math_mode)
BOTH(GEMM_IN_SINGLE, cublasCgemm3mEx, cuComplex, CUDA_C_32F, cgemm3m_honours_math_mode)

BOTH(GEMM_GROUPED, cublasSgemmGroupedBatched, float, CUDA_R_32F)
BOTH(GEMM_GROUPED, cublasDgemmGroupedBatched, double, CUDA_R_64F)

BOTH_EX(GEMM_EX, cublasGemmEx)
BOTH_EX(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)
BOTH_EX(GEMM_BATCHED_EX, cublasGemmBatchedEx)
BOTH_EX(GEMM_GROUPED_EX, cublasGemmGroupedBatchedEx)
}
