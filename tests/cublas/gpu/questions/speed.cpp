// Compares times, by the device's own clock, and bits: of one product by different calls, and of each function in and
// out of TF32 mode.
#include <algorithm>
#include <array>
#include <random>

#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

struct Shapes {
    int m, n, k;
    Operation trans_a, trans_b;
};

std::string title_of(const Shapes& p) {
    const auto letter = [](Operation operation) { return operation == CUBLAS_OP_N ? "N" : "T"; };
    return std::to_string(p.m) + ", " + std::to_string(p.n) + ", " + std::to_string(p.k) + " " + letter(p.trans_a) +
           letter(p.trans_b);
}

/// Returns shapes of products, the same in every run: squares of all sizes, then random combinations of sizes.
std::vector<Shapes> draw_shapes(int largest, int count) {
    std::vector<int> sizes{1, 5, 16, 32, 64, 100, 127, 128, 256, 384, 512, 1000, 1024, 2048, 4096};
    std::erase_if(sizes, [&](int size) { return size > largest; });
    std::vector<Shapes> products;
    for (const int size : sizes) products.push_back({size, size, size, CUBLAS_OP_N, CUBLAS_OP_N});
    std::mt19937 generator(1);
    const auto any_size = [&] { return sizes[generator() % sizes.size()]; };
    const auto any_operation = [&] { return generator() % 2 != 0 ? CUBLAS_OP_N : CUBLAS_OP_T; };
    while (static_cast<int>(products.size()) < count)
        products.push_back({any_size(), any_size(), any_size(), any_operation(), any_operation()});
    return products;
}

/// The calls that are compared.
enum Which { sgemm, ex, ex_99, ex_pedantic, sgemm_tf32, ex_fast, which_count };
constexpr std::array<ProductRequest, which_count> requests{{
    {"sgemm"},
    {"gemm_ex"},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_PEDANTIC},
    {"sgemm", CUBLAS_TF32_TENSOR_OP_MATH},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_FAST_TF32},
}};
/// Calls that should give the same bits in the same time; PEDANTIC may differ.
struct Pair {
    const char* name;
    Which of, over;
};
constexpr Pair pairs[] = {
    {"ex", ex, sgemm}, {"99", ex_99, ex}, {"pedantic", ex_pedantic, ex}, {"fast", ex_fast, sgemm_tf32}};

/// Compares the bits and the times of one product by each call.
void compare(Worker& worker, RandomMatrices& matrices, const Shapes& p) {
    CallArguments call = matrices.call_arguments();
    call.m = p.m, call.n = p.n, call.k = p.k;
    call.trans_a = p.trans_a, call.trans_b = p.trans_b;
    call.lda = p.trans_a == CUBLAS_OP_N ? p.m : p.k;
    call.ldb = p.trans_b == CUBLAS_OP_N ? p.k : p.n;
    call.ldc = p.m;
    const auto multiply = [&](const ProductRequest& request) {
        worker.cublas().set_math_mode(request.mode);
        call.type = request.type;
        call.algorithm = request.algorithm;
        throw_on_error(*function_named(request.function)(worker.cublas(), call), "the product");
    };
    const std::size_t elements = static_cast<std::size_t>(p.m) * p.n;
    std::array<std::vector<unsigned>, which_count> bits;
    std::array<double, which_count> times;
    times.fill(1e9);
    for (int i = 0; i < which_count; ++i) {
        matrices.c.fill_with_nan(elements * sizeof(float));
        multiply(requests[i]);
        bits[i] = matrices.c.download<unsigned>(elements);
    }
    for (int round = 0; round < 3; ++round)  // the calls take turns, and the fastest round counts
        for (int i = 0; i < which_count; ++i)
            times[i] = std::min(times[i], measure_milliseconds(worker.device(), 8, [&] { multiply(requests[i]); }));
    worker.report_finding("us", format_number("%.3f", times[sgemm] * 1000));
    for (const auto& [name, of, over] : pairs) {
        worker.report_finding(std::string("bits_") + name, bits[of] == bits[over] ? "same bits" : "other bits");
        // A shorter time is mostly that of launching the kernel.
        constexpr double least_milliseconds = 0.02;
        if (times[over] >= least_milliseconds)
            worker.report_finding(std::string("time_") + name, format_number("%.3f", times[of] / times[over]));
    }
}

}  // namespace

/// Compares the bits and the times of calls that should be equivalent.
void measure_equivalent_calls(Worker& worker) {
    const bool all = worker.sizes.size() > 1;
    const int largest = all ? 4096 : worker.sizes.back();
    RandomMatrices matrices(worker.device(), largest);
    for (const Shapes& product : draw_shapes(largest, all ? 200 : 40))
        worker.measure_row(title_of(product), "", [&] { compare(worker, matrices, product); });
}

/// Measures what TF32 mode gains in each function of real numbers.
void measure_gains(Worker& worker) {
    const int n = worker.sizes.back();
    Float32Problem product(worker.device(), n);
    Float32Problem solve(worker.device(), n, false, OperandUse::solve);
    for (const CublasFunction& function : all_functions()) {
        if (function.kind != CublasFunction::by_mode || function.element != Element::real) continue;
        DeviceProblem& problem = function.shape == ProductKind::trsm ? solve : product;
        worker.measure_row(std::string(function.function) + ", n = " + std::to_string(n), "", [&] {
            problem.prepare_output(function.shape);
            const CallArguments operands = problem.call_arguments();
            if (!function(worker.cublas(), operands))
                return worker.report_finding(std::string("gain_") + function.name, "absent");
            const double fp32 = median_milliseconds(worker, function, operands, CUBLAS_DEFAULT_MATH);
            const double tf32 = median_milliseconds(worker, function, operands, CUBLAS_TF32_TENSOR_OP_MATH);
            worker.report_finding("ms_default", format_number("%.3f", fp32));
            worker.report_finding("ms_tf32", format_number("%.3f", tf32));
            worker.report_finding(std::string("gain_") + function.name, format_number("%.3f", fp32 / tf32));
        });
    }
}

}  // namespace gpu
