// Times of one cublasSgemm by the device's own clock, at FP32 and at TF32. Either the program asks for TF32, or the
// shim forces it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr auto warming = std::chrono::milliseconds(150);  // an idle GPU needs that long to raise its clock
constexpr double sample_milliseconds = 0.5;               // shorter calls are timed together, several in a row
constexpr double round_milliseconds = 200;
constexpr int most_samples = 20;
constexpr int most_repeats = 500;

/// Fills a matrix with random elements, repeating one block. A GPU's clock, and so its speed, depends on the number
/// of bits that change.
void fill_with_random_numbers(Buffer& matrix, std::size_t elements) {
    std::vector<float> block(std::min<std::size_t>(elements, 1 << 22));
    std::mt19937 generator(1);
    for (float& element : block) element = static_cast<float>(generator()) / 2147483648.0F - 1;
    for (std::size_t done = 0; done < elements; done += block.size()) {
        const std::size_t count = std::min(block.size(), elements - done);
        matrix.upload(block.data(), count * sizeof(float), done * sizeof(float));
    }
}

/// Operands for one product, and functions that run and time the product.
class TimedProduct {
  public:
    TimedProduct(Worker& worker, int n)
        : n_(n),
          cublas_(worker.cublas()),
          device_(worker.device()),
          a_(device_, bytes()),
          b_(device_, bytes()),
          c_(device_, bytes()) {
        fill_with_random_numbers(a_, bytes() / sizeof(float));
        fill_with_random_numbers(b_, bytes() / sizeof(float));
    }

    /// Returns the median time of one call, in milliseconds.
    double milliseconds(cublasMath_t mode) const {
        cublas_.set_math_mode(mode);
        const auto call = [this] { multiply(); };
        gpu::milliseconds(device_, 1, call);  // lets the library choose and load the kernel
        int repeats = 1;
        double first = 0;
        for (const auto begun = std::chrono::steady_clock::now();;) {
            first = std::max(gpu::milliseconds(device_, repeats, call), 1e-4);
            if (std::chrono::steady_clock::now() - begun > warming) break;
            repeats = std::clamp(static_cast<int>(sample_milliseconds / first), 1, most_repeats);
        }
        const int samples = std::clamp(static_cast<int>(round_milliseconds / (first * repeats)), 1, most_samples);
        std::vector<double> times;
        for (int i = 0; i < samples; ++i) times.push_back(gpu::milliseconds(device_, repeats, call));
        cublas_.set_math_mode(CUBLAS_DEFAULT_MATH);
        std::sort(times.begin(), times.end());
        return median(times);
    }

  private:
    std::size_t bytes() const { return static_cast<std::size_t>(n_) * n_ * sizeof(float); }

    void multiply() const {
        const float one = 1;
        const float zero = 0;
        check(cublas_.library.get<decltype(cublasSgemm_v2)>("cublasSgemm_v2")(
                  cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, a_.as<float>(), n_, b_.as<float>(), n_,
                  &zero, c_.as<float>(), n_),
              "cublasSgemm");
    }

    int n_;
    const Cublas& cublas_;
    const Device& device_;
    Buffer a_, b_;
    const Buffer c_;
};

std::string text(const char* format, double number) {
    char text[32];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

}  // namespace

/// Without the shim, measures FP32 and TF32 in turns. Under the shim, measures the product as called, which the shim
/// makes TF32.
void ask_times(Worker& worker) {
    const bool is_native = worker.variant == "native";
    for (const int n : worker.sizes) {
        worker.row({std::to_string(n)}, [&]() -> std::vector<std::string> {
            const TimedProduct product(worker, n);
            const double as_called = product.milliseconds(CUBLAS_DEFAULT_MATH);
            const std::string end = "_ms_" + std::to_string(n);
            worker.found((is_native ? "fp32" : "forced") + end, text("%.6f", as_called));
            if (!is_native) return {text("%.6f", as_called), "-", "-"};
            const double tf32 = product.milliseconds(CUBLAS_TF32_TENSOR_OP_MATH);
            worker.found("tf32" + end, text("%.6f", tf32));
            return {text("%.6f", as_called), text("%.6f", tf32), text("%.2f", as_called / tf32)};
        });
    }
}

}  // namespace gpu
