// Times by the device's own clock: of one product by different calls, at FP32 and at TF32.
#include <algorithm>
#include <array>
#include <chrono>
#include <random>

#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

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
constexpr std::array<Way, which_count> ways{{
    {"sgemm"},
    {"gemm_ex"},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_PEDANTIC},
    {"sgemm", CUBLAS_TF32_TENSOR_OP_MATH},
    {"gemm_ex", CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_FAST_TF32},
}};

/// Bits and times of one product by each call.
class Comparison {
  public:
    Comparison(Worker& worker, RandomMatrices& matrices, const Shapes& p)
        : worker_(worker),
          matrices_(matrices),
          call_(matrices.call()),
          elements_(static_cast<std::size_t>(p.m) * p.n) {
        call_.m = p.m, call_.n = p.n, call_.k = p.k;
        call_.trans_a = p.trans_a, call_.trans_b = p.trans_b;
        call_.lda = p.trans_a == CUBLAS_OP_N ? p.m : p.k;
        call_.ldb = p.trans_b == CUBLAS_OP_N ? p.k : p.n;
        call_.ldc = p.m;
        for (int i = 0; i < which_count; ++i) {
            matrices.c.fill_with_nan(elements_ * sizeof(float));
            multiply(i);
            bits_[i] = matrices.c.download<unsigned>(elements_);
        }
        times_.fill(1e9);
        for (int round = 0; round < 3; ++round)  // the calls take turns, and the fastest round counts
            for (int i = 0; i < which_count; ++i)
                times_[i] = std::min(times_[i], milliseconds(worker.device(), 8, [&] { multiply(i); }));
    }

    void tell() const {
        worker_.found("us", digits("%.3f", times_[sgemm] * 1000));
        tell("ex", ex, sgemm);
        tell("99", ex_99, ex);
        tell_time("pedantic", ex_pedantic, ex);
        tell("fast", ex_fast, sgemm_tf32);
    }

  private:
    void tell(const std::string& name, Which of, Which over) const {
        worker_.found("bits_" + name, bits_[of] == bits_[over] ? "same bits" : "other bits");
        tell_time(name, of, over);
    }
    void tell_time(const std::string& name, Which of, Which over) const {
        // A shorter time is mostly that of launching the kernel.
        constexpr double least_milliseconds = 0.02;
        if (times_[over] >= least_milliseconds)
            worker_.found("time_" + name, digits("%.3f", times_[of] / times_[over]));
    }
    void multiply(int i) {
        worker_.cublas().set_math_mode(ways[i].mode);
        call_.type = ways[i].type;
        call_.algorithm = ways[i].algorithm;
        check(*function_called(ways[i].function)(worker_.cublas(), call_), "the product");
    }

    Worker& worker_;
    RandomMatrices& matrices_;
    Call call_;
    std::size_t elements_;
    std::array<std::vector<unsigned>, which_count> bits_;
    std::array<double, which_count> times_;
};

/// Returns the median time of one call, in milliseconds.
double median_milliseconds(Worker& worker, const Function& function, const Call& product, cublasMath_t mode) {
    constexpr auto warming = std::chrono::milliseconds(150);  // an idle GPU needs that long to raise its clock
    constexpr double sample_milliseconds = 0.5;               // shorter calls are timed together, several in a row
    constexpr double round_milliseconds = 200;
    constexpr int most_samples = 20;
    constexpr int most_repeats = 500;
    const Cublas& cublas = worker.cublas();
    cublas.set_math_mode(mode);
    const auto call = [&] { check(*function(cublas, product), function.function); };
    milliseconds(worker.device(), 1, call);  // lets the library choose and load the kernel
    int repeats = 1;
    double first = 0;
    for (const auto begun = std::chrono::steady_clock::now();;) {
        first = std::max(milliseconds(worker.device(), repeats, call), 1e-4);
        if (std::chrono::steady_clock::now() - begun > warming) break;
        repeats = std::clamp(static_cast<int>(sample_milliseconds / first), 1, most_repeats);
    }
    const int samples = std::clamp(static_cast<int>(round_milliseconds / (first * repeats)), 1, most_samples);
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) times.push_back(milliseconds(worker.device(), repeats, call));
    cublas.set_math_mode(CUBLAS_DEFAULT_MATH);
    std::ranges::sort(times);
    return median(times);
}

}  // namespace

/// Compares the bits and the times of calls that should be equivalent.
void measure_shapes(Worker& worker) {
    const bool all = worker.sizes.size() > 1;
    const int largest = all ? 4096 : worker.sizes.back();
    RandomMatrices matrices(worker.device(), largest);
    for (const Shapes& product : draw_shapes(largest, all ? 200 : 40))
        worker.row(title_of(product), "", [&] { Comparison(worker, matrices, product).tell(); });
}

/// Measures what TF32 mode gains in each function of real numbers.
void measure_gains(Worker& worker) {
    const int n = worker.sizes.back();
    Float32Problem product(worker.device(), n);
    Float32Problem solve(worker.device(), n, false, Use::solve);
    for (const Function& function : functions()) {
        if (function.kind != Function::by_mode || function.element != Element::real) continue;
        Problem& problem = function.shape == Shape::trsm ? solve : product;
        worker.row(std::string(function.function) + ", n = " + std::to_string(n), "", [&] {
            problem.prepare(function.shape);
            const Call operands = problem.call();
            if (!function(worker.cublas(), operands))
                return worker.found(std::string("gain_") + function.name, "absent");
            const double fp32 = median_milliseconds(worker, function, operands, CUBLAS_DEFAULT_MATH);
            const double tf32 = median_milliseconds(worker, function, operands, CUBLAS_TF32_TENSOR_OP_MATH);
            worker.found("ms_default", digits("%.3f", fp32));
            worker.found("ms_tf32", digits("%.3f", tf32));
            worker.found(std::string("gain_") + function.name, digits("%.3f", fp32 / tf32));
        });
    }
}

/// Without the shim, measures FP32 and TF32 in turns. Under the shim, measures the product as called, which the shim
/// makes TF32.
void measure_times(Worker& worker) {
    const bool is_native = worker.variant == "native";
    for (const int n : worker.sizes)
        worker.row(std::to_string(n), "", [&] {
            const RandomMatrices matrices(worker.device(), n);
            const auto measure = [&](const char* name, cublasMath_t mode) {
                worker.found(
                    std::string(name) + "_ms_" + std::to_string(n),
                    digits("%.6f", median_milliseconds(worker, function_called("sgemm"), matrices.call(), mode)));
            };
            measure(is_native ? "fp32" : "forced", CUBLAS_DEFAULT_MATH);
            if (is_native) measure("tf32", CUBLAS_TF32_TENSOR_OP_MATH);
        });
}

}  // namespace gpu
