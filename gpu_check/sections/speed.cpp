// Measures the properties of the machine, and times of products by the device's own clock.
#include <algorithm>
#include <chrono>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

/// Sends the device's properties, the versions of libraries, and the time of one product in each of up to three
/// sizes.
void measure_machine(Worker& worker) {
    constexpr double quick = 2;  // in milliseconds; if a product takes longer than this, no larger one is timed
    const auto begun = std::chrono::steady_clock::now();
    const Cublas& cublas = worker.cublas();
    const Device& device = worker.device();
    const std::chrono::duration<double> start = std::chrono::steady_clock::now() - begun;
    worker.measure_row(device.name, "", [&] {
        const int version = device.driver_version;
        worker.report_finding("device", device.name);
        worker.report_finding("seconds_to_start", std::to_string(start.count()));
        worker.report_finding("devices", std::to_string(device.devices));
        worker.report_finding("compute_capability", std::to_string(device.compute_capability));
        worker.report_finding("cuda_of_driver",
                              std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
        worker.report_finding("cublas", cublas.version);
        worker.report_finding("build_id_of_cublas", build_id_of("libcublas.so"));
        worker.report_finding("build_id_of_cublaslt", build_id_of("libcublasLt.so"));
        worker.report_finding("build_id_of_driver", build_id_of("libcuda.so"));
        for (const int n : {256, 1024, 4096}) {
            const RandomMatrices matrices(device, n);
            const auto multiply = [&] {
                throw_on_error(*function_named("sgemm")(cublas, matrices.call_arguments()), "cublasSgemm");
            };
            measure_milliseconds(device, 1, multiply);  // loads the kernel
            const double time = measure_milliseconds(device, 1, multiply);
            worker.report_finding("ms_of_" + std::to_string(n), std::to_string(time));
            if (time > quick) break;
        }
    });
}

double median_milliseconds(Worker& worker, const CublasFunction& function, const CallArguments& product,
                           cublasMath_t mode) {
    constexpr auto warming = std::chrono::milliseconds(150);  // an idle GPU needs this long to raise its clock
    constexpr double sample_milliseconds = 0.5;               // shorter calls are repeated and timed together
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

/// Without the shim, measures FP32 and TF32, which the program requests by the math mode. Under the shim, measures
/// the product as called, which the shim makes TF32.
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
