#include "gpu_check/products/families.hpp"
#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/lt.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr cublasMath_t modes[] = {CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH,
                                  CUBLAS_TF32_TENSOR_OP_MATH};
constexpr const char* mode_rows[] = {"default", "tensor_op", "pedantic", "tf32"};

std::string measure(Worker& worker, Problem& problem, ExFunction function, cublasComputeType_t compute_type,
                    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT) {
    problem.prepare(Shape::gemm);
    const auto status = gemm_ex(worker.cublas(), problem, function, compute_type, algorithm);
    const int last = function == ExFunction::single ? 0 : Problem::copies - 1;
    return answer_of(status, problem.judge(Shape::gemm, last));
}

struct Algorithm {
    cublasGemmAlgo_t value;
    const char* name;
    const char* row;
};
constexpr Algorithm algorithms[] = {{CUBLAS_GEMM_DEFAULT, "DEFAULT (-1)", ""},
                                    {CUBLAS_GEMM_DEFAULT_TENSOR_OP, "DEFAULT_TENSOR_OP (99)", "_algo99"}};

}  // namespace

void ask_compute_types(Worker& worker) {
    for (const int n : worker.sizes) {
        Problem problem(worker.device(), n, false);
        for (const ComputeType& type : compute_types) {
            for (const Algorithm& algorithm : algorithms) {
                worker.row({type.name, algorithm.name, std::to_string(n)}, [&] {
                    std::vector<std::string> cells;
                    for (int mode = 0; mode < 4; ++mode) {
                        worker.cublas().set_math_mode(modes[mode]);
                        cells.push_back(measure(worker, problem, ExFunction::single, type.value, algorithm.value));
                        worker.found(std::string("gemm_ex_") + type.row + algorithm.row + "_" + mode_rows[mode],
                                     cells.back());
                    }
                    return cells;
                });
            }
        }
    }
}

void ask_ex_functions(Worker& worker) {
    for (const int n : worker.sizes) {
        for (const bool complex : {false, true}) {
            Problem problem(worker.device(), n, complex);
            for (const ExFunction function : {ExFunction::single, ExFunction::strided_batched, ExFunction::batched,
                                              ExFunction::grouped_batched}) {
                worker.row({name_of(function), complex ? "complex64" : "float32", std::to_string(n)}, [&] {
                    std::vector<std::string> cells;
                    for (const ComputeType& type : compute_types) {
                        cells.push_back(measure(worker, problem, function, type.value));
                    }
                    return cells;
                });
            }
        }
    }
}

void ask_alignment(Worker& worker) {
    constexpr ComputeType types[] = {compute_types[0], compute_types[2], compute_types[3], compute_types[4]};
    for (const bool batched : {false, true}) {
        for (const ComputeType& type : types) {
            for (const int offset : {16, 8, 4}) {
                worker.row(
                    {batched ? "cublasGemmBatchedEx" : "cublasGemmEx", type.name, std::to_string(offset) + " bytes"},
                    [&]() -> std::vector<std::string> {
                        Problem problem(worker.device(), worker.sizes.front(), false, Use::product, offset);
                        const std::string result =
                            measure(worker, problem, batched ? ExFunction::batched : ExFunction::single, type.value);
                        worker.found(std::string(batched ? "batched" : "single") + "_offset" +
                                         std::to_string(offset) + "_" + type.row,
                                     result);
                        return {result};
                    });
            }
        }
    }
}

void ask_override(Worker& worker) {
    Problem problem(worker.device(), worker.sizes.back(), false);
    const auto row = [&](const char* product, const char* name, const std::function<std::string()>& multiply) {
        worker.row({product}, [&]() -> std::vector<std::string> {
            const std::string result = multiply();
            worker.found(name, result);
            return {result};
        });
    };
    const auto sgemm = [&](cublasMath_t mode) {
        worker.cublas().set_math_mode(mode);
        problem.prepare(Shape::gemm);
        const auto status = families().front().call(worker.cublas(), problem);
        worker.cublas().set_math_mode(CUBLAS_DEFAULT_MATH);
        return answer_of(status, problem.judge(Shape::gemm));
    };
    row("cublasSgemm_v2 in DEFAULT mode", "sgemm", [&] { return sgemm(CUBLAS_DEFAULT_MATH); });
    row("cublasSgemm_v2 in PEDANTIC mode", "sgemm_pedantic", [&] { return sgemm(CUBLAS_PEDANTIC_MATH); });
    row("cublasSgemm_v2 in TF32 mode", "sgemm_tf32_mode", [&] { return sgemm(CUBLAS_TF32_TENSOR_OP_MATH); });
    for (const ComputeType& type : compute_types) {
        if (type.value == CUBLAS_COMPUTE_32F_EMULATED_16BFX9) continue;
        row((std::string("cublasGemmEx ") + type.name).c_str(), type.row,
            [&] { return measure(worker, problem, ExFunction::single, type.value); });
    }
    row("cublasLtMatmul 32F", "lt_32f", [&] { return lt_format(worker, CUBLAS_COMPUTE_32F); });
    row("cublasLtMatmul 32F_FAST_TF32", "lt_fast_tf32",
        [&] { return lt_format(worker, CUBLAS_COMPUTE_32F_FAST_TF32); });
}

}  // namespace gpu
