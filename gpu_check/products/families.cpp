#include "gpu_check/products/families.hpp"

namespace gpu {

namespace {

using Status = std::optional<cublasStatus_t>;

constexpr float one = 1;
constexpr float zero = 0;
constexpr cuComplex complex_one{1, 0};
constexpr cuComplex complex_zero{0, 0};

constexpr auto N = CUBLAS_OP_N;
constexpr auto lower = CUBLAS_FILL_MODE_LOWER;
constexpr auto left = CUBLAS_SIDE_LEFT;
constexpr auto unit = CUBLAS_DIAG_UNIT;
constexpr auto non_unit = CUBLAS_DIAG_NON_UNIT;
constexpr auto real_type = CUDA_R_32F;
constexpr auto complex_type = CUDA_C_32F;

// Calls a function that may be missing: CALL(cublasSsymm_v2, arguments after the handle...)
#define CALL(name, ...)                                                            \
    [&]() -> Status {                                                              \
        const auto function = cublas.library.find<decltype(gpu::name)>(#name);     \
        return function ? Status(function(cublas.handle, __VA_ARGS__)) : Status(); \
    }()

/// Operands of a problem, under the names of the reference manual.
template <class T>
struct Operands {
    explicit Operands(const Problem& problem)
        : n(problem.n),
          stride(static_cast<long long>(n) * n),
          a(problem.a.as<T>(problem.offset)),
          b(problem.b.as<T>(problem.offset)),
          c(problem.c.as<T>(problem.offset)),
          a_array(problem.a_pointers.as<T*>()),
          b_array(problem.b_pointers.as<T*>()),
          c_array(problem.c_pointers.as<T*>()) {}

    int n;
    long long stride;
    T *a, *b, *c;
    T **a_array, **b_array, **c_array;
};
using Real = Operands<float>;
using ComplexOperands = Operands<cuComplex>;

Status sgemm(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSgemm_v2, N, N, p.n, p.n, p.n, &one, p.a, p.n, p.b, p.n, &zero, p.c, p.n);
}

Status cgemm(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemm_v2, N, N, p.n, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &complex_zero, p.c, p.n);
}

Status sgemm_strided_batched(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSgemmStridedBatched, N, N, p.n, p.n, p.n, &one, p.a, p.n, p.stride, p.b, p.n, p.stride, &zero,
                p.c, p.n, p.stride, Problem::copies);
}

Status cgemm_strided_batched(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemmStridedBatched, N, N, p.n, p.n, p.n, &complex_one, p.a, p.n, p.stride, p.b, p.n, p.stride,
                &complex_zero, p.c, p.n, p.stride, Problem::copies);
}

Status sgemm_batched(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSgemmBatched, N, N, p.n, p.n, p.n, &one, p.a_array, p.n, p.b_array, p.n, &zero, p.c_array, p.n,
                Problem::copies);
}

Status cgemm_batched(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemmBatched, N, N, p.n, p.n, p.n, &complex_one, p.a_array, p.n, p.b_array, p.n, &complex_zero,
                p.c_array, p.n, Problem::copies);
}

Status sgemm_grouped_batched(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    const auto trans = N;
    const int group_size = Problem::copies;
    return CALL(cublasSgemmGroupedBatched, &trans, &trans, &p.n, &p.n, &p.n, &one, p.a_array, &p.n, p.b_array, &p.n,
                &zero, p.c_array, &p.n, 1, &group_size);
}

Status sgemm_ex(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSgemmEx, N, N, p.n, p.n, p.n, &one, p.a, real_type, p.n, p.b, real_type, p.n, &zero, p.c,
                real_type, p.n);
}

Status cgemm_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemmEx, N, N, p.n, p.n, p.n, &complex_one, p.a, complex_type, p.n, p.b, complex_type, p.n,
                &complex_zero, p.c, complex_type, p.n);
}

Status cgemm3m(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemm3m, N, N, p.n, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &complex_zero, p.c, p.n);
}

