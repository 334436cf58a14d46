// Finds out how float32 is rounded to TF32, BF16 or FP16. The products multiply one element by 1, with zeros
// everywhere else, so that the result is the rounded operand itself.
#include <cmath>
#include <cstdio>
#include <iterator>

#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

/// Elements to be rounded are 1 + last * unit, where unit is the last place of the format's mantissa.
constexpr double lasts[] = {0.5, 1.5, 0.75, -0.5};
constexpr int count = std::size(lasts);

/// Layout of the matrices in memory. Kernels for TF32 need an alignment of 16 bytes.
struct Layout {
    const char* name;
    int ld_more;         // leading dimension minus n
    std::size_t offset;  // offset of the pointers, in bytes
};
constexpr Layout layouts[] = {{"aligned", 0, 0}, {"ld = n + 1", 1, 0}, {"pointers + 4", 0, 4}};

struct Operands {
    int n;
    bool in_a;  // true: A has the elements and B has 1; false: the reverse
    Operation trans_a, trans_b;
    Layout layout;
};

/// Returns the elements after the product; empty: the product was refused.
std::vector<float> rounded_elements(Worker& worker, const std::vector<float>& elements, const Operands& operands,
                                    cublasComputeType_t compute_type) {
    const int n = operands.n;
    const int ld = n + operands.layout.ld_more;
    const std::size_t offset = operands.layout.offset;
    const std::size_t skipped = offset / sizeof(float);
    std::vector<float> a(skipped + static_cast<std::size_t>(ld) * n);
    std::vector<float> b(a.size());
    // op(A) has its elements in the first column, op(B) in the first row. All other elements are multiplied by zero.
    const auto in_column = [&](std::vector<float>& matrix, std::size_t i) -> float& { return matrix[skipped + i]; };
    const auto in_row = [&](std::vector<float>& matrix, std::size_t i) -> float& { return matrix[skipped + i * ld]; };
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const float element = elements[i % elements.size()];
        (operands.trans_a == CUBLAS_OP_N ? in_column(a, i) : in_row(a, i)) = operands.in_a ? element : 1;
        (operands.trans_b == CUBLAS_OP_N ? in_row(b, i) : in_column(b, i)) = operands.in_a ? 1 : element;
    }
    const Buffer device_a(worker.device(), a);
    const Buffer device_b(worker.device(), b);
    Buffer device_c(worker.device(), a.size() * sizeof(float));
    device_c.fill_with_nan(a.size() * sizeof(float));
    const float one = 1;
    const float zero = 0;
    const cublasStatus_t status = worker.cublas().library.get<decltype(cublasGemmEx)>("cublasGemmEx")(
        worker.cublas().handle, operands.trans_a, operands.trans_b, n, n, n, &one, device_a.as<void>(offset),
        CUDA_R_32F, ld, device_b.as<void>(offset), CUDA_R_32F, ld, &zero, device_c.as<void>(offset), CUDA_R_32F, ld,
        compute_type, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) return {};
    const auto c = device_c.download<float>(a.size());
    std::vector<float> result;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        result.push_back(c[skipped + (operands.in_a ? i : i * ld)]);
    }
    return result;
}

/// Names the rounding rule that turned `elements` into `found`.
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

struct Format {
    cublasComputeType_t compute_type;
    const char* name;
    const char* row;
    int explicit_bits;
};
constexpr Format formats[] = {{CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32", "tf32_ties", 10},
                              {CUBLAS_COMPUTE_32F_FAST_16BF, "32F_FAST_16BF", "bf16_ties", 7},
                              {CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F", "fp16_ties", 10}};

std::vector<std::string> ask_rule(Worker& worker, const Format& format, const Operands& operands) {
    const double unit = std::ldexp(1.0, -format.explicit_bits);
    std::vector<float> elements;
    for (const double last : lasts) {
        elements.push_back(static_cast<float>(std::copysign(1 + std::abs(last) * unit, last)));
    }
    const auto found = rounded_elements(worker, elements, operands, format.compute_type);
    std::vector<std::string> cells;
    for (int i = 0; i < count; ++i) {
        if (found.empty()) {
            cells.emplace_back("-");
            continue;
        }
        // 1 + u/2 lies between its neighbours 1 and 1 + u.
        const double units = (std::abs(found[i]) - 1) / unit;
        char text[32];
        std::snprintf(text, sizeof text, "%s%.4g u", found[i] < 0 ? "-1 - " : "1 + ", units);
        cells.emplace_back(text);
    }
    cells.push_back(rule(elements, found, unit));
    worker.found(format.row, cells.back());
    return cells;
}

/// Tries all transpositions and both operands in this layout, since they decide which kernel runs.
void ask_layouts(Worker& worker, const Format& format, int n, const Layout& layout) {
    for (const bool in_a : {true, false}) {
        for (const Operation trans_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            for (const Operation trans_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                worker.row(
                    {std::string(format.name) + ", u = 2^-" + std::to_string(format.explicit_bits), std::to_string(n),
                     in_a ? "A" : "B",
                     std::string(trans_a == CUBLAS_OP_N ? "N" : "T") + (trans_b == CUBLAS_OP_N ? ", N" : ", T"),
                     layout.name},
                    [&] {
                        return ask_rule(worker, format, {n, in_a, trans_a, trans_b, layout});
                    });
            }
        }
    }
}

}  // namespace

void ask_ties(Worker& worker) {
    const int largest = worker.sizes.back();
    for (const Format& format : formats) ask_layouts(worker, format, largest, layouts[0]);
    for (const int n : {64, 512, 2048}) {
        if (n > largest) continue;
        for (const Layout& layout : layouts) {
            if (n != largest || layout.ld_more || layout.offset) ask_layouts(worker, formats[0], n, layout);
        }
    }
}

}  // namespace gpu
