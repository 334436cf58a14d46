#include <chrono>
#include <cstdio>

#include "gpu_check/cuda/build_id.hpp"
#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

/// Returns the milliseconds of the second FP32 product of order n. The first product loads the kernel.
double milliseconds_of_product(Worker& worker, int n) {
    const std::size_t bytes = static_cast<std::size_t>(n) * n * sizeof(float);
    Buffer a(worker.device(), bytes);
    a.fill_with_nan(bytes);
    const Buffer c(worker.device(), bytes);
    const Cublas& cublas = worker.cublas();
    const float one = 1;
    const float zero = 0;
    const auto multiply = [&] {
        check(cublas.library.get<decltype(cublasSgemm_v2)>("cublasSgemm_v2")(
                  cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.as<float>(), n, a.as<float>(), n, &zero,
                  c.as<float>(), n),
              "cublasSgemm");
    };
    milliseconds(worker.device(), 1, multiply);
    return milliseconds(worker.device(), 1, multiply);
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void ask_machine(Worker& worker) {
    constexpr double quick = 2;  // milliseconds; if a product takes less, a larger one is timed too
    const auto begun = std::chrono::steady_clock::now();
    const Cublas& cublas = worker.cublas();
    const Device& device = worker.device();
    const std::chrono::duration<double> start = std::chrono::steady_clock::now() - begun;
    worker.row({device.name}, [&]() -> std::vector<std::string> {
        const int capability = device.compute_capability;
        worker.found("device", device.name);
        worker.found("seconds_to_start", std::to_string(start.count()));
        worker.found("devices", std::to_string(device.devices));
        worker.found("compute_capability", std::to_string(capability));
        worker.found("cuda_of_driver", version_text(device.driver_version));
        worker.found("cublas", cublas.version);
        worker.found("build_id_of_cublas", build_id_of("libcublas.so"));
        worker.found("build_id_of_cublaslt", build_id_of("libcublasLt.so"));
        worker.found("build_id_of_driver", build_id_of("libcuda.so"));
        std::string text;
        for (const int n : {256, 1024, 4096}) {
            const double time = milliseconds_of_product(worker, n);
            text = std::to_string(time);
            worker.found("ms_of_" + std::to_string(n), text);
            if (time > quick) break;
        }
        return {std::to_string(capability / 10) + "." + std::to_string(capability % 10),
                version_text(device.driver_version), cublas.version, cublas.library.file(), text};
    });
}

}  // namespace gpu