Status cgemm3m_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemm3mEx, N, N, p.n, p.n, p.n, &complex_one, p.a, complex_type, p.n, p.b, complex_type, p.n,
                &complex_zero, p.c, complex_type, p.n);
}

Status cgemm3m_batched(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemm3mBatched, N, N, p.n, p.n, p.n, &complex_one, p.a_array, p.n, p.b_array, p.n,
                &complex_zero, p.c_array, p.n, Problem::copies);
}

Status cgemm3m_strided_batched(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCgemm3mStridedBatched, N, N, p.n, p.n, p.n, &complex_one, p.a, p.n, p.stride, p.b, p.n,
                p.stride, &complex_zero, p.c, p.n, p.stride, Problem::copies);
}

Status ssymm(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSsymm_v2, left, lower, p.n, p.n, &one, p.a, p.n, p.b, p.n, &zero, p.c, p.n);
}

Status csymm(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsymm_v2, left, lower, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &complex_zero, p.c, p.n);
}

Status chemm(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasChemm_v2, left, lower, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &complex_zero, p.c, p.n);
}

Status ssyrk(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSsyrk_v2, lower, N, p.n, p.n, &one, p.a, p.n, &zero, p.c, p.n);
}

Status csyrk(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsyrk_v2, lower, N, p.n, p.n, &complex_one, p.a, p.n, &complex_zero, p.c, p.n);
}

Status csyrk_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsyrkEx, lower, N, p.n, p.n, &complex_one, p.a, complex_type, p.n, &complex_zero, p.c,
                complex_type, p.n);
}

Status csyrk3m_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsyrk3mEx, lower, N, p.n, p.n, &complex_one, p.a, complex_type, p.n, &complex_zero, p.c,
                complex_type, p.n);
}

Status cherk(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCherk_v2, lower, N, p.n, p.n, &one, p.a, p.n, &zero, p.c, p.n);
}

Status cherk_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCherkEx, lower, N, p.n, p.n, &one, p.a, complex_type, p.n, &zero, p.c, complex_type, p.n);
}

Status cherk3m_ex(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCherk3mEx, lower, N, p.n, p.n, &one, p.a, complex_type, p.n, &zero, p.c, complex_type, p.n);
}

Status ssyr2k(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSsyr2k_v2, lower, N, p.n, p.n, &one, p.a, p.n, p.b, p.n, &zero, p.c, p.n);
}

Status csyr2k(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsyr2k_v2, lower, N, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &complex_zero, p.c, p.n);
}

Status cher2k(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCher2k_v2, lower, N, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, &zero, p.c, p.n);
}

// syrkx (herkx) requires that the result is symmetric (hermitian), which B = A ensures.
Status ssyrkx(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasSsyrkx, lower, N, p.n, p.n, &one, p.a, p.n, p.a, p.n, &zero, p.c, p.n);
}

Status csyrkx(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCsyrkx, lower, N, p.n, p.n, &complex_one, p.a, p.n, p.a, p.n, &complex_zero, p.c, p.n);
}

Status cherkx(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCherkx, lower, N, p.n, p.n, &complex_one, p.a, p.n, p.a, p.n, &zero, p.c, p.n);
}

Status strmm(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasStrmm_v2, left, lower, N, non_unit, p.n, p.n, &one, p.a, p.n, p.b, p.n, p.c, p.n);
}

Status ctrmm(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCtrmm_v2, left, lower, N, non_unit, p.n, p.n, &complex_one, p.a, p.n, p.b, p.n, p.c, p.n);
}

Status strsm(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasStrsm_v2, left, lower, N, unit, p.n, p.n, &one, p.a, p.n, p.c, p.n);
}

Status ctrsm(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCtrsm_v2, left, lower, N, unit, p.n, p.n, &complex_one, p.a, p.n, p.c, p.n);
}

Status strsm_batched(const Cublas& cublas, const Problem& problem) {
    const Real p(problem);
    return CALL(cublasStrsmBatched, left, lower, N, unit, p.n, p.n, &one, p.a_array, p.n, p.c_array, p.n,
                Problem::copies);
}

