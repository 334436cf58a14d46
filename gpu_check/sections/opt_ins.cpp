// Lets a program ask for less than FP32 in every possible way, one after the other, on one product.
#include "gpu_check/products/families.hpp"
#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/lt.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

struct OptIn {
    const char* name;  // name of the finding
    const char* what;
    std::string (*multiply)(Worker& worker, Problem& problem);
};

std::string run_sgemm(Worker& worker, Problem& problem, cublasMath_t mode) {
    worker.cublas().set_math_mode(mode);
    problem.prepare(Shape::gemm);
    const auto status = families().front().call(worker.cublas(), problem);
    worker.cublas().set_math_mode(CUBLAS_DEFAULT_MATH);
    return answer_of(status, problem.judge(Shape::gemm));
}

std::string run_gemm_ex(Worker& worker, Problem& problem, cublasComputeType_t type,
                        cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT) {
    problem.prepare(Shape::gemm);
    const auto status = gemm_ex(worker.cublas(), problem, ExFunction::single, type, algorithm);
    return answer_of(status, problem.judge(Shape::gemm));
}

constexpr OptIn opt_ins[] = {
    {"nothing", "cublasSgemm, nothing asked for",
     [](Worker& worker, Problem& problem) { return run_sgemm(worker, problem, CUBLAS_DEFAULT_MATH); }},
    {"mode_tf32", "cublasSgemm, math mode TF32",
     [](Worker& worker, Problem& problem) { return run_sgemm(worker, problem, CUBLAS_TF32_TENSOR_OP_MATH); }},
    {"mode_tensor_op", "cublasSgemm, math mode TENSOR_OP",
     [](Worker& worker, Problem& problem) { return run_sgemm(worker, problem, CUBLAS_TENSOR_OP_MATH); }},
    {"fast_tf32", "cublasGemmEx, 32F_FAST_TF32",
     [](Worker& worker, Problem& problem) { return run_gemm_ex(worker, problem, CUBLAS_COMPUTE_32F_FAST_TF32); }},
    {"fast_16bf", "cublasGemmEx, 32F_FAST_16BF",
     [](Worker& worker, Problem& problem) { return run_gemm_ex(worker, problem, CUBLAS_COMPUTE_32F_FAST_16BF); }},
    {"fast_16f", "cublasGemmEx, 32F_FAST_16F",
     [](Worker& worker, Problem& problem) { return run_gemm_ex(worker, problem, CUBLAS_COMPUTE_32F_FAST_16F); }},
    {"algorithm_99", "cublasGemmEx, 32F, algorithm 99",
     [](Worker& worker, Problem& problem) {
         return run_gemm_ex(worker, problem, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
     }},
    {"pedantic", "cublasGemmEx, 32F_PEDANTIC",
     [](Worker& worker, Problem& problem) { return run_gemm_ex(worker, problem, CUBLAS_COMPUTE_32F_PEDANTIC); }},
    {"lt_fast_tf32", "cublasLtMatmul, 32F_FAST_TF32, its heuristic's algorithm",
     [](Worker& worker, Problem&) { return lt_format(worker, CUBLAS_COMPUTE_32F_FAST_TF32); }},
};

}  // namespace

void ask_opt_ins(Worker& worker) {
    Problem problem(worker.device(), worker.sizes.back(), false);
    for (const OptIn& opt_in : opt_ins) {
        worker.row({opt_in.what}, [&]() -> std::vector<std::string> {
            const std::string result = opt_in.multiply(worker, problem);
            worker.found(opt_in.name, result);
            return {result};
        });
    }
}

}  // namespace gpu
