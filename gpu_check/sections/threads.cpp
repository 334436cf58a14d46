// Two threads share one handle. Changes that the shim makes for one thread's product must not affect the other's.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>

#include "gpu_check/products/families.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr int products = 200;
using Halves = std::vector<std::uint16_t>;

/// Returns random half-precision numbers between 0.5 and 1.
Halves random_halves(int size) {
    std::mt19937 generator(3);
    Halves halves(static_cast<std::size_t>(size) * size);
    for (auto& half : halves) half = static_cast<std::uint16_t>(0x3800 | (generator() & 0x3ff));
    return halves;
}

class HalfProduct {
  public:
    HalfProduct(Worker& worker, int size)
        : size_(size),
          cublas_(worker.cublas()),
          a_(worker.device(), random_halves(size)),
          c_(worker.device(), random_halves(size)) {}

    Halves run() const {
        const std::uint16_t one = 0x3c00;
        const std::uint16_t zero = 0;
        check(cublas_.library.get<decltype(cublasHgemm)>("cublasHgemm")(
                  cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_T, size_, size_, size_, &one, a_.as<void>(), size_,
                  a_.as<void>(), size_, &zero, c_.as<void>(), size_),
              "cublasHgemm");
        return c_.download<std::uint16_t>(static_cast<std::size_t>(size_) * size_);
    }

  private:
    int size_;
    const Cublas& cublas_;
    Buffer a_, c_;
};

const Family& ssyrk() {
    for (const Family& family : families()) {
        if (family.name == std::string("ssyrk")) return family;
    }
    return families().front();
}

}  // namespace

void ask_threads(Worker& worker) {
    const Cublas& cublas = worker.cublas();
    cublas.set_math_mode(CUBLAS_TF32_TENSOR_OP_MATH);
    const int size = std::min(worker.sizes.back(), 256);
    worker.row({std::to_string(products)}, [&]() -> std::vector<std::string> {
        const HalfProduct halves(worker, size);
        Problem problem(worker.device(), size, false);
        const Halves alone = halves.run();
        problem.prepare(Shape::syrk);
        std::atomic<bool> stop{false};
        std::atomic<int> refused{0};
        std::thread other([&] {
            worker.device().make_current();
            while (!stop) {
                refused += ssyrk().call(cublas, problem).value() != CUBLAS_STATUS_SUCCESS;
                worker.device().synchronise();
            }
        });
        int different = 0;
        std::string error;
        try {
            for (int i = 0; i < products; ++i) different += halves.run() != alone;
        } catch (const std::exception& thrown) {
            error = thrown.what();
        }
        stop = true;
        other.join();
        if (!error.empty()) throw std::runtime_error(error);
        const std::string format = refused ? "refused" : problem.judge(Shape::syrk).format;
        worker.found("different", std::to_string(different));
        worker.found("ssyrk", format);
        return {std::to_string(different), format};
    });
}

}  // namespace gpu
