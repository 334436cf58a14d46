// Measures in which type products of half operands add: FP16, parts of the result's type, or FP32. Only the errors
// of long sums tell.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

// Numbers from 0.5 to 1 make sums of about 9200, all of which have the same unit in the last place.
constexpr int rows = 64, terms = 16384;
constexpr double unit = 8;  // distance of float16 numbers from 8192 to 16384
// FP16 loses the digits of most products of so long a sum. Few parts that are added in FP16 lose less than this.
constexpr double few_parts = 2;
// A rounded sum is off by half a unit. The rest allows for tensor cores, which truncate sums of FP32 at each step.
constexpr double once_rounded = 0.75;

constexpr struct {
    const char *title, *name, *function;
    cublasComputeType_t type;
} half_ways[] = {{"cublasHgemm", "hgemm", "hgemm", CUBLAS_COMPUTE_16F},
                 {"cublasGemmEx, 16F", "half_16f", "gemm_ex", CUBLAS_COMPUTE_16F},
                 {"cublasGemmEx, 32F", "half_32f", "gemm_ex", CUBLAS_COMPUTE_32F},
                 {"cublasGemmEx, 32F_PEDANTIC", "half_pedantic", "gemm_ex", CUBLAS_COMPUTE_32F_PEDANTIC}};

using Halves = std::vector<std::uint16_t>;

/// Returns the value of a number of float16 that is not subnormal; infinity counts as 65536.
double value_of(std::uint16_t half) {
    const double size = std::ldexp(0x400 | (half & 0x3ff), (half >> 10 & 0x1f) - 25);
    return (half & 0x8000) != 0 ? -size : size;
}

/// Returns the exact sum of products of two columns of random_halves(), which are multiples of 2^-11.
double exact_sum(const std::uint16_t* a, const std::uint16_t* b) {
    std::int64_t sum = 0;
    for (int i = 0; i < terms; ++i) sum += std::int64_t{0x400 | (a[i] & 0x3ff)} * (0x400 | (b[i] & 0x3ff));
    return std::ldexp(static_cast<double>(sum), -22);
}

}  // namespace

std::vector<std::uint16_t> random_halves(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<std::uint16_t> halves(count);
    for (auto& half : halves) half = static_cast<std::uint16_t>(0x3800 | (generator() & 0x3ff));
    return halves;
}

void measure_half_sums(Worker& worker) {
    const Halves a = random_halves(std::size_t{rows} * terms, 1), b = random_halves(a.size(), 2);
    for (const auto& [title, name, function, type] : half_ways)
        worker.measure_row(title, name, [&] {
            const DeviceBuffer on_a(worker.device(), a), on_b(worker.device(), b);
            const DeviceBuffer on_c(worker.device(), Halves(rows * rows));
            CallArguments call = square_call(rows, on_a, on_b, on_c, Element::half);
            call.k = call.lda = call.ldb = terms;
            call.trans_a = CUBLAS_OP_T;
            call.type = type;
            if (type != CUBLAS_COMPUTE_16F) call.alpha = Scalar(1), call.beta = Scalar(0);
            const Status status = function_named(function)(worker.cublas(), call);
            if (status != CUBLAS_STATUS_SUCCESS) return worker.report_finding("", format_or_error(status, {}));
            const Halves result = on_c.download<std::uint16_t>(rows * rows);
            double error = 0;
            for (int i = 0; i < rows * rows; ++i) {
                const double exact = exact_sum(a.data() + i % rows * terms, b.data() + i / rows * terms);
                error = std::max(error, std::abs(value_of(result[i]) - exact) / unit);
            }
            worker.report_finding("_error", format_number("%.2f", error));
            worker.report_finding("_in_fp16", error > few_parts ? "yes" : "no");
            worker.report_finding("_reduced", error > once_rounded ? "yes" : "no");
        });
}

}  // namespace gpu
