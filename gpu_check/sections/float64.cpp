// Products of float64 in every way that may let cuBLAS emulate them by fixed-point numbers.
//
// The variants of the section ask for 31 bits, so a result tells which way it was computed: terms of a sum are of one
// size, but their factors in A are up to 2^20 smaller than the largest of their row. So an emulated product has
// errors of some 1e-4, and another one of some 1e-15. Where cuBLAS ignores those settings, and keeps the 55 bits of
// its default for fixed numbers of bits, errors are some 1e-11. The handle's own count of bits is asked, too.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr double fp64_error = 1e-13;  // larger: emulated
constexpr double wrong_error = 1e-2;  // larger: not this product at all
constexpr int spread = 20;            // the largest shift of a factor, in bits
constexpr int not_written = -2;       // cuBLAS writes -1 for a product that it does not emulate
constexpr double one = 1;
constexpr double zero = 0;

/// Returns the shift of column k of A, in bits; row k of B is shifted the other way.
int shift_of(int k) { return k * 7 % (spread + 1); }

class Float64Problem {
  public:
    Float64Problem(const Device& device, int order)
        : n(order),
          host_a(random_matrix(1)),
          host_b(random_matrix(2)),
          a(device, shifted(host_a, false)),
          b(device, shifted(host_b, true)),
          c(device, host_a.size() * sizeof(double)),
          kept(device, sizeof(int)) {}

    void prepare() {
        c.fill_with_nan(host_a.size() * sizeof(double));
        kept.upload(&not_written, sizeof not_written);
    }

    /// Returns the distance of some columns of the result from the exact ones: rms of the difference over rms of the
    /// product. `is_syrk`: A times its own transpose, lower triangle.
    double error(bool is_syrk) const {
        const auto result = c.download<double>(host_a.size());
        const auto at = [this](int i, int j) { return static_cast<std::size_t>(j) * n + i; };
        long double distance = 0, size = 0;
        for (const int j : {0, n / 3, n - 1})
            for (int i = is_syrk ? j : 0; i < n; ++i) {
                long double exact = 0;
                for (int k = 0; k < n; ++k) {
                    const long double term =
                        is_syrk ? std::ldexp(static_cast<long double>(host_a[at(i, k)]) * host_a[at(j, k)],
                                             -2 * shift_of(k))
                                : static_cast<long double>(host_a[at(i, k)]) * host_b[at(k, j)];
                    exact += term;
                }
                distance += (result[at(i, j)] - exact) * (result[at(i, j)] - exact);
                size += exact * exact;
            }
        return static_cast<double>(std::sqrt(distance / size));
    }

    std::string bits() const {
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const std::uint64_t word : c.download<std::uint64_t>(host_a.size()))
            hash = (hash ^ word) * 0x100000001b3;
        char text[24];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
        return text;
    }

    const int n;
    const std::vector<double> host_a, host_b;
    Buffer a, b, c;
    Buffer kept;  // the number of bits that cuBLAS kept, where it tells

  private:
    std::vector<double> random_matrix(unsigned seed) const {
        std::mt19937 generator(seed);
        std::uniform_real_distribution<double> uniform(-1, 1);
        std::vector<double> matrix(static_cast<std::size_t>(n) * n);
        for (double& element : matrix) element = uniform(generator);
        return matrix;
    }
    std::vector<double> shifted(std::vector<double> matrix, bool is_b) const {
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < n; ++i) {
                double& element = matrix[static_cast<std::size_t>(j) * n + i];
                element = std::ldexp(element, is_b ? shift_of(i) : -shift_of(j));
            }
        return matrix;
    }
};

using Status = std::optional<cublasStatus_t>;

Status dgemm(const Cublas& cublas, const Float64Problem& problem, cublasComputeType_t) {
    const int n = problem.n;
    const auto call = cublas.library.find<decltype(cublasDgemm_v2)>("cublasDgemm_v2");
    if (call == nullptr) return std::nullopt;
    return call(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, problem.a.as<double>(), n,
                problem.b.as<double>(), n, &zero, problem.c.as<double>(), n);
}

Status dsyrk(const Cublas& cublas, const Float64Problem& problem, cublasComputeType_t) {
    const int n = problem.n;
    const auto call = cublas.library.find<decltype(cublasDsyrk_v2)>("cublasDsyrk_v2");
    if (call == nullptr) return std::nullopt;
    return call(cublas.handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, &one, problem.a.as<double>(), n, &zero,
                problem.c.as<double>(), n);
}

Status gemm_ex(const Cublas& cublas, const Float64Problem& problem, cublasComputeType_t type) {
    const int n = problem.n;
    const auto call = cublas.library.find<decltype(cublasGemmEx)>("cublasGemmEx");
    if (call == nullptr) return std::nullopt;
    return call(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, problem.a.as<void>(), CUDA_R_64F, n,
                problem.b.as<void>(), CUDA_R_64F, n, &zero, problem.c.as<void>(), CUDA_R_64F, n, type,
                CUBLAS_GEMM_DEFAULT);
}

