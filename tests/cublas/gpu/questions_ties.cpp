// How a float32 becomes a TF32, BF16 or FP16: products of one element with 1, everything else zero. The result is
// then the rounded operand itself.
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>

#include "gemm_ex.hpp"
#include "questions.hpp"

namespace gpu {

namespace {

/// The elements to be rounded, in units of the last place of a format with these explicit mantissa bits.
constexpr double lasts[] = {0.5, 1.5, 0.75, -0.5};
constexpr int count = std::size(lasts);

struct Operands {
    bool in_a;  // which operand has the elements; the other one has 1
    Operation trans_a, trans_b;
};

/// The elements after the product; empty where it was refused.
std::vector<float> rounded_elements(const Session& session, const std::vector<float>& elements, Operands operands,
                                    cublasComputeType_t compute_type) {
    const int n = session.sizes.back();
    const auto n_long = static_cast<std::size_t>(n);
    std::vector<float> a(n_long * n);
    std::vector<float> b(n_long * n);
    // op(A) has the elements in its first column, op(B) in its first row; everything else meets a zero.
    const auto in_a = [&](std::size_t row) -> float& {
        return operands.trans_a == CUBLAS_OP_N ? a[row] : a[row * n];
    };
    const auto in_b = [&](std::size_t column) -> float& {
        return operands.trans_b == CUBLAS_OP_N ? b[column * n] : b[column];
    };
    for (std::size_t i = 0; i < n_long; ++i) {
        in_a(i) = operands.in_a ? elements[i % elements.size()] : 1;
        in_b(i) = operands.in_a ? 1 : elements[i % elements.size()];
    }
    const Buffer device_a(session.device, a);
    const Buffer device_b(session.device, b);
    Buffer device_c(session.device, a.size() * sizeof(float));
    device_c.fill_with_nan(a.size() * sizeof(float));
    const float one = 1;
    const float zero = 0;
    const cublasStatus_t status = session.cublas.library.get<GemmEx>("cublasGemmEx")(
        session.cublas.handle, operands.trans_a, operands.trans_b, n, n, n, &one, device_a.as<void>(), CUDA_R_32F, n,
        device_b.as<void>(), CUDA_R_32F, n, &zero, device_c.as<void>(), CUDA_R_32F, n, compute_type,
        CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) return {};
    const auto c = device_c.download<float>(a.size());
    std::vector<float> result;
    for (std::size_t i = 0; i < elements.size(); ++i) result.push_back(operands.in_a ? c[i] : c[i * n]);
    return result;
}

/// Names the rule from where 1 + last * unit went.
std::string rule(const std::vector<float>& elements, const std::vector<float>& found, double unit) {
    if (found.empty()) return "refused";
    if (found == elements) return "kept";
    double in_units[count];
    for (int i = 0; i < count; ++i) in_units[i] = (std::abs(found[i]) - 1) / unit;
    if (in_units[2] == 0 && in_units[0] == 0 && in_units[1] == 1) return "truncate";
    if (in_units[2] != 1 || in_units[1] != 2) return "other";
    if (in_units[0] == 0) return in_units[3] == 0 ? "even" : "other";
    if (in_units[0] != 1) return "other";
    return in_units[3] == 1 ? "away" : "up";
}

}  // namespace

void ask_ties(Session& session) {
    struct Format {
        cublasComputeType_t compute_type;
        const char* name;
        const char* row;
        int explicit_bits;
    };
    constexpr Format formats[] = {{CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32", "tf32_ties", 10},
                                  {CUBLAS_COMPUTE_32F_FAST_16BF, "32F_FAST_16BF", "bf16_ties", 7},
                                  {CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F", "fp16_ties", 10}};
    Table table({"compute type", "unit u", "operand", "trans_a, trans_b", "1 + u/2", "1 + 3u/2", "1 + 3u/4",
                 "-(1 + u/2)", "rule"});
    for (const Format& format : formats) {
        const double unit = std::ldexp(1.0, -format.explicit_bits);
        std::vector<float> elements;
        for (const double last : lasts) {
            elements.push_back(static_cast<float>(std::copysign(1 + std::abs(last) * unit, last)));
        }
        std::set<std::string> rules;
        for (const bool in_a : {true, false}) {
            for (const Operation trans_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                for (const Operation trans_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                    const auto found =
                        rounded_elements(session, elements, {in_a, trans_a, trans_b}, format.compute_type);
                    std::vector<std::string> row{
                        format.name, "2^-" + std::to_string(format.explicit_bits), in_a ? "A" : "B",
                        std::string(trans_a == CUBLAS_OP_N ? "N" : "T") + (trans_b == CUBLAS_OP_N ? ", N" : ", T")};
                    for (int i = 0; i < count; ++i) {
                        if (found.empty()) {
                            row.emplace_back("-");
                            continue;
                        }
                        // The neighbours of 1 + u/2 are 1 and 1 + u.
                        const double units = (std::abs(found[i]) - 1) / unit;
                        char text[32];
                        std::snprintf(text, sizeof text, "%s%.4g u", found[i] < 0 ? "-1 - " : "1 + ", units);
                        row.emplace_back(text);
                    }
                    row.push_back(rule(elements, found, unit));
                    rules.insert(row.back());
                    table.add(row);
                }
            }
        }
        std::string& answer = session.measurements[format.row];
        for (const std::string& each : rules) answer += (answer.empty() ? "" : "+") + each;
    }
    table.print("How operands are rounded: each element times 1, all others zero");
}

}  // namespace gpu
