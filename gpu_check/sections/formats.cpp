// The format of one product, asked for in every way: by functions, compute types, algorithms and math modes.
#include <set>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

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

/// A way with its title, and the name of its finding.
struct NamedWay {
    const char* name;
    const char* title;
    Way way;
};
constexpr auto usual = CUBLAS_DEFAULT_MATH;

constexpr NamedWay opt_ins[] = {
    {"nothing", "cublasSgemm, nothing asked for", {"sgemm"}},
    {"mode_tf32", "cublasSgemm, math mode TF32", {"sgemm", CUBLAS_TF32_TENSOR_OP_MATH}},
    {"mode_tensor_op", "cublasSgemm, math mode TENSOR_OP", {"sgemm", CUBLAS_TENSOR_OP_MATH}},
    {"mode_pedantic", "cublasSgemm, math mode PEDANTIC", {"sgemm", CUBLAS_PEDANTIC_MATH}},
    {"32f", "cublasGemmEx, 32F", {"gemm_ex"}},
    {"fast_tf32", "cublasGemmEx, 32F_FAST_TF32", {"gemm_ex", usual, CUBLAS_COMPUTE_32F_FAST_TF32}},
    {"fast_16bf", "cublasGemmEx, 32F_FAST_16BF", {"gemm_ex", usual, CUBLAS_COMPUTE_32F_FAST_16BF}},
    {"fast_16f", "cublasGemmEx, 32F_FAST_16F", {"gemm_ex", usual, CUBLAS_COMPUTE_32F_FAST_16F}},
    {"algorithm_99",
     "cublasGemmEx, 32F, algorithm 99",
     {"gemm_ex", usual, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP}},
    {"pedantic", "cublasGemmEx, 32F_PEDANTIC", {"gemm_ex", usual, CUBLAS_COMPUTE_32F_PEDANTIC}},
    {"lt_32f", "cublasLtMatmul, 32F, its heuristic's algorithm", {"lt"}},
    {"lt_fast_tf32",
     "cublasLtMatmul, 32F_FAST_TF32, its heuristic's algorithm",
     {"lt", usual, CUBLAS_COMPUTE_32F_FAST_TF32}},
};

