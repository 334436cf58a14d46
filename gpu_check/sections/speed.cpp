// Times by the device's own clock, at FP32 and at TF32.
#include <algorithm>
#include <chrono>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

double median_milliseconds(Worker& worker, const CublasFunction& function, const CallArguments& product,
                           cublasMath_t mode) {
    constexpr auto warming = std::chrono::milliseconds(150);  // an idle GPU needs that long to raise its clock
    constexpr double sample_milliseconds = 0.5;               // shorter calls are timed together, several in a row
    constexpr double round_milliseconds = 200;
    constexpr int most_samples = 20;
    constexpr int most_repeats = 500;
    const Cublas& cublas = worker.cublas();
    cublas.set_math_mode(mode);
    const auto call = [&] { throw_on_error(*function(cublas, product), function.function); };
    measure_milliseconds(worker.device(), 1, call);  // lets the library choose and load the kernel
    int repeats = 1;
    double first = 0;
    for (const auto begun = std::chrono::steady_clock::now();;) {
        first = std::max(measure_milliseconds(worker.device(), repeats, call), 1e-4);
        if (std::chrono::steady_clock::now() - begun > warming) break;
        repeats = std::clamp(static_cast<int>(sample_milliseconds / first), 1, most_repeats);
    }
    const int samples = std::clamp(static_cast<int>(round_milliseconds / (first * repeats)), 1, most_samples);
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) times.push_back(measure_milliseconds(worker.device(), repeats, call));
    cublas.set_math_mode(CUBLAS_DEFAULT_MATH);
    std::ranges::sort(times);
    return median(times);
}

/// Without the shim, measures FP32 and TF32 in turns. Under the shim, measures the product as called, which the shim
/// makes TF32.
void measure_product_times(Worker& worker) {
    const bool is_native = worker.variant == "native";
    for (const int n : worker.sizes)
        worker.measure_row(std::to_string(n), "", [&] {
            const RandomMatrices matrices(worker.device(), n);
            const auto measure = [&](const char* name, cublasMath_t mode) {
                worker.report_finding(std::string(name) + "_ms_" + std::to_string(n),
                                      format_number("%.6f", median_milliseconds(worker, function_named("sgemm"),
                                                                                matrices.call_arguments(), mode)));
            };
            measure(is_native ? "fp32" : "forced", CUBLAS_DEFAULT_MATH);
            if (is_native) measure("tf32", CUBLAS_TF32_TENSOR_OP_MATH);
        });
}

}  // namespace gpu
