// Finds out how float32 is rounded to TF32, BF16 or FP16. The products multiply one element by 1, with zeros
// everywhere else, so that the result is the rounded operand itself.
#include <cmath>
#include <iterator>

#include "gpu_check/products/functions.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

/// Elements to be rounded are 1 + last * unit, where unit is the last place of the format's mantissa.
constexpr double lasts[] = {0.5, 1.5, 0.75, -0.5};
constexpr const char* names[] = {"1 + u/2", "1 + 3u/2", "1 + 3u/4", "-(1 + u/2)"};
constexpr int count = std::size(lasts);

struct Format {
    const ComputeType& type;
    const char* row;
    int explicit_bits;
};
constexpr Format formats[] = {
    {compute_types[2], "tf32_ties", 10}, {compute_types[3], "bf16_ties", 7}, {compute_types[4], "fp16_ties", 10}};

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
    const Layout& layout;
};

/// Returns the elements after the product; empty: the product was refused.
std::vector<float> rounded_elements(const Cublas& cublas, const std::vector<float>& elements,
                                    const Operands& operands, cublasComputeType_t type) {
    const int n = operands.n;
    const int ld = n + operands.layout.ld_more;
    const std::size_t offset = operands.layout.offset;
    const std::size_t skipped = offset / sizeof(float);
    std::vector<float> a(skipped + static_cast<std::size_t>(ld) * n);
    std::vector<float> b(a.size());
    // op(A) has its elements in the first column, op(B) in the first row. All other elements are multiplied by zero.
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const float element = elements[i % elements.size()];
        a[skipped + (operands.trans_a == CUBLAS_OP_N ? i : i * ld)] = operands.in_a ? element : 1;
        b[skipped + (operands.trans_b == CUBLAS_OP_N ? i * ld : i)] = operands.in_a ? 1 : element;
    }
    const Buffer device_a(cublas.device, a);
    const Buffer device_b(cublas.device, b);
    Buffer device_c(cublas.device, a.size() * sizeof(float));
    device_c.fill_with_nan(a.size() * sizeof(float));
    Call call = square(n, device_a, device_b, device_c, Element::real, offset);
    call.lda = call.ldb = call.ldc = ld;
    call.trans_a = operands.trans_a, call.trans_b = operands.trans_b;
    call.type = type;
    if (function_called("gemm_ex")(cublas, call) != CUBLAS_STATUS_SUCCESS) return {};
    const auto c = device_c.download<float>(a.size());
    std::vector<float> result;
    for (std::size_t i = 0; i < elements.size(); ++i) result.push_back(c[skipped + (operands.in_a ? i : i * ld)]);
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

void measure_rule(Worker& worker, const Format& format, const Operands& operands) {
    const double unit = std::ldexp(1.0, -format.explicit_bits);
    std::vector<float> elements;
    for (const double last : lasts)
        elements.push_back(static_cast<float>(std::copysign(1 + std::abs(last) * unit, last)));
    const auto found = rounded_elements(worker.cublas(), elements, operands, format.type.value);
    // 1 + u/2 lies between its neighbours 1 and 1 + u.
    for (std::size_t i = 0; i < found.size(); ++i)
        worker.found(names[i], digits(found[i] < 0 ? "-1 - %.4g u" : "1 + %.4g u", (std::abs(found[i]) - 1) / unit));
    worker.found(format.row, rule(elements, found, unit));
}

/// Tries all transpositions and both operands in this layout, since they decide which kernel runs.
void measure_layout(Worker& worker, const Format& format, int n, const Layout& layout) {
    for (const bool in_a : {true, false})
        for (const Operation trans_a : {CUBLAS_OP_N, CUBLAS_OP_T})
            for (const Operation trans_b : {CUBLAS_OP_N, CUBLAS_OP_T})
                worker.row(std::string(format.type.name) + ", u = 2^-" + std::to_string(format.explicit_bits) +
                               ", n = " + std::to_string(n) + ", operand " + (in_a ? "A" : "B") + ", " +
                               (trans_a == CUBLAS_OP_N ? "N" : "T") + (trans_b == CUBLAS_OP_N ? "N" : "T") + ", " +
                               layout.name,
                           "", [&] {
                               measure_rule(worker, format, {n, in_a, trans_a, trans_b, layout});
                           });
}

}  // namespace

void measure_ties(Worker& worker) {
    const int largest = worker.sizes.back();
    for (const Format& format : formats) measure_layout(worker, format, largest, layouts[0]);
    for (const int n : {64, 512, 2048}) {
        if (n > largest) continue;
        for (const Layout& layout : layouts)
            if (n != largest || layout.ld_more != 0 || layout.offset != 0)
                measure_layout(worker, formats[0], n, layout);
    }
}

}  // namespace gpu
