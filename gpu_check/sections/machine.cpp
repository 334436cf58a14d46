#include <chrono>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

/// Finds out the device, the versions, and the time of one product in each of a few sizes.
void measure_machine(Worker& worker) {
    constexpr double quick = 2;  // milliseconds; if a product takes less, a larger one is timed too
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

}  // namespace gpu