struct Way {
    const char* name;  // name of the finding
    const char* what;
    Status (*multiply)(const Cublas& cublas, const Float64Problem& problem, cublasComputeType_t type);  // nullptr: Lt
    cublasComputeType_t type = CUBLAS_COMPUTE_64F;
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
};
constexpr Way ways[] = {
    {"dgemm", "cublasDgemm", dgemm},
    {"dgemm_pedantic", "cublasDgemm, PEDANTIC mode", dgemm, {}, CUBLAS_PEDANTIC_MATH},
    {"dgemm_mode", "cublasDgemm, mode FP64_EMULATED", dgemm, {}, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH},
    {"dsyrk_mode", "cublasDsyrk, mode FP64_EMULATED", dsyrk, {}, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH},
    {"ex_64f", "cublasGemmEx, 64F", gemm_ex},
    {"ex_pedantic", "cublasGemmEx, 64F_PEDANTIC", gemm_ex, CUBLAS_COMPUTE_64F_PEDANTIC},
    {"ex_emulated", "cublasGemmEx, 64F_EMULATED", gemm_ex, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT},
    {"ex_mode", "cublasGemmEx, 64F, mode FP64_EMULATED", gemm_ex, CUBLAS_COMPUTE_64F,
     CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH},
    {"ex_pedantic_mode", "cublasGemmEx, 64F_PEDANTIC, mode FP64_EMULATED", gemm_ex, CUBLAS_COMPUTE_64F_PEDANTIC,
     CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH},
    {"lt_64f", "cublasLtMatmul, 64F", nullptr},
    {"lt_pedantic", "cublasLtMatmul, 64F_PEDANTIC", nullptr, CUBLAS_COMPUTE_64F_PEDANTIC},
    {"lt_emulated", "cublasLtMatmul, 64F_EMULATED", nullptr, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT},
};

/// Multiplies by the first algorithm that cublasLt's search finds. Emulation needs much workspace.
cublasStatus_t multiply_by_lt(const Device& device, const Float64Problem& problem, cublasComputeType_t type) {
    const Library library = open_cuda_library("libcublasLt");
    const Buffer workspace(device, std::size_t{256} << 20);
    const std::size_t workspace_bytes = std::size_t{256} << 20;
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t descriptor = nullptr;
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const auto n = static_cast<std::uint64_t>(problem.n);
    check(library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&handle), "cublasLtCreate");
    cublasStatus_t status =
        library.get<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")(&descriptor, type, CUDA_R_64F);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library.get<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")(&layout, CUDA_R_64F,
                                                                                                 n, n, problem.n);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library.get<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate")(&preference);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library.get<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute")(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library.get<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic")(
            handle, descriptor, layout, layout, layout, layout, preference, 1, &found, &count);
    if (status == CUBLAS_STATUS_SUCCESS && count == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library.get<decltype(cublasLtMatmul)>("cublasLtMatmul")(
            handle, descriptor, &one, problem.a.as<void>(), layout, problem.b.as<void>(), layout, &zero,
            problem.c.as<void>(), layout, problem.c.as<void>(), layout, &found.algo, workspace.as<void>(),
            workspace_bytes, nullptr);
    device.synchronise();
    if (preference != nullptr)
        library.get<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy")(preference);
    if (layout != nullptr) library.get<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")(layout);
    if (descriptor != nullptr)
        library.get<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")(descriptor);
    library.get<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle);
    return status;
}

Status multiply(Worker& worker, const Float64Problem& problem, const Way& way) {
    if (way.multiply == nullptr) return multiply_by_lt(worker.device(), problem, way.type);
    const Cublas& cublas = worker.cublas();
    using SetMathMode = decltype(cublasSetMathMode);
    const auto set_mode = cublas.library.get<SetMathMode>("cublasSetMathMode");
    if (const cublasStatus_t status = set_mode(cublas.handle, way.mode); status != CUBLAS_STATUS_SUCCESS)
        return status;
    constexpr const char* counter = "cublasSetFixedPointEmulationMantissaBitCountPointer";
    if (const auto count =
            cublas.library.find<decltype(cublasSetFixedPointEmulationMantissaBitCountPointer)>(counter))
        count(cublas.handle, problem.kept.as<int>());
    const Status status = way.multiply(cublas, problem, way.type);
    set_mode(cublas.handle, CUBLAS_DEFAULT_MATH);
    return status;
}

std::vector<std::string> measure(Worker& worker, Float64Problem& problem, const Way& way) {
    problem.prepare();
    const Status status = multiply(worker, problem, way);
    std::string answer = !status ? "absent" : text(*status);
    std::string bits = "-", error_text = "-", kept_text = "-";
    if (status == CUBLAS_STATUS_SUCCESS) {
        const double error = problem.error(way.multiply == dsyrk);
        const int kept = problem.kept.download<int>(1).front();
        // A NaN is no smaller than any number.
        answer = !(error < wrong_error) ? "wrong" : kept >= 0 || error > fp64_error ? "fp64_emulated" : "fp64";
        bits = problem.bits();
        error_text = scientific(error);
        if (kept != not_written) kept_text = std::to_string(kept);
    }
    worker.found(way.name, answer);
    worker.found(std::string(way.name) + "_bits", bits);
    return {answer, error_text, kept_text, bits};
}

}  // namespace

void ask_float64(Worker& worker) {
    Float64Problem problem(worker.device(), worker.sizes.back());
    for (const Way& way : ways) worker.row({way.what}, [&] { return measure(worker, problem, way); });
}

}  // namespace gpu
