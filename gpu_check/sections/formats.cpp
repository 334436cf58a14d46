// Measures in which format a product runs, for each way to request it: by functions, compute types, algorithms and
// math modes.
#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {
namespace {

/// A request for a product, with its title and the name of its finding.
struct NamedRequest {
    const char* name;
    const char* title;
    ProductRequest request;
};
constexpr auto default_mode = CUBLAS_DEFAULT_MATH;

constexpr NamedRequest opt_ins[] = {
    {"nothing", "cublasSgemm, nothing asked for", {"sgemm"}},
    {"mode_tf32", "cublasSgemm, math mode TF32", {"sgemm", CUBLAS_TF32_TENSOR_OP_MATH}},
    {"mode_tensor_op", "cublasSgemm, math mode TENSOR_OP", {"sgemm", CUBLAS_TENSOR_OP_MATH}},
    {"mode_pedantic", "cublasSgemm, math mode PEDANTIC", {"sgemm", CUBLAS_PEDANTIC_MATH}},
    {"32f", "cublasGemmEx, 32F", {"gemm_ex"}},
    {"fast_tf32", "cublasGemmEx, 32F_FAST_TF32", {"gemm_ex", default_mode, CUBLAS_COMPUTE_32F_FAST_TF32}},
    {"fast_16bf", "cublasGemmEx, 32F_FAST_16BF", {"gemm_ex", default_mode, CUBLAS_COMPUTE_32F_FAST_16BF}},
    {"fast_16f", "cublasGemmEx, 32F_FAST_16F", {"gemm_ex", default_mode, CUBLAS_COMPUTE_32F_FAST_16F}},
    {"algorithm_99",
     "cublasGemmEx, 32F, algorithm 99",
     {"gemm_ex", default_mode, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP}},
    {"pedantic", "cublasGemmEx, 32F_PEDANTIC", {"gemm_ex", default_mode, CUBLAS_COMPUTE_32F_PEDANTIC}},
    {"lt_32f", "cublasLtMatmul, 32F, its heuristic's algorithm", {"lt"}},
    {"lt_fast_tf32",
     "cublasLtMatmul, 32F_FAST_TF32, its heuristic's algorithm",
     {"lt", default_mode, CUBLAS_COMPUTE_32F_FAST_TF32}},
};

constexpr auto emulated_mode = CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH;
constexpr NamedRequest requests_of_float64[] = {
    {"dgemm", "cublasDgemm", {"dgemm"}},
    {"dgemm_pedantic", "cublasDgemm, PEDANTIC mode", {"dgemm", CUBLAS_PEDANTIC_MATH}},
    {"dgemm_mode", "cublasDgemm, mode FP64_EMULATED", {"dgemm", emulated_mode}},
    {"dsyrk_mode", "cublasDsyrk, mode FP64_EMULATED", {"dsyrk", emulated_mode}},
    {"ex_64f", "cublasGemmEx, 64F", {"gemm_ex", default_mode, CUBLAS_COMPUTE_64F}},
    {"ex_pedantic", "cublasGemmEx, 64F_PEDANTIC", {"gemm_ex", default_mode, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"ex_emulated", "cublasGemmEx, 64F_EMULATED", {"gemm_ex", default_mode, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT}},
    {"ex_mode", "cublasGemmEx, 64F, mode FP64_EMULATED", {"gemm_ex", emulated_mode, CUBLAS_COMPUTE_64F}},
    {"ex_pedantic_mode",
     "cublasGemmEx, 64F_PEDANTIC, mode FP64_EMULATED",
     {"gemm_ex", emulated_mode, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"lt_64f", "cublasLtMatmul, 64F", {"lt", default_mode, CUBLAS_COMPUTE_64F}},
    {"lt_pedantic", "cublasLtMatmul, 64F_PEDANTIC", {"lt", default_mode, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"lt_emulated", "cublasLtMatmul, 64F_EMULATED", {"lt", default_mode, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT}},
};

}  // namespace

/// Measures a product of a program that requests no particular precision.
void measure_default_product(Worker& worker) {
    Float32Problem problem(worker.device(), worker.sizes.back());
    worker.measure_row("cublasSgemm, n = " + std::to_string(problem.n), "", [&] {
        const ProductResult result = multiply(worker.cublas(), problem, {"sgemm"});
        worker.report_finding("format", result.answer);
        worker.report_finding("error", format_number("%.1e", result.measured.error));
        worker.report_finding("match", result.measured.match);
        worker.report_finding("bits", problem.hash_of_result());
    });
}

void measure_lowering_requests(Worker& worker) {
    Float32Problem problem(worker.device(), worker.sizes.back());
    for (const auto& [name, title, request] : opt_ins)
        worker.measure_row(title, "",
                           [&] { worker.report_finding(name, multiply(worker.cublas(), problem, request).answer); });
}

void measure_float64_formats(Worker& worker) {
    Float64Problem problem(worker.cublas(), worker.sizes.back());
    for (const auto& [name, title, request] : requests_of_float64)
        worker.measure_row(title, name, [&] {
            const auto& [answer, measured, ran] = multiply(worker.cublas(), problem, request);
            worker.report_finding("", answer);
            worker.report_finding("_error", ran ? format_number("%.1e", measured.error) : "-");
            worker.report_finding("_kept", ran ? measured.match : "-");
            worker.report_finding("_bits", ran ? problem.hash_of_result() : "-");
        });
}

}  // namespace gpu
