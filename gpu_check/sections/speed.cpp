// Compares the bits and the device's time of one product by different calls.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/products/families.hpp"
#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

struct Product {
    int m, n, k;
    Operation trans_a, trans_b;
};

std::string text(const Product& p) {
    const auto letter = [](Operation operation) { return operation == CUBLAS_OP_N ? "N" : "T"; };
    return std::to_string(p.m) + ", " + std::to_string(p.n) + ", " + std::to_string(p.k) + " " + letter(p.trans_a) +
           letter(p.trans_b);
}

/// Returns products, the same in every run: squares of all sizes, then random combinations of sizes.
std::vector<Product> draw_products(int largest, int count) {
    std::vector<int> sizes{1, 5, 16, 32, 64, 100, 127, 128, 256, 384, 512, 1000, 1024, 2048, 4096};
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [&](int size) { return size > largest; }), sizes.end());
    std::vector<Product> products;
    for (const int size : sizes) products.push_back({size, size, size, CUBLAS_OP_N, CUBLAS_OP_N});
    std::mt19937 generator(1);
    const auto any_size = [&] { return sizes[generator() % sizes.size()]; };
    const auto any_operation = [&] { return generator() % 2 ? CUBLAS_OP_N : CUBLAS_OP_T; };
    while (static_cast<int>(products.size()) < count) {
        products.push_back({any_size(), any_size(), any_size(), any_operation(), any_operation()});
    }
    return products;
}

/// One way to call cuBLAS for a product.
struct Call {
    cublasMath_t mode;
    std::optional<cublasComputeType_t> type;  // nullopt: the call is cublasSgemm
    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT;
};
enum Which { sgemm, ex, ex_99, ex_pedantic, sgemm_tf32, ex_fast, which_count };
constexpr std::array<Call, which_count> calls{{
    {CUBLAS_DEFAULT_MATH, {}},
    {CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F},
    {CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP},
    {CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_PEDANTIC},
    {CUBLAS_TF32_TENSOR_OP_MATH, {}},
    {CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F_FAST_TF32},
}};

class Bench {
  public:
    Bench(Worker& worker, int largest)
        : cublas_(worker.cublas()),
          device_(worker.device()),
          a_(device_, random(largest)),
          b_(device_, random(largest)),
          c_(device_, static_cast<std::size_t>(largest) * largest * sizeof(float)) {}

    void run(const Product& p, const Call& call) const {
        const float one = 1;
        const float zero = 0;
        const int lda = p.trans_a == CUBLAS_OP_N ? p.m : p.k;
        const int ldb = p.trans_b == CUBLAS_OP_N ? p.k : p.n;
        check(call.type ? ex_(cublas_.handle, p.trans_a, p.trans_b, p.m, p.n, p.k, &one, a_.as<void>(), CUDA_R_32F,
                              lda, b_.as<void>(), CUDA_R_32F, ldb, &zero, c_.as<void>(), CUDA_R_32F, p.m, *call.type,
                              call.algorithm)
                        : sgemm_(cublas_.handle, p.trans_a, p.trans_b, p.m, p.n, p.k, &one, a_.as<float>(), lda,
                                 b_.as<float>(), ldb, &zero, c_.as<float>(), p.m),
              "the product");
    }

    std::vector<float> bits(const Product& p, const Call& call) {
        const std::size_t count = static_cast<std::size_t>(p.m) * p.n;
        c_.fill_with_nan(count * sizeof(float));
        cublas_.set_math_mode(call.mode);
        run(p, call);
        return c_.download<float>(count);
    }

    /// Returns the time of each call in the fastest of three rounds. The calls take turns.
    std::array<double, which_count> times(const Product& p) const {
        std::array<double, which_count> best;
        best.fill(1e9);
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < which_count; ++i) {
                cublas_.set_math_mode(calls[i].mode);
                best[i] = std::min(best[i], milliseconds(device_, 8, [&] { run(p, calls[i]); }));
            }
        }
        return best;
    }

  private:
    static std::vector<float> random(int largest) {
        std::vector<float> values(static_cast<std::size_t>(largest) * largest);
        std::mt19937 generator(2);
        for (float& value : values) value = static_cast<float>(generator()) / 2147483648.0F - 1;
        return values;
    }

    const Cublas& cublas_;
    const Device& device_;
    Buffer a_, b_, c_;
    decltype(cublasGemmEx)& ex_ = cublas_.library.get<decltype(cublasGemmEx)>("cublasGemmEx");
    decltype(cublasSgemm_v2)& sgemm_ = cublas_.library.get<decltype(cublasSgemm_v2)>("cublasSgemm_v2");
};

std::string ratio_text(double ratio) {
    char text[16];
    std::snprintf(text, sizeof text, "%.3f", ratio);
    return text;
}

std::vector<std::string> compare(Worker& worker, Bench& bench, const Product& product) {
    std::array<std::vector<float>, which_count> bits;
    for (int i = 0; i < which_count; ++i) bits[i] = bench.bits(product, calls[i]);
    const auto times = bench.times(product);
    // A shorter time is mostly that of launching the kernel.
    constexpr double least_milliseconds = 0.02;
    const auto same = [&](const char* name, Which left, Which right) -> std::string {
        const auto bytes = bits[left].size() * sizeof(float);
        const std::string result =
            std::memcmp(bits[left].data(), bits[right].data(), bytes) == 0 ? "same bits" : "other bits";
        worker.found(name, result);
        return result;
    };
    const auto ratio = [&](const char* name, Which of, Which over) {
        const std::string result = ratio_text(times[of] / times[over]);
        if (times[over] >= least_milliseconds) worker.found(name, result);
        return result;
    };
    return {ratio_text(times[sgemm] * 1000),
            same("bits_ex", sgemm, ex),
            ratio("time_ex", ex, sgemm),
            same("bits_99", ex, ex_99),
            ratio("time_99", ex_99, ex),
            ratio("time_pedantic", ex_pedantic, ex),
            same("bits_fast", sgemm_tf32, ex_fast),
            ratio("time_fast", ex_fast, sgemm_tf32)};
}

}  // namespace

void ask_shapes(Worker& worker) {
    const bool all = worker.sizes.size() > 1;
    const int largest = all ? 4096 : worker.sizes.back();
    Bench bench(worker, largest);
    for (const Product& product : draw_products(largest, all ? 200 : 40)) {
        worker.row({text(product)}, [&] { return compare(worker, bench, product); });
    }
}

void ask_gains(Worker& worker) {
    const int n = worker.sizes.back();
    Problem product(worker.device(), n, false);
    Problem solve(worker.device(), n, false, Use::solve);
    for (const Family& family : families()) {
        if (family.complex) continue;
        Problem& problem = family.shape == Shape::trsm ? solve : product;
        worker.row({family.function, std::to_string(n)}, [&]() -> std::vector<std::string> {
            double best[2] = {1e9, 1e9};
            problem.prepare(family.shape);
            if (!family.call(worker.cublas(), problem)) return {"absent", "-", "-"};
            for (int round = 0; round < 3; ++round) {
                for (const bool tf32 : {false, true}) {
                    worker.cublas().set_math_mode(tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
                    const auto call = [&] { family.call(worker.cublas(), problem); };
                    best[tf32] = std::min(best[tf32], milliseconds(worker.device(), 5, call));
                }
            }
            worker.cublas().set_math_mode(CUBLAS_DEFAULT_MATH);
            const std::string gain = ratio_text(best[0] / best[1]);
            worker.found(std::string("gain_") + family.name, gain);
            return {ratio_text(best[0]), ratio_text(best[1]), gain};
        });
    }
}

}  // namespace gpu
