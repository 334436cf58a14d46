// The format of one product, asked for by every function, compute type, algorithm and math mode, at every alignment.
#include <set>

#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

struct Mode {
    cublasMath_t value;
    const char* name;
};
constexpr Mode modes[] = {{CUBLAS_DEFAULT_MATH, "default"},
                          {CUBLAS_TENSOR_OP_MATH, "tensor_op"},
                          {CUBLAS_PEDANTIC_MATH, "pedantic"},
                          {CUBLAS_TF32_TENSOR_OP_MATH, "tf32"}};

constexpr auto usual = CUBLAS_DEFAULT_MATH;

std::string title_with_order(const std::string& title, int n) { return title + ", n = " + std::to_string(n); }

}  // namespace

/// Measures every function under each math mode, and with each compute type if it takes one.
void measure_functions(Worker& worker) {
    for (const int n : worker.sizes)
        for (const Element element : {Element::real, Element::complex}) {
            const bool complex = element == Element::complex;
            Float32Problem product(worker.device(), n, complex);
            Float32Problem solve(worker.device(), n, complex, OperandUse::solve);
            const auto measure = [&](const CublasFunction& function, const std::string& words,
                                     const std::string& prefix, cublasComputeType_t type,
                                     cublasGemmAlgo_t algorithm) {
                worker.measure_row(title_with_order(function.function + words, n), prefix, [&] {
                    DeviceProblem& problem = function.shape == ProductKind::trsm ? solve : product;
                    MeasuredRounding last;
                    for (const Mode& mode : modes) {
                        const auto result =
                            multiply(worker.cublas(), problem, {function.name, mode.value, type, algorithm});
                        worker.report_finding(mode.name, result.answer);
                        if (mode.value == usual)
                            worker.report_finding("default_error", format_number("%.1e", result.measured.error));
                        last = result.measured;
                    }
                    worker.report_finding("tf32_error", format_number("%.1e", last.error));
                    worker.report_finding("tf32_match", last.match);
                });
            };
            for (const CublasFunction& function : all_functions()) {
                const std::string name = function.name;
                if (function.kind == CublasFunction::by_mode) {
                    if (function.element == element)
                        measure(function, "", "mode_" + name + "_", CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
                    continue;
                }
                if (name.starts_with("lt")) continue;
                for (const auto& [type, title, row] : compute_types) {
                    const std::string words = (complex ? ", complex64, " : ", ") + std::string(title);
                    const std::string prefix = name + (complex ? "_complex_" : "_") + row;
                    measure(function, words, prefix + "_", type, CUBLAS_GEMM_DEFAULT);
                    if (name == "gemm_ex")
                        measure(function, words + ", algorithm 99", prefix + "_algo99_", type,
                                CUBLAS_GEMM_DEFAULT_TENSOR_OP);
                }
            }
        }
}

/// Measures products whose operands are not aligned to 256 bytes.
void measure_alignment(Worker& worker) {
    constexpr ComputeType types[] = {compute_types[0], compute_types[2], compute_types[3], compute_types[4]};
    for (const std::string name : {"gemm_ex", "gemm_batched_ex", "lt", "lt_null"})
        for (const ComputeType& type : types)
            for (const std::size_t offset : {16, 8, 4}) {
                const CublasFunction& function = function_named(name);
                const std::string place = std::to_string(offset);
                worker.measure_row(
                    std::string(function.function) + (name == "lt_null" ? ", algorithm NULL, " : ", ") + type.name +
                        ", operands at " + place + " bytes",
                    name + "_offset" + place + "_", [&] {
                        Float32Problem problem(worker.device(), worker.sizes.front(), false, OperandUse::product,
                                               {.offset = offset});
                        worker.report_finding(
                            type.row, multiply(worker.cublas(), problem, {function.name, usual, type.value}).answer);
                    });
            }
}

/// Measures how operands are rounded. The operands have ties, so the reference that matches names the rule. Which
/// kernel runs depends on the size, the transpositions and the alignment; kernels for TF32 need 16 bytes.
void measure_ties(Worker& worker) {
    const auto measure = [&](const ComputeType& type, const char* name, int n, const char* where,
                             const MatrixLayout& layout) {
        const auto letter = [](Operation operation) { return operation == CUBLAS_OP_N ? "N" : "T"; };
        worker.measure_row(
            title_with_order(std::string(type.name) + ", " + letter(layout.trans_a) + letter(layout.trans_b) + where,
                             n),
            "", [&] {
                Float32Problem problem(worker.device(), n, false, OperandUse::product, layout);
                const ProductResult result = multiply(worker.cublas(), problem, {"gemm_ex", usual, type.value});
                std::string rule = result.answer == "fp32" ? "kept" : result.ran ? "other" : "refused";
                for (const char* const word : {"even", "away", "truncate"})
                    if (result.measured.match.find(word) != std::string::npos) rule = word;
                worker.report_finding(name, rule);
                worker.report_finding("match", result.measured.match);
            });
    };
    const int largest = worker.sizes.back();
    measure(compute_types[3], "bf16_ties", largest, "", {});
    measure(compute_types[4], "fp16_ties", largest, "", {});
    for (const int n : std::set{64, 512, 2048, largest})
        for (const Operation trans_a : {CUBLAS_OP_N, CUBLAS_OP_T})
            for (const Operation trans_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                if (n > largest) continue;
                measure(compute_types[2], "tf32_ties", n, "", {0, 0, trans_a, trans_b});
                measure(compute_types[2], "tf32_ties", n, ", ld = n + 1", {0, 1, trans_a, trans_b});
                measure(compute_types[2], "tf32_ties", n, ", pointers + 4", {sizeof(float), 0, trans_a, trans_b});
            }
}

}  // namespace gpu