constexpr auto emulating = CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH;
constexpr NamedWay ways_of_float64[] = {
    {"dgemm", "cublasDgemm", {"dgemm"}},
    {"dgemm_pedantic", "cublasDgemm, PEDANTIC mode", {"dgemm", CUBLAS_PEDANTIC_MATH}},
    {"dgemm_mode", "cublasDgemm, mode FP64_EMULATED", {"dgemm", emulating}},
    {"dsyrk_mode", "cublasDsyrk, mode FP64_EMULATED", {"dsyrk", emulating}},
    {"ex_64f", "cublasGemmEx, 64F", {"gemm_ex", usual, CUBLAS_COMPUTE_64F}},
    {"ex_pedantic", "cublasGemmEx, 64F_PEDANTIC", {"gemm_ex", usual, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"ex_emulated", "cublasGemmEx, 64F_EMULATED", {"gemm_ex", usual, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT}},
    {"ex_mode", "cublasGemmEx, 64F, mode FP64_EMULATED", {"gemm_ex", emulating, CUBLAS_COMPUTE_64F}},
    {"ex_pedantic_mode",
     "cublasGemmEx, 64F_PEDANTIC, mode FP64_EMULATED",
     {"gemm_ex", emulating, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"lt_64f", "cublasLtMatmul, 64F", {"lt", usual, CUBLAS_COMPUTE_64F}},
    {"lt_pedantic", "cublasLtMatmul, 64F_PEDANTIC", {"lt", usual, CUBLAS_COMPUTE_64F_PEDANTIC}},
    {"lt_emulated", "cublasLtMatmul, 64F_EMULATED", {"lt", usual, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT}},
};

std::string title_with_order(const std::string& title, int n) { return title + ", n = " + std::to_string(n); }

}  // namespace

/// Measures one product of a program that asks for no particular precision.
void measure_product(Worker& worker) {
    Float32Problem problem(worker.device(), worker.sizes.back());
    worker.row(title_with_order("cublasSgemm", problem.n), "", [&] {
        const Result result = multiply(worker.cublas(), problem, {"sgemm"});
        worker.found("format", result.answer);
        worker.found("error", digits("%.1e", result.measured.error));
        worker.found("match", result.measured.match);
        worker.found("bits", problem.hash_of_result());
    });
}

void measure_opt_ins(Worker& worker) {
    Float32Problem problem(worker.device(), worker.sizes.back());
    for (const auto& [name, title, way] : opt_ins)
        worker.row(title, "", [&] { worker.found(name, multiply(worker.cublas(), problem, way).answer); });
}

void measure_float64(Worker& worker) {
    Float64Problem problem(worker.cublas(), worker.sizes.back());
    for (const auto& [name, title, way] : ways_of_float64)
        worker.row(title, name, [&] {
            const auto& [answer, measured, ran] = multiply(worker.cublas(), problem, way);
            worker.found("", answer);
            worker.found("_error", ran ? digits("%.1e", measured.error) : "-");
            worker.found("_kept", ran ? measured.match : "-");
            worker.found("_bits", ran ? problem.hash_of_result() : "-");
        });
}

/// Measures every function under each math mode; one that takes a compute type, with each of these.
void measure_functions(Worker& worker) {
    for (const int n : worker.sizes)
        for (const Element element : {Element::real, Element::complex}) {
            const bool complex = element == Element::complex;
            Float32Problem product(worker.device(), n, complex);
            Float32Problem solve(worker.device(), n, complex, Use::solve);
            const auto measure = [&](const Function& function, const std::string& words, const std::string& prefix,
                                     cublasComputeType_t type, cublasGemmAlgo_t algorithm) {
                worker.row(title_with_order(function.function + words, n), prefix, [&] {
                    Problem& problem = function.shape == Shape::trsm ? solve : product;
                    Measured last;
                    for (const Mode& mode : modes) {
                        const auto result =
                            multiply(worker.cublas(), problem, {function.name, mode.value, type, algorithm});
                        worker.found(mode.name, result.answer);
                        if (mode.value == usual) worker.found("default_error", digits("%.1e", result.measured.error));
                        last = result.measured;
                    }
                    worker.found("tf32_error", digits("%.1e", last.error));
                    worker.found("tf32_match", last.match);
                });
            };
            for (const Function& function : functions()) {
                const std::string name = function.name;
                if (function.kind == Function::by_mode) {
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
                const Function& function = function_called(name);
                const std::string place = std::to_string(offset);
                worker.row(std::string(function.function) + (name == "lt_null" ? ", algorithm NULL, " : ", ") +
                               type.name + ", operands at " + place + " bytes",
                           name + "_offset" + place + "_", [&] {
                               Float32Problem problem(worker.device(), worker.sizes.front(), false, Use::product,
                                                      {.offset = offset});
                               worker.found(
                                   type.row,
                                   multiply(worker.cublas(), problem, {function.name, usual, type.value}).answer);
                           });
            }
}

/// Measures how operands are rounded. The operands have ties, so the reference that matches names the rule. Which
/// kernel runs depends on the size, the transpositions and the alignment; kernels for TF32 need 16 bytes.
void measure_ties(Worker& worker) {
    const auto measure = [&](const ComputeType& type, const char* name, int n, const char* where,
                             const Layout& layout) {
        const auto letter = [](Operation operation) { return operation == CUBLAS_OP_N ? "N" : "T"; };
        worker.row(title_with_order(
                       std::string(type.name) + ", " + letter(layout.trans_a) + letter(layout.trans_b) + where, n),
                   "", [&] {
                       Float32Problem problem(worker.device(), n, false, Use::product, layout);
                       const Result result = multiply(worker.cublas(), problem, {"gemm_ex", usual, type.value});
                       std::string rule = result.answer == "fp32" ? "kept" : result.ran ? "other" : "refused";
                       for (const char* const word : {"even", "away", "truncate"})
                           if (result.measured.match.find(word) != std::string::npos) rule = word;
                       worker.found(name, rule);
                       worker.found("match", result.measured.match);
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
