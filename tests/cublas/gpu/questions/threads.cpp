// Two threads share one handle. Changes that the shim makes for one thread's product must not affect the other's.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

constexpr int half_products = 200;
using Halves = std::vector<std::uint16_t>;

}  // namespace

void measure_threads(Worker& worker) {
    const Cublas& cublas = worker.cublas();
    const Device& device = worker.device();
    cublas.set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
    const int n = std::min(worker.sizes.back(), 256);
    worker.measure_row(std::to_string(half_products) + " HGEMMs", "", [&] {
        const Halves numbers = random_halves(static_cast<std::size_t>(n) * n, 3);
        const DeviceBuffer a(device, numbers), c(device, numbers);
        CallArguments halves = square_call(n, a, a, c, Element::half);
        halves.trans_b = CUBLAS_OP_T;
        const auto multiply = [&] {
            throw_on_error(function_named("hgemm")(cublas, halves).value(), "cublasHgemm");
            return c.download<std::uint16_t>(static_cast<std::size_t>(n) * n);
        };
        Float32Problem problem(device, n);
        const Halves alone = multiply();
        problem.prepare_output(ProductKind::syrk);
        std::atomic<bool> stop{false};
        std::atomic<int> refused{0};
        std::thread other([&] {
            device.make_current();
            while (!stop) {
                refused += function_named("ssyrk")(cublas, problem.call_arguments()).value() != CUBLAS_STATUS_SUCCESS;
                device.synchronise();
            }
        });
        int different = 0;
        std::string error;
        try {
            for (int i = 0; i < half_products; ++i) different += multiply() != alone;
        } catch (const std::exception& thrown) {
            error = thrown.what();
        }
        stop = true;
        other.join();
        if (!error.empty()) throw std::runtime_error(error);
        worker.report_finding("different", std::to_string(different));
        worker.report_finding("ssyrk", refused != 0 ? "refused" : problem.judge_result(ProductKind::syrk).format);
    });
}

}  // namespace gpu
