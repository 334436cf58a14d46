#include "gpu_check/products/functions.hpp"

#include <algorithm>

#include "gpu_check/products/lt.hpp"

namespace gpu {
namespace {

constexpr auto N = CUBLAS_OP_N;
constexpr auto lower = CUBLAS_FILL_MODE_LOWER;
constexpr auto left = CUBLAS_SIDE_LEFT;

cudaDataType data_type(Element element) {
    constexpr cudaDataType in_order[] = {CUDA_R_16F, CUDA_R_32F, CUDA_C_32F, CUDA_R_64F};
    return in_order[static_cast<int>(element)];
}
long long stride_of(const CallArguments& p) { return static_cast<long long>(p.n) * p.n; }
/// Returns the second operand of a product: A for syrkx and herkx, whose result must be symmetric or hermitian, and B
/// for all others.
const void* second_operand(const CallArguments& p, ProductKind shape) {
    return shape == ProductKind::syrk || shape == ProductKind::herk ? p.a : p.b;
}

// ---- A call of each type of function

cublasStatus_t call(Gemm& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
}
cublasStatus_t call(GemmStridedBatched& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    const long long stride = stride_of(p);
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, stride, p.b, p.ldb, stride, p.beta,
             p.c, p.ldc, stride, p.count);
}
cublasStatus_t call(GemmBatched& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a_array, p.lda, p.b_array, p.ldb, p.beta,
             p.c_array, p.ldc, p.count);
}
cublasStatus_t call(decltype(cublasSgemmGroupedBatched)& f, cublasHandle_t handle, ProductKind,
                    const CallArguments& p) {
    return f(handle, &p.trans_a, &p.trans_b, &p.m, &p.n, &p.k, p.alpha, p.a_array, &p.lda, p.b_array, &p.ldb, p.beta,
             p.c_array, &p.ldc, 1, &p.count);
}
cublasStatus_t call(TypedGemm& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, type, p.lda, p.b, type, p.ldb, p.beta, p.c,
             type, p.ldc);
}
cublasStatus_t call(Symm& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, left, lower, p.n, p.n, p.alpha, p.a, p.n, p.b, p.n, p.beta, p.c, p.n);
}
cublasStatus_t call(Syrk& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, lower, N, p.n, p.n, p.alpha, p.a, p.n, p.beta, p.c, p.n);
}
cublasStatus_t call(TypedSyrk& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    return f(handle, lower, N, p.n, p.n, p.alpha, p.a, type, p.n, p.beta, p.c, type, p.n);
}
cublasStatus_t call(Syr2k& f, cublasHandle_t handle, ProductKind shape, const CallArguments& p) {
    return f(handle, lower, N, p.n, p.n, p.alpha, p.a, p.n, second_operand(p, shape), p.n, p.beta, p.c, p.n);
}
cublasStatus_t call(Trmm& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, left, lower, N, CUBLAS_DIAG_NON_UNIT, p.n, p.n, p.alpha, p.a, p.n, p.b, p.n, p.c, p.n);
}
cublasStatus_t call(Trsm& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, left, lower, N, CUBLAS_DIAG_UNIT, p.n, p.n, p.alpha, p.a, p.n, p.c, p.n);
}
cublasStatus_t call(TrsmBatched& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    return f(handle, left, lower, N, CUBLAS_DIAG_UNIT, p.n, p.n, p.alpha, p.a_array, p.n, p.c_array, p.n, p.count);
}
cublasStatus_t call(decltype(cublasGemmEx)& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, type, p.lda, p.b, type, p.ldb, p.beta, p.c,
             type, p.ldc, p.type, p.algorithm);
}
cublasStatus_t call(decltype(cublasGemmStridedBatchedEx)& f, cublasHandle_t handle, ProductKind,
                    const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    const long long stride = stride_of(p);
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, type, p.lda, stride, p.b, type, p.ldb, stride,
             p.beta, p.c, type, p.ldc, stride, p.count, p.type, p.algorithm);
}
cublasStatus_t call(decltype(cublasGemmBatchedEx)& f, cublasHandle_t handle, ProductKind, const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    return f(handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a_array, type, p.lda, p.b_array, type, p.ldb,
             p.beta, p.c_array, type, p.ldc, p.count, p.type, p.algorithm);
}
cublasStatus_t call(decltype(cublasGemmGroupedBatchedEx)& f, cublasHandle_t handle, ProductKind,
                    const CallArguments& p) {
    const cudaDataType type = data_type(p.element);
    return f(handle, &p.trans_a, &p.trans_b, &p.m, &p.n, &p.k, p.alpha, p.a_array, type, &p.lda, p.b_array, type,
             &p.ldb, p.beta, p.c_array, type, &p.ldc, 1, &p.count, p.type);
}

template <class F>
Status run(const Cublas& cublas, const char* name, ProductKind shape, const CallArguments& p) {
    F* const function = cublas.library.find<F>(name);
    return function == nullptr ? Status() : call(*function, cublas.handle, shape, p);
}

/// Calls cublasLtMatmul, with the first algorithm that cublasLt's heuristic finds if `has_algorithm` is true, and
/// otherwise without an algorithm.
template <bool has_algorithm>
Status run_lt(const Cublas& cublas, const char*, ProductKind, const CallArguments& p) {
    LtProduct lt(cublas.device, p);
    cublasLtMatmulDesc_t descriptor = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    cublasStatus_t status = lt.create_descriptor(p.type, descriptor);
    if (has_algorithm && status == CUBLAS_STATUS_SUCCESS) status = lt.find_algorithm(descriptor, algorithm);
    return status == CUBLAS_STATUS_SUCCESS ? lt.multiply(descriptor, has_algorithm ? &algorithm : nullptr) : status;
}

