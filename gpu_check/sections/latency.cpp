// Costs of a call on the host, with and without the shim, for products so small that their own time hardly counts.
#include <algorithm>
#include <functional>

#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/products/families.hpp"
#include "gpu_check/sections/lt.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr int size = 32;
constexpr int calls_a_round = 200;
constexpr int rounds = 10;
constexpr int many_shapes = 300;

/// Returns the nanoseconds of one call in the fastest of several rounds. The device catches up between rounds.
double nanoseconds(const Device& device, const std::function<void()>& call) {
    for (int i = 0; i < calls_a_round; ++i) call();
    double best = 1e18;
    for (int round = 0; round < rounds; ++round) {
        device.synchronise();
        const double start = nanoseconds_of_this_thread();
        for (int i = 0; i < calls_a_round; ++i) call();
        best = std::min(best, (nanoseconds_of_this_thread() - start) / calls_a_round);
    }
    return best;
}

void row(Worker& worker, const char* what, const char* name, const std::function<std::function<void()>()>& prepare) {
    worker.row({what}, [&]() -> std::vector<std::string> {
        const auto call = prepare();
        const std::string result = std::to_string(static_cast<long>(nanoseconds(worker.device(), call)));
        worker.found(name, result);
        return {result};
    });
}

std::function<void()> family_call(Worker& worker, Problem& problem, const char* name, cublasMath_t mode) {
    const auto all = families();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Family& family) { return family.name == std::string(name); });
    worker.cublas().set_math_mode(mode);
    return [&worker, &problem, found] { check(found->call(worker.cublas(), problem).value(), found->function); };
}

}  // namespace

void ask_latency(Worker& worker) {
    Problem problem(worker.device(), size, false);
    row(worker, "cublasSgemm", "sgemm", [&] { return family_call(worker, problem, "sgemm", CUBLAS_DEFAULT_MATH); });
    // At `highest` the shim sets the math mode, makes the call, and sets the mode back.
    row(worker, "cublasSsyrk on a handle in TF32 mode", "ssyrk",
        [&] { return family_call(worker, problem, "ssyrk", CUBLAS_TF32_TENSOR_OP_MATH); });
    worker.cublas().set_math_mode(CUBLAS_DEFAULT_MATH);

    Lt lt(worker, size);
    cublasLtMatmulDesc_t descriptor = nullptr;
    check(lt.describe(CUBLAS_COMPUTE_32F, descriptor), "cublasLtMatmulDescCreate");
    cublasLtMatmulAlgo_t algorithm{};
    row(worker, "cublasLtMatmul, one algorithm", "lt", [&]() -> std::function<void()> {
        check(lt.ask_heuristic(descriptor, algorithm), "cublasLtMatmulAlgoGetHeuristic");
        return [&] { check(lt.launch(descriptor, &algorithm), "cublasLtMatmul"); };
    });
    row(worker, "cublasLtMatmulAlgoGetHeuristic and cublasLtMatmul", "lt_heuristic", [&]() -> std::function<void()> {
        return [&] {
            check(lt.ask_heuristic(descriptor, algorithm), "cublasLtMatmulAlgoGetHeuristic");
            check(lt.launch(descriptor, &algorithm), "cublasLtMatmul");
        };
    });
    // These are more descriptors than the shim remembers in one place.
    std::vector<cublasLtMatmulDesc_t> descriptors(many_shapes);
    std::vector<cublasLtMatmulAlgo_t> algorithms(many_shapes);
    int next = 0;
    row(worker, "cublasLtMatmul, 300 descriptors in turn", "lt_many", [&]() -> std::function<void()> {
        for (int i = 0; i < many_shapes; ++i) {
            check(lt.describe(CUBLAS_COMPUTE_32F, descriptors[i]), "cublasLtMatmulDescCreate");
            check(lt.ask_heuristic(descriptors[i], algorithms[i]), "cublasLtMatmulAlgoGetHeuristic");
        }
        return [&] {
            next = (next + 1) % many_shapes;
            check(lt.launch(descriptors[next], &algorithms[next]), "cublasLtMatmul");
        };
    });
}

}  // namespace gpu
