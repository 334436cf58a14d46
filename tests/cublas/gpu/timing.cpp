// timing: how fast one cublasSgemm is, on device 0, by the device's own clock.
//
//   timing [--size N] [--math default|tf32] [--repeats N]
//
// Prints `size<TAB>math<TAB>milliseconds`, the median of the repeats. It knows nothing of the shim: run under it with
// FP32_MATMUL_PRECISION=high and --math default, it times forced TF32; alone with --math tf32, native TF32.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string_view>

#include "clock.hpp"

namespace {

using gpu::Buffer;
using gpu::Cublas;
using gpu::Device;

constexpr int warm_ups = 3;

struct Arguments {
    int size = 8192;
    bool tf32 = false;
    int repeats = 20;
};

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (argument == "--size" && !value.empty()) {
            arguments.size = std::atoi(argv[++i]);
        } else if (argument == "--repeats" && !value.empty()) {
            arguments.repeats = std::atoi(argv[++i]);
        } else if (argument == "--math" && (value == "default" || value == "tf32")) {
            arguments.tf32 = value == "tf32";
            ++i;
        } else {
            throw std::invalid_argument("usage: timing [--size N] [--math default|tf32] [--repeats N]");
        }
    }
    if (arguments.size < 1 || arguments.repeats < 1) throw std::invalid_argument("timing: numbers begin at 1");
    return arguments;
}

/// Random elements: the clock of a GPU, and so its speed, depends on how many bits change. A block of them is
/// repeated.
void fill_with_random_numbers(Buffer& matrix, std::size_t elements) {
    std::vector<float> block(std::min<std::size_t>(elements, 1 << 22));
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> distribution(-1, 1);
    for (float& element : block) element = distribution(generator);
    for (std::size_t done = 0; done < elements; done += block.size()) {
        const std::size_t count = std::min(block.size(), elements - done);
        matrix.upload(block.data(), count * sizeof(float), done * sizeof(float));
    }
}

double median_milliseconds(const Arguments& arguments) {
    const Device device;
    const Cublas cublas(device);
    const int n = arguments.size;
    const std::size_t elements = static_cast<std::size_t>(n) * n;
    Buffer a(device, elements * sizeof(float));
    Buffer b(device, elements * sizeof(float));
    const Buffer c(device, elements * sizeof(float));
    fill_with_random_numbers(a, elements);
    fill_with_random_numbers(b, elements);
    if (arguments.tf32) cublas.set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);

    const float one = 1;
    const float zero = 0;
    const auto sgemm = cublas.library.find<decltype(cublasSgemm_v2)>("cublasSgemm_v2");
    const auto multiply = [&] {
        gpu::check(sgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.as<float>(), n, b.as<float>(), n,
                         &zero, c.as<float>(), n),
                   "cublasSgemm");
    };
    for (int i = 0; i < warm_ups; ++i) multiply();
    std::vector<double> times;
    for (int i = 0; i < arguments.repeats; ++i) times.push_back(gpu::milliseconds(device, 1, multiply));
    std::sort(times.begin(), times.end());
    const std::size_t middle = times.size() / 2;
    return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Arguments arguments = parse(argc, argv);
        const double milliseconds = median_milliseconds(arguments);
        std::printf("%d\t%s\t%.6f\n", arguments.size, arguments.tf32 ? "tf32" : "default", milliseconds);
        return 0;
    } catch (const gpu::NoDevice& absent) {
        std::fprintf(stderr, "timing: no CUDA device: %s\n", absent.what());
        return gpu::exit_skipped;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