template <class F>
constexpr CublasFunction row(const char* name, const char* function, ProductKind shape, Element element,
                             CublasFunction::Kind kind, bool is_batch) {
    return {name, function, shape, element, kind, is_batch, run<F>};
}
#define ROW(name, function, shape, element, kind, is_batch)                                                    \
    row<decltype(gpu::function)>(#name, #function, ProductKind::shape, Element::element, CublasFunction::kind, \
                                 is_batch)
#define MODE(name, function, shape, element) ROW(name, function, shape, element, by_mode, false)
#define MODE_BATCH(name, function, shape, element) ROW(name, function, shape, element, by_mode, true)
#define TYPE(name, function) ROW(name, function, gemm, real, by_type, false)
#define TYPE_BATCH(name, function) ROW(name, function, gemm, real, by_type, true)

constexpr CublasFunction table[] = {
    MODE(sgemm, cublasSgemm_v2, gemm, real),
    MODE(cgemm, cublasCgemm_v2, gemm, complex),
    MODE_BATCH(sgemm_strided_batched, cublasSgemmStridedBatched, gemm, real),
    MODE_BATCH(cgemm_strided_batched, cublasCgemmStridedBatched, gemm, complex),
    MODE_BATCH(sgemm_batched, cublasSgemmBatched, gemm, real),
    MODE_BATCH(cgemm_batched, cublasCgemmBatched, gemm, complex),
    MODE_BATCH(sgemm_grouped_batched, cublasSgemmGroupedBatched, gemm, real),
    MODE(sgemm_ex, cublasSgemmEx, gemm, real),
    MODE(cgemm_ex, cublasCgemmEx, gemm, complex),
    MODE(cgemm3m, cublasCgemm3m, gemm, complex),
    MODE(cgemm3m_ex, cublasCgemm3mEx, gemm, complex),
    MODE_BATCH(cgemm3m_batched, cublasCgemm3mBatched, gemm, complex),
    MODE_BATCH(cgemm3m_strided_batched, cublasCgemm3mStridedBatched, gemm, complex),
    MODE(ssymm, cublasSsymm_v2, symm, real),
    MODE(csymm, cublasCsymm_v2, symm, complex),
    MODE(chemm, cublasChemm_v2, hemm, complex),
    MODE(ssyrk, cublasSsyrk_v2, syrk, real),
    MODE(csyrk, cublasCsyrk_v2, syrk, complex),
    MODE(csyrk_ex, cublasCsyrkEx, syrk, complex),
    MODE(csyrk3m_ex, cublasCsyrk3mEx, syrk, complex),
    MODE(cherk, cublasCherk_v2, herk, complex),
    MODE(cherk_ex, cublasCherkEx, herk, complex),
    MODE(cherk3m_ex, cublasCherk3mEx, herk, complex),
    MODE(ssyr2k, cublasSsyr2k_v2, syr2k, real),
    MODE(csyr2k, cublasCsyr2k_v2, syr2k, complex),
    MODE(cher2k, cublasCher2k_v2, her2k, complex),
    MODE(ssyrkx, cublasSsyrkx, syrk, real),
    MODE(csyrkx, cublasCsyrkx, syrk, complex),
    MODE(cherkx, cublasCherkx, herk, complex),
    MODE(strmm, cublasStrmm_v2, trmm, real),
    MODE(ctrmm, cublasCtrmm_v2, trmm, complex),
    MODE(strsm, cublasStrsm_v2, trsm, real),
    MODE(ctrsm, cublasCtrsm_v2, trsm, complex),
    MODE_BATCH(strsm_batched, cublasStrsmBatched, trsm, real),
    MODE_BATCH(ctrsm_batched, cublasCtrsmBatched, trsm, complex),
    MODE(hgemm, cublasHgemm, gemm, half),
    MODE(dgemm, cublasDgemm_v2, gemm, float64),
    MODE(dsyrk, cublasDsyrk_v2, syrk, float64),
    TYPE(gemm_ex, cublasGemmEx),
    TYPE_BATCH(gemm_strided_batched_ex, cublasGemmStridedBatchedEx),
    TYPE_BATCH(gemm_batched_ex, cublasGemmBatchedEx),
    TYPE_BATCH(gemm_grouped_batched_ex, cublasGemmGroupedBatchedEx),
    {"lt", "cublasLtMatmul", ProductKind::gemm, Element::real, CublasFunction::by_type, false, run_lt<true>},
    {"lt_null", "cublasLtMatmul", ProductKind::gemm, Element::real, CublasFunction::by_type, false, run_lt<false>},
};

}  // namespace

std::size_t bytes_of(Element element) { return element == Element::half ? 2 : element == Element::real ? 4 : 8; }

Scalar::Scalar(double value, Element element)
    : element_(element), complex_{static_cast<float>(value), 0}, wide_(value), half_(value == 0 ? 0 : 0x3c00) {}

Scalar::operator const void*() const {
    if (element_ == Element::half) return &half_;
    return element_ == Element::float64 ? static_cast<const void*>(&wide_) : complex_;
}

CallArguments square_call(int n, const DeviceBuffer& a, const DeviceBuffer& b, const DeviceBuffer& c, Element element,
                          std::size_t offset) {
    CallArguments call;
    call.element = element;
    call.m = call.n = call.k = call.lda = call.ldb = call.ldc = n;
    call.a = a.address(offset), call.b = b.address(offset), call.c = c.address(offset);
    call.alpha = Scalar(1, element), call.beta = Scalar(0, element);
    return call;
}

std::span<const CublasFunction> all_functions() { return table; }

const CublasFunction& function_named(std::string_view name) {
    return *std::ranges::find_if(table, [&](const CublasFunction& function) { return function.name == name; });
}

}  // namespace gpu
