// What cublasLt does beyond one product with the algorithm of its heuristic, and what workspaces change.
#include "gpu_check/products/lt.hpp"
#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr ComputeType of_32f = compute_types[0], pedantic = compute_types[1], fast_tf32 = compute_types[2],
                      fast_16bf = compute_types[3];

/// A product, and the descriptors of cublasLt for it.
struct LtProduct {
    LtProduct(Worker& worker, int n, std::size_t offset = 0)
        : problem(worker.device(), n, false, Use::product, offset), lt(worker.device(), problem.call()) {}

    cublasLtMatmulDesc_t describe(const ComputeType& type) {
        cublasLtMatmulDesc_t descriptor = nullptr;
        check(lt.describe(type.value, descriptor), "cublasLtMatmulDescCreate");
        return descriptor;
    }
    std::string multiply(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) {
        problem.prepare(Shape::gemm);
        const auto status = lt.multiply(descriptor, algorithm);
        return answer_of(status, problem.judge(Shape::gemm));
    }

    Float32Problem problem;
    Lt lt;
};

}  // namespace

/// Measures the format that each compute type gives, by the heuristic's algorithm and by none, and what the algorithm
/// says about itself.
void measure_lt_formats(Worker& worker) {
    for (const int n : worker.sizes)
        for (const ComputeType& type : compute_types)
            worker.row(std::string(type.name) + ", n = " + std::to_string(n), std::string("lt_") + type.row, [&] {
                LtProduct product(worker, n);
                cublasLtMatmulDesc_t descriptor = nullptr;
                cublasLtMatmulAlgo_t algorithm{};
                const auto described = product.lt.describe(type.value, descriptor);
                if (described != CUBLAS_STATUS_SUCCESS) return worker.found("_described", text(described));
                const auto status = product.lt.ask_heuristic(descriptor, algorithm);
                const bool found = status == CUBLAS_STATUS_SUCCESS;
                worker.found("", found ? product.multiply(descriptor, &algorithm) : text(status));
                worker.found("_says", found ? product.lt.numerical_flags(algorithm) : "-");
                worker.found("_null", product.multiply(descriptor, nullptr));
            });
}

/// Runs products by an algorithm found for one compute type, with a descriptor of another type.
void measure_lt_algorithms(Worker& worker) {
    for (const ComputeType& found_for : {of_32f, pedantic, fast_tf32, fast_16bf})
        for (const ComputeType& used_with : {of_32f, pedantic, fast_tf32, fast_16bf}) {
            if (found_for.value == used_with.value) continue;
            worker.row(std::string("found for ") + found_for.name + ", used with " + used_with.name,
                       std::string("lt_algorithm_") + found_for.row + "_on_" + used_with.row + "_", [&] {
                           LtProduct product(worker, worker.sizes.back());
                           cublasLtMatmulAlgo_t algorithm{};
                           const auto used = product.describe(used_with);
                           const auto status = product.lt.ask_heuristic(product.describe(found_for), algorithm);
                           if (status != CUBLAS_STATUS_SUCCESS) return worker.found("no_algorithm", text(status));
                           worker.found("check", text(product.lt.check_algorithm(used, algorithm)));
                           worker.found("matmul", product.multiply(used, &algorithm));
                       });
        }
}

/// Runs products whose operands are aligned to 4 bytes only, with an algorithm for well aligned operands or without
/// one.
void measure_lt_alignment(Worker& worker) {
    for (const ComputeType& type : {of_32f, fast_tf32})
        for (const bool with_algorithm : {true, false})
            worker.row(std::string(type.name) + (with_algorithm ? ", the heuristic's algorithm" : ", algorithm NULL"),
                       std::string("lt_misaligned_") + type.row + (with_algorithm ? "" : "_null"), [&] {
                           LtProduct product(worker, worker.sizes.back(), sizeof(float));
                           const auto descriptor = product.describe(type);
                           if (!with_algorithm) return worker.found("", product.multiply(descriptor, nullptr));
                           cublasLtMatmulAlgo_t algorithm{};
                           const auto status = product.lt.ask_heuristic(descriptor, algorithm);
                           worker.found("", status == CUBLAS_STATUS_SUCCESS
                                                ? product.multiply(descriptor, &algorithm)
                                                : std::string("no algorithm: ") + text(status));
                       });
}

/// Runs products with workspaces of several sizes, by cublasLt and by cublasGemmEx.
void measure_workspace(Worker& worker) {
    const Cublas& cublas = worker.cublas();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{16} << 10, std::size_t{32} << 20})
        for (const ComputeType& type : {of_32f, fast_tf32, fast_16bf})
            worker.row(std::to_string(bytes) + " bytes, " + type.name, "", [&] {
                Float32Problem problem(worker.device(), worker.sizes.back());
                Call call = problem.call();
                call.workspace = bytes;
                call.type = type.value;
                problem.prepare(Shape::gemm);
                const Status status = function_called("lt_null")(cublas, call);
                const std::string by_lt = answer_of(status, problem.judge(Shape::gemm));
                const Buffer workspace(worker.device(), bytes + 1);
                CHECKED(cublas.library, cublasSetWorkspace_v2, cublas.handle, workspace.address(), bytes);
                const std::string by_gemm =
                    multiply(cublas, problem, {"gemm_ex", CUBLAS_DEFAULT_MATH, type.value}).answer;
                // Setting the stream makes the handle use its own workspace again.
                CHECKED(cublas.library, cublasSetStream_v2, cublas.handle, nullptr);
                const char* const kind = type.value == CUBLAS_COMPUTE_32F ? "workspace_32f" : "workspace_fast";
                for (const std::string& result : {by_lt, by_gemm})
                    worker.found(kind, is_format(result) ? "runs" : result);
                worker.found("lt", by_lt);
                worker.found("gemm_ex", by_gemm);
            });
}

/// Runs products with a handle of cublasLt from before any context.
void measure_capability(Worker& worker) {
    const Library library = open_cuda_library("libcublasLt");
    cublasLtHandle_t early = nullptr;
    // Some releases refuse this call before CUDA is started. The question then has no answer.
    const auto created = library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&early);
    for (const char* product : {"first", "second"})
        worker.row(product, "", [&] {
            if (early == nullptr) return worker.found("refused", text(created));
            Float32Problem problem(worker.device(), worker.sizes.front());
            Lt lt(worker.device(), problem.call(), early);
            cublasLtMatmulDesc_t descriptor = nullptr;
            check(lt.describe(CUBLAS_COMPUTE_32F, descriptor), "cublasLtMatmulDescCreate");
            problem.prepare(Shape::gemm);
            const auto status = lt.multiply(descriptor, nullptr);
            worker.found(product, answer_of(status, problem.judge(Shape::gemm)));
        });
}

}  // namespace gpu
