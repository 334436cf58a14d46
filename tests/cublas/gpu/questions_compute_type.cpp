#include <cstdlib>

#include "families.hpp"
#include "gemm_ex.hpp"
#include "questions.hpp"

namespace gpu {

namespace {

constexpr cublasMath_t modes[] = {CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH,
                                  CUBLAS_TF32_TENSOR_OP_MATH};
constexpr const char* mode_rows[] = {"default", "tensor_op", "pedantic", "tf32"};

std::string measure(Session& session, Problem& problem, ExFunction function, cublasComputeType_t compute_type,
                    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT) {
    problem.prepare(Shape::gemm);
    const auto status = gemm_ex(session.cublas, problem, function, compute_type, algorithm);
    const int last = function == ExFunction::single ? 0 : Problem::copies - 1;
    return answer_of(status, problem.judge(Shape::gemm, last));
}

void keep_lowest(Session& session, const std::string& row, const std::string& answer) {
    std::string& known = session.measurements[row];
    known = known.empty() ? answer : lower_format(known, answer);
}

}  // namespace

void ask_compute_types(Session& session) {
    Table table({"compute type", "algorithm", "n", "DEFAULT", "TENSOR_OP", "PEDANTIC", "TF32"});
    struct Algorithm {
        cublasGemmAlgo_t value;
        const char* name;
        const char* row;
    };
    constexpr Algorithm algorithms[] = {{CUBLAS_GEMM_DEFAULT, "DEFAULT (-1)", ""},
                                        {CUBLAS_GEMM_DEFAULT_TENSOR_OP, "DEFAULT_TENSOR_OP (99)", "_algo99"}};
    for (const int n : session.sizes) {
        Problem problem(session.device, n, false, small_scale);
        for (const ComputeType& type : compute_types) {
            for (const Algorithm& algorithm : algorithms) {
                std::vector<std::string> row{type.name, algorithm.name, std::to_string(n)};
                for (int mode = 0; mode < 4; ++mode) {
                    session.cublas.set_math_mode(modes[mode]);
                    row.push_back(measure(session, problem, ExFunction::single, type.value, algorithm.value));
                    keep_lowest(session, std::string("gemm_ex_") + type.row + algorithm.row + "_" + mode_rows[mode],
                                row.back());
                }
                table.add(row);
            }
        }
    }
    session.cublas.set_math_mode(CUBLAS_DEFAULT_MATH);
    table.print("cublasGemmEx: compute type and algorithm, under each math mode of the handle");
}

void ask_ex_functions(Session& session) {
    std::vector<std::string> heading{"function", "operands", "n"};
    for (const ComputeType& type : compute_types) heading.push_back(type.name);
    Table table(heading);
    for (const int n : session.sizes) {
        for (const bool complex : {false, true}) {
            Problem problem(session.device, n, complex, small_scale);
            for (const ExFunction function : {ExFunction::single, ExFunction::strided_batched, ExFunction::batched,
                                              ExFunction::grouped_batched}) {
                std::vector<std::string> row{name_of(function), complex ? "complex64" : "float32", std::to_string(n)};
                for (const ComputeType& type : compute_types) {
                    row.push_back(measure(session, problem, function, type.value));
                    keep_lowest(session,
                                std::string(name_of(function)) + (complex ? "_complex64_" : "_float32_") + type.row,
                                row.back());
                }
                table.add(row);
            }
        }
    }
    table.print("Functions with a compute type, handle in DEFAULT mode");
}

std::string probe_alignment(Session& session, bool batched, cublasComputeType_t compute_type, int offset) {
    Problem problem(session.device, session.sizes.front(), false, small_scale, offset);
    return measure(session, problem, batched ? ExFunction::batched : ExFunction::single, compute_type);
}

void ask_alignment(Session& session) {
    Table table({"function", "compute type", "operands at", "result"});
    for (const bool batched : {false, true}) {
        for (const ComputeType& type : compute_types) {
            if (type.value == CUBLAS_COMPUTE_32F_PEDANTIC || type.value == CUBLAS_COMPUTE_32F_EMULATED_16BFX9)
                continue;
            for (const int offset : {16, 8, 4}) {
                // A fault would take the context, and every later answer, with it.
                const std::string result =
                    in_a_child(session, std::string(batched ? "batched" : "single") + ":" +
                                            std::to_string(type.value) + ":" + std::to_string(offset));
                table.add({batched ? "cublasGemmBatchedEx" : "cublasGemmEx", type.name,
                           std::to_string(offset) + " bytes", result});
                session.measurements[std::string(batched ? "batched" : "single") + "_offset" +
                                     std::to_string(offset) + "_" + type.row] = result;
            }
        }
    }
    table.print("Operands that are not aligned to 256 bytes");
}

std::string probe_override(Session& session) {
    const int n = session.sizes.back();
    Problem problem(session.device, n, false, small_scale);
    session.cublas.set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
    problem.prepare(Shape::gemm);
    const auto status = families().front().call(session.cublas, problem);
    std::string result = answer_of(status, problem.judge(Shape::gemm));
    session.cublas.set_math_mode(CUBLAS_DEFAULT_MATH);
    for (const auto type :
         {CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_16F}) {
        result.append(",").append(measure(session, problem, ExFunction::single, type));
    }
    return result + "," + lt_format(session, CUBLAS_COMPUTE_32F_FAST_TF32);
}

void ask_override(Session& session) {
    constexpr const char* products[] = {"cublasSgemm_v2 in TF32 mode", "cublasGemmEx 32F_FAST_TF32",
                                        "cublasGemmEx 32F_FAST_16BF", "cublasGemmEx 32F_FAST_16F",
                                        "cublasLtMatmul 32F_FAST_TF32"};
    constexpr const char* rows[] = {"override_sgemm_tf32_mode", "override_fast_tf32", "override_fast_16bf",
                                    "override_fast_16f", "override_lt_fast_tf32"};
    const auto split = [](std::string text) {
        std::vector<std::string> parts;
        for (std::size_t comma; (comma = text.find(',')) != std::string::npos; text.erase(0, comma + 1)) {
            parts.push_back(text.substr(0, comma));
        }
        parts.push_back(text);
        return parts;
    };
    const auto without = split(in_a_child(session, "override"));
    const auto with = split(in_a_child(session, "override", "NVIDIA_TF32_OVERRIDE=0"));
    Table table({"product", "without", "NVIDIA_TF32_OVERRIDE=0"});
    for (std::size_t i = 0; i < std::size(products); ++i) {
        const auto part = [i](const std::vector<std::string>& parts) { return parts[std::min(i, parts.size() - 1)]; };
        table.add({products[i], part(without), part(with)});
        session.measurements[rows[i]] = part(with);
    }
    table.print("NVIDIA_TF32_OVERRIDE=0");
}

}  // namespace gpu
