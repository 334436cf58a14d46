#include "gpu_check/sections/lt.hpp"
#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/findings.hpp"

namespace gpu {

namespace {

const ComputeType& type_of(cublasComputeType_t value) {
    for (const ComputeType& type : compute_types) {
        if (type.value == value) return type;
    }
    return compute_types[0];
}

std::vector<std::string> ask_format(Worker& worker, const ComputeType& type, int n) {
    Lt lt(worker, n);
    cublasLtMatmulDesc_t descriptor = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    const auto described = lt.describe(type.value, descriptor);
    if (described != CUBLAS_STATUS_SUCCESS) return {text(described), "-", "-", "-"};
    const auto status = lt.ask_heuristic(descriptor, algorithm);
    const bool found = status == CUBLAS_STATUS_SUCCESS;
    const std::string says = found ? lt.numerical_flags(algorithm) : "-";
    const std::string result = found ? lt.multiply(descriptor, &algorithm) : text(status);
    worker.found(std::string("lt_") + type.row, result);
    return {text(status), says, result, lt.multiply(descriptor, nullptr)};
}

/// Runs a product by an algorithm found for one compute type, with a descriptor of another type.
std::vector<std::string> ask_foreign(Worker& worker, const ComputeType& found_for, const ComputeType& used_with) {
    Lt lt(worker, worker.sizes.back());
    cublasLtMatmulDesc_t asked = nullptr;
    cublasLtMatmulDesc_t used = nullptr;
    check(lt.describe(found_for.value, asked), "cublasLtMatmulDescCreate");
    check(lt.describe(used_with.value, used), "cublasLtMatmulDescCreate");
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(asked, algorithm);
    if (status != CUBLAS_STATUS_SUCCESS) return {std::string("no algorithm: ") + text(status), "-"};
    const std::string row = std::string("lt_algorithm_") + found_for.row + "_on_" + used_with.row;
    const std::string checked = text(lt.check_algorithm(used, algorithm));
    worker.found(row + "_check", checked);
    const std::string result = lt.multiply(used, &algorithm);
    worker.found(row + "_matmul", result);
    return {checked, result};
}

/// Runs a product whose operands are aligned to 4 bytes only, with an algorithm for well aligned operands or without
/// one.
std::string ask_misaligned(Worker& worker, cublasComputeType_t compute_type, bool with_algorithm) {
    Lt lt(worker, worker.sizes.back(), sizeof(float));
    cublasLtMatmulDesc_t descriptor = nullptr;
    check(lt.describe(compute_type, descriptor), "cublasLtMatmulDescCreate");
    if (!with_algorithm) return lt.multiply(descriptor, nullptr);
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(descriptor, algorithm);
    return status == CUBLAS_STATUS_SUCCESS ? lt.multiply(descriptor, &algorithm)
                                           : std::string("no algorithm: ") + text(status);
}

/// Calls cublasGemmEx on a handle with a workspace of `bytes` bytes.
std::string gemm_with_workspace(Worker& worker, Problem& problem, std::size_t bytes, cublasComputeType_t type) {
    const Cublas& cublas = worker.cublas();
    const Buffer workspace(worker.device(), bytes + 1);
    check(cublas.library.get<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2")(cublas.handle,
                                                                                       workspace.as<void>(), bytes),
          "cublasSetWorkspace");
    problem.prepare(Shape::gemm);
    const auto status = gemm_ex(cublas, problem, ExFunction::single, type);
    const std::string result = answer_of(status, problem.judge(Shape::gemm));
    // Setting the stream makes the handle use its own workspace again.
    check(cublas.library.get<decltype(cublasSetStream_v2)>("cublasSetStream_v2")(cublas.handle, nullptr),
          "cublasSetStream");
    return result;
}

}  // namespace

std::string lt_format(Worker& worker, cublasComputeType_t compute_type) {
    Lt lt(worker, worker.sizes.back());
    cublasLtMatmulDesc_t descriptor = nullptr;
    const auto described = lt.describe(compute_type, descriptor);
    if (described != CUBLAS_STATUS_SUCCESS) return text(described);
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(descriptor, algorithm);
    return status == CUBLAS_STATUS_SUCCESS ? lt.multiply(descriptor, &algorithm) : text(status);
}

void ask_lt_formats(Worker& worker) {
    for (const int n : worker.sizes) {
        for (const ComputeType& type : compute_types) {
            worker.row({type.name, std::to_string(n)}, [&] { return ask_format(worker, type, n); });
        }
    }
}

void ask_lt_algorithms(Worker& worker) {
    constexpr cublasComputeType_t types[] = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC,
                                             CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16BF};
    for (const auto found_for : types) {
        for (const auto used_with : types) {
            if (found_for == used_with) continue;
            worker.row({type_of(found_for).name, type_of(used_with).name},
                       [&] { return ask_foreign(worker, type_of(found_for), type_of(used_with)); });
        }
    }
}

void ask_lt_alignment(Worker& worker) {
    for (const auto type : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32}) {
        for (const bool with_algorithm : {true, false}) {
            worker.row(
                {type_of(type).name, with_algorithm ? "the heuristic's" : "NULL"}, [&]() -> std::vector<std::string> {
                    const std::string result = ask_misaligned(worker, type, with_algorithm);
                    worker.found(std::string("lt_misaligned_") + type_of(type).row + (with_algorithm ? "" : "_null"),
                                 result);
                    return {result};
                });
        }
    }
}

void ask_workspace(Worker& worker) {
    const int n = worker.sizes.back();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{16} << 10, std::size_t{32} << 20}) {
        for (const auto type : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16BF}) {
            worker.row({std::to_string(bytes), type_of(type).name}, [&]() -> std::vector<std::string> {
                Lt lt(worker, n, 0, bytes);
                cublasLtMatmulDesc_t descriptor = nullptr;
                check(lt.describe(type, descriptor), "cublasLtMatmulDescCreate");
                const std::string by_lt = lt.multiply(descriptor, nullptr);
                const std::string by_gemm = gemm_with_workspace(worker, lt.problem, bytes, type);
                const char* const kind = type == CUBLAS_COMPUTE_32F ? "workspace_32f" : "workspace_fast";
                for (const std::string& result : {by_lt, by_gemm}) {
                    worker.found(kind, is_format(result) ? "runs" : result);
                }
                return {by_lt, by_gemm};
            });
        }
    }
}

void ask_capability(Worker& worker) {
    const Library library = open_cuda_library("libcublasLt");
    cublasLtHandle_t early = nullptr;
    // Some releases refuse this call before CUDA is started. The question then has no answer.
    const auto created = library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&early);
    if (created != CUBLAS_STATUS_SUCCESS) worker.found("refused", text(created));
    for (const char* product : {"first", "second"}) {
        worker.row({product}, [&]() -> std::vector<std::string> {
            if (!early) return {std::string("cublasLtCreate: ") + text(created)};
            Lt lt(worker, worker.sizes.front(), 0, 32 << 20, early);
            cublasLtMatmulDesc_t descriptor = nullptr;
            check(lt.describe(CUBLAS_COMPUTE_32F, descriptor), "cublasLtMatmulDescCreate");
            const std::string result = lt.multiply(descriptor, nullptr);
            worker.found(product, result);
            return {result};
        });
    }
}

}  // namespace gpu
