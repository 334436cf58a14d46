// Asks cublasLt for more than one product with the algorithm of its heuristic, and tries other workspaces.
#include "gpu_check/products/lt.hpp"
#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

constexpr ComputeType compute_32f = compute_types[0], pedantic = compute_types[1], fast_tf32 = compute_types[2],
                      fast_16bf = compute_types[3];

struct NumericalFlag {
    unsigned long long flag;
    const char* name;
};
constexpr NumericalFlag numerical_flag_names[] = {
#define FLAG(name) \
    { CUBLASLT_NUMERICAL_IMPL_FLAGS_##name, #name }
    FLAG(FMA),        FLAG(HMMA),      FLAG(INPUT_16F),       FLAG(INPUT_16BF),
    FLAG(INPUT_TF32), FLAG(INPUT_32F), FLAG(ACCUMULATOR_16F), FLAG(ACCUMULATOR_32F),
#undef FLAG
};

/// Returns an algorithm's CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS in words.
std::string numerical_flags(const cublasLtMatmulAlgo_t& algorithm) {
    unsigned long long flags = 0;
    std::size_t written = 0;
    const Library library = open_cuda_library("libcublasLt");
    const auto status = library.get<decltype(cublasLtMatmulAlgoCapGetAttribute)>("cublasLtMatmulAlgoCapGetAttribute")(
        &algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags, &written);
    if (status != CUBLAS_STATUS_SUCCESS) return status_name(status);
    std::string words;
    for (const NumericalFlag& name : numerical_flag_names) {
        if ((flags & name.flag) != 0) words.append(words.empty() ? "" : " ").append(name.name);
        flags &= ~name.flag;
    }
    if (flags != 0) words.append(words.empty() ? "others: " : " others: ").append(std::to_string(flags));
    return words.empty() ? "none" : words;
}

}  // namespace

/// Measures the format that each compute type gives, by the heuristic's algorithm and by none, and what the algorithm
/// says about itself.
void measure_lt_formats(Worker& worker) {
    for (const int n : worker.sizes) {
        Float32Problem problem(worker.device(), n);
        for (const ComputeType& type : compute_types)
            worker.measure_row(
                std::string(type.name) + ", n = " + std::to_string(n), std::string("lt_") + type.row, [&] {
                    const auto answer = [&](const char* function) {
                        return multiply(worker.cublas(), problem, {function, CUBLAS_DEFAULT_MATH, type.value}).answer;
                    };
                    worker.report_finding("", answer("lt"));
                    worker.report_finding("_null", answer("lt_null"));
                    LtProduct lt(worker.device(), problem.call_arguments());
                    cublasLtMatmulDesc_t descriptor = nullptr;
                    cublasLtMatmulAlgo_t algorithm{};
                    if (lt.create_descriptor(type.value, descriptor) == CUBLAS_STATUS_SUCCESS &&
                        lt.find_algorithm(descriptor, algorithm) == CUBLAS_STATUS_SUCCESS)
                        worker.report_finding("_says", numerical_flags(algorithm));
                });
    }
}

/// Runs products by an algorithm found for one compute type, with a descriptor of another type.
void measure_lt_algorithms(Worker& worker) {
    for (const ComputeType& found_for : {compute_32f, pedantic, fast_tf32, fast_16bf})
        for (const ComputeType& used_with : {compute_32f, pedantic, fast_tf32, fast_16bf}) {
            if (found_for.value == used_with.value) continue;
            worker.measure_row(
                std::string("found for ") + found_for.name + ", used with " + used_with.name,
                std::string("lt_algorithm_") + found_for.row + "_on_" + used_with.row + "_", [&] {
                    Float32Problem problem(worker.device(), worker.sizes.back());
                    LtProduct lt(worker.device(), problem.call_arguments());
                    cublasLtMatmulDesc_t asked = nullptr, used = nullptr;
                    throw_on_error(lt.create_descriptor(found_for.value, asked), "cublasLtMatmulDescCreate");
                    throw_on_error(lt.create_descriptor(used_with.value, used), "cublasLtMatmulDescCreate");
                    cublasLtMatmulAlgo_t algorithm{};
                    const auto status = lt.find_algorithm(asked, algorithm);
                    if (status != CUBLAS_STATUS_SUCCESS)
                        return worker.report_finding("no_algorithm", status_name(status));
                    worker.report_finding("check", status_name(lt.check_algorithm(used, algorithm)));
                    problem.prepare_output(ProductKind::gemm);
                    const auto ran = lt.multiply(used, &algorithm);
                    worker.report_finding("matmul", format_or_error(ran, problem.judge_result(ProductKind::gemm)));
                });
        }
}

/// Runs products with workspaces of several sizes, by cublasLt and by cublasGemmEx.
void measure_workspace(Worker& worker) {
    const Cublas& cublas = worker.cublas();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{16} << 10, std::size_t{32} << 20})
        for (const ComputeType& type : {compute_32f, fast_tf32, fast_16bf})
            worker.measure_row(std::to_string(bytes) + " bytes, " + type.name, "", [&] {
                Float32Problem problem(worker.device(), worker.sizes.back());
                CallArguments call = problem.call_arguments();
                call.workspace = bytes;
                call.type = type.value;
                problem.prepare_output(ProductKind::gemm);
                const Status status = function_named("lt_null")(cublas, call);
                const std::string by_lt = format_or_error(status, problem.judge_result(ProductKind::gemm));
                const DeviceBuffer workspace(worker.device(), bytes + 1);
                CHECKED(cublas.library, cublasSetWorkspace_v2, cublas.handle, workspace.address(), bytes);
                const std::string by_gemm =
                    multiply(cublas, problem, {"gemm_ex", CUBLAS_DEFAULT_MATH, type.value}).answer;
                // Setting the stream makes the handle use its own workspace again.
                CHECKED(cublas.library, cublasSetStream_v2, cublas.handle, nullptr);
                const char* const kind = type.value == CUBLAS_COMPUTE_32F ? "workspace_32f" : "workspace_fast";
                for (const std::string& result : {by_lt, by_gemm})
                    worker.report_finding(kind, is_format_name(result) ? "runs" : result);
                worker.report_finding("lt", by_lt);
                worker.report_finding("gemm_ex", by_gemm);
            });
}

/// Runs products with a handle of cublasLt that was made before there was a CUDA context, and asks which compute
/// capability the handle then assumes.
void measure_capability(Worker& worker) {
    const Library library = open_cuda_library("libcublasLt");
    cublasLtHandle_t early = nullptr;
    // Some releases refuse this call before CUDA is started. The question then has no answer.
    const auto created = library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&early);
    for (const char* product : {"first", "second"})
        worker.measure_row(product, "", [&] {
            if (early == nullptr) return worker.report_finding("refused", status_name(created));
            Float32Problem problem(worker.device(), worker.sizes.front());
            LtProduct lt(worker.device(), problem.call_arguments(), early);
            cublasLtMatmulDesc_t descriptor = nullptr;
            throw_on_error(lt.create_descriptor(CUBLAS_COMPUTE_32F, descriptor), "cublasLtMatmulDescCreate");
            problem.prepare_output(ProductKind::gemm);
            const auto status = lt.multiply(descriptor, nullptr);
            worker.report_finding(product, format_or_error(status, problem.judge_result(ProductKind::gemm)));
        });
}

}  // namespace gpu