Status ctrsm_batched(const Cublas& cublas, const Problem& problem) {
    const ComplexOperands p(problem);
    return CALL(cublasCtrsmBatched, left, lower, N, unit, p.n, p.n, &complex_one, p.a_array, p.n, p.c_array, p.n,
                Problem::copies);
}

#undef CALL

constexpr Family table[] = {
    {"sgemm", "cublasSgemm_v2", Shape::gemm, false, sgemm},
    {"cgemm", "cublasCgemm_v2", Shape::gemm, true, cgemm},
    {"sgemm_strided_batched", "cublasSgemmStridedBatched", Shape::gemm, false, sgemm_strided_batched},
    {"cgemm_strided_batched", "cublasCgemmStridedBatched", Shape::gemm, true, cgemm_strided_batched},
    {"sgemm_batched", "cublasSgemmBatched", Shape::gemm, false, sgemm_batched},
    {"cgemm_batched", "cublasCgemmBatched", Shape::gemm, true, cgemm_batched},
    {"sgemm_grouped_batched", "cublasSgemmGroupedBatched", Shape::gemm, false, sgemm_grouped_batched},
    {"sgemm_ex", "cublasSgemmEx", Shape::gemm, false, sgemm_ex},
    {"cgemm_ex", "cublasCgemmEx", Shape::gemm, true, cgemm_ex},
    {"cgemm3m", "cublasCgemm3m", Shape::gemm, true, cgemm3m},
    {"cgemm3m_ex", "cublasCgemm3mEx", Shape::gemm, true, cgemm3m_ex},
    {"cgemm3m_batched", "cublasCgemm3mBatched", Shape::gemm, true, cgemm3m_batched},
    {"cgemm3m_strided_batched", "cublasCgemm3mStridedBatched", Shape::gemm, true, cgemm3m_strided_batched},
    {"ssymm", "cublasSsymm_v2", Shape::symm, false, ssymm},
    {"csymm", "cublasCsymm_v2", Shape::symm, true, csymm},
    {"chemm", "cublasChemm_v2", Shape::hemm, true, chemm},
    {"ssyrk", "cublasSsyrk_v2", Shape::syrk, false, ssyrk},
    {"csyrk", "cublasCsyrk_v2", Shape::syrk, true, csyrk},
    {"csyrk_ex", "cublasCsyrkEx", Shape::syrk, true, csyrk_ex},
    {"csyrk3m_ex", "cublasCsyrk3mEx", Shape::syrk, true, csyrk3m_ex},
    {"cherk", "cublasCherk_v2", Shape::herk, true, cherk},
    {"cherk_ex", "cublasCherkEx", Shape::herk, true, cherk_ex},
    {"cherk3m_ex", "cublasCherk3mEx", Shape::herk, true, cherk3m_ex},
    {"ssyr2k", "cublasSsyr2k_v2", Shape::syr2k, false, ssyr2k},
    {"csyr2k", "cublasCsyr2k_v2", Shape::syr2k, true, csyr2k},
    {"cher2k", "cublasCher2k_v2", Shape::her2k, true, cher2k},
    {"ssyrkx", "cublasSsyrkx", Shape::syrk, false, ssyrkx},
    {"csyrkx", "cublasCsyrkx", Shape::syrk, true, csyrkx},
    {"cherkx", "cublasCherkx", Shape::herk, true, cherkx},
    {"strmm", "cublasStrmm_v2", Shape::trmm, false, strmm},
    {"ctrmm", "cublasCtrmm_v2", Shape::trmm, true, ctrmm},
    {"strsm", "cublasStrsm_v2", Shape::trsm, false, strsm},
    {"ctrsm", "cublasCtrsm_v2", Shape::trsm, true, ctrsm},
    {"strsm_batched", "cublasStrsmBatched", Shape::trsm, false, strsm_batched},
    {"ctrsm_batched", "cublasCtrsmBatched", Shape::trsm, true, ctrsm_batched},
};

}  // namespace

std::span<const Family> families() { return table; }

}  // namespace gpu
