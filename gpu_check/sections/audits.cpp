// Runs products under the shim with audits on. Compares the errors in the recording with errors that the host
// computes in float64. A product that is captured into a graph must not be audited.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "gpu_check/sections/section.hpp"
#include "record/read/reader.hpp"

namespace gpu {

namespace {

constexpr double same_error = 0.02;     // two errors agree if their relative difference is smaller than this
constexpr double error_of_fp32 = 1e-5;  // a product with a smaller error ran at FP32, although TF32 was allowed
constexpr int products_of_a_batch = 3;

using Numbers = std::vector<float>;

struct Errors {
    double norm = 0;
    double row = 0;  ///< error by row or by column, whichever is larger
};

/// Returns the errors of a column-major n×n result, compared with `exact`.
Errors errors_of(const float* result, const std::vector<double>& exact, int n) {
    std::vector<double> rows(static_cast<std::size_t>(n)), columns = rows, d_rows = rows, d_columns = rows;
    double reference = 0;
    double difference = 0;
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) {
            const std::size_t at = static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * n;
            const double r = exact[at] * exact[at];
            const double d = (result[at] - exact[at]) * (result[at] - exact[at]);
            rows[i] += r;
            columns[j] += r;
            d_rows[i] += d;
            d_columns[j] += d;
            reference += r;
            difference += d;
        }
    }
    Errors errors{std::sqrt(difference / reference), 0};
    for (int i = 0; i < n; ++i)
        errors.row = std::max({errors.row, std::sqrt(d_rows[i] / rows[i]), std::sqrt(d_columns[i] / columns[i])});
    return errors;
}

/// Returns alpha op(A) B in float64, column-major; op transposes if `transposed`.
std::vector<double> multiply_exactly(double alpha, const float* a, bool transposed, const float* b, int n) {
    std::vector<double> result(static_cast<std::size_t>(n) * n);
    for (int j = 0; j < n; ++j)
        for (int p = 0; p < n; ++p) {
            const double factor = alpha * static_cast<double>(b[p + static_cast<std::size_t>(j) * n]);
            for (int i = 0; i < n; ++i)
                result[i + static_cast<std::size_t>(j) * n] +=
                    factor * static_cast<double>(transposed ? a[p + static_cast<std::size_t>(i) * n]
                                                            : a[i + static_cast<std::size_t>(p) * n]);
        }
    return result;
}

Numbers random_numbers(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution;
    Numbers numbers(count);
    for (float& number : numbers) number = distribution(generator);
    return numbers;
}

/// Handle, buffers and calls for the products. Each product has a size of its own, by which it is found in the
/// recording.
class Products {
  public:
    Products(const Device& device, const Cublas& cublas) : device_(device), cublas_(cublas) {}

    /// Multiplies once, and returns the errors of the result.
    Errors gemm(int n, const Numbers& a, const Numbers& b, bool transposed) const {
        const Buffer device_a(device_, a), device_b(device_, b);
        const Buffer device_c(device_, a.size() * sizeof(float));
        const float alpha = -1.5F;
        const float beta = 0;
        check(sgemm()(cublas_.handle, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha,
                      device_a.as<float>(), n, device_b.as<float>(), n, &beta, device_c.as<float>(), n),
              "cublasSgemm");
        const Numbers result = device_c.download<float>(a.size());
        return errors_of(result.data(), multiply_exactly(-1.5, a.data(), transposed, b.data(), n), n);
    }

    /// Runs a strided batch, and returns the largest errors of its products.
    Errors batch(int n) const {
        const std::size_t one = static_cast<std::size_t>(n) * n;
        const Numbers a = random_numbers(one * products_of_a_batch, 3);
        const Numbers b = random_numbers(one * products_of_a_batch, 4);
        const Buffer device_a(device_, a), device_b(device_, b);
        const Buffer device_c(device_, a.size() * sizeof(float));
        const float alpha = 1;
        const float beta = 0;
        const auto stride = static_cast<long long>(one);
        check(cublas_.library.get<decltype(cublasSgemmStridedBatched)>("cublasSgemmStridedBatched")(
                  cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, device_a.as<float>(), n, stride,
                  device_b.as<float>(), n, stride, &beta, device_c.as<float>(), n, stride, products_of_a_batch),
              "cublasSgemmStridedBatched");
        const Numbers result = device_c.download<float>(a.size());
        Errors largest;
        for (std::size_t begin = 0; begin < a.size(); begin += one) {
            const Errors errors = errors_of(&result[begin], multiply_exactly(1, &a[begin], false, &b[begin], n), n);
            largest = {std::max(largest.norm, errors.norm), std::max(largest.row, errors.row)};
        }
        return largest;
    }

    /// Calls cublasLtMatmul without an algorithm, as an audit does.
    Errors lt(int n) const {
        const Library library = open_cuda_library("libcublasLt");
        const Numbers a = random_numbers(static_cast<std::size_t>(n) * n, 6);
        const Numbers b = random_numbers(a.size(), 7);
        const Buffer device_a(device_, a), device_b(device_, b);
        const Buffer device_c(device_, a.size() * sizeof(float));
        const float alpha = 1;
        const float beta = 0;
        cublasLtMatmulDesc_t descriptor = nullptr;
        cublasLtMatrixLayout_t layout = nullptr;
        check(library.get<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")(
                  &descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              "cublasLtMatmulDescCreate");
        const auto size = static_cast<std::uint64_t>(n);
        check(library.get<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")(&layout, CUDA_R_32F,
                                                                                              size, size, n),
              "cublasLtMatrixLayoutCreate");
        check(library.get<decltype(cublasLtMatmul)>("cublasLtMatmul")(
                  reinterpret_cast<cublasLtHandle_t>(cublas_.handle), descriptor, &alpha, device_a.as<float>(),
                  layout, device_b.as<float>(), layout, &beta, device_c.as<float>(), layout, device_c.as<float>(),
                  layout, nullptr, nullptr, 0, nullptr),
              "cublasLtMatmul");
        const Numbers result = device_c.download<float>(a.size());
        return errors_of(result.data(), multiply_exactly(1, a.data(), false, b.data(), n), n);
    }

    /// Multiplies complex numbers that are real, by a function whose precision the math mode sets.
    Errors gauss(int n) const {
        const Numbers a = random_numbers(static_cast<std::size_t>(n) * n, 5);
        const Numbers b = random_numbers(a.size(), 8);
        const auto as_complex = [](const Numbers& numbers) {
            std::vector<cuComplex> result;
            for (const float number : numbers) result.push_back({number, 0});
            return result;
        };
        const Buffer device_a(device_, as_complex(a)), device_b(device_, as_complex(b));
        const Buffer device_c(device_, a.size() * sizeof(cuComplex));
        const cuComplex alpha = {1, 0};
        const cuComplex beta = {0, 0};
        check(cublas_.library.get<decltype(cublasCgemm3m)>("cublasCgemm3m")(
                  cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, device_a.as<cuComplex>(), n,
                  device_b.as<cuComplex>(), n, &beta, device_c.as<cuComplex>(), n),
              "cublasCgemm3m");
        Numbers result;
        for (const cuComplex& number : device_c.download<cuComplex>(a.size())) result.push_back(number.x);
        return errors_of(result.data(), multiply_exactly(1, a.data(), false, b.data(), n), n);
    }

    /// Computes C := A B + C, where all elements are one. Runs it once directly, which loads the kernel; then
    /// captures it once and plays the capture twice. Returns true if C is 1 + 3 n afterwards.
    bool graph(int n) const {
        const Numbers ones(static_cast<std::size_t>(n) * n, 1.0F);
        const Buffer a(device_, ones), b(device_, ones), c(device_, ones);
        const auto multiply = [&](const char* what) {
            const float one = 1;
            check(sgemm()(cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.as<float>(), n, b.as<float>(), n,
                          &one, c.as<float>(), n),
                  what);
        };
        const Library& driver = device_.driver;
        CUstream stream = nullptr;
        CUgraph graph = nullptr;
        CUgraphExec executable = nullptr;
        check(driver.get<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING),
              "cuStreamCreate");
        check(cublas_.library.get<decltype(cublasSetStream_v2)>("cublasSetStream_v2")(cublas_.handle, stream),
              "cublasSetStream");
        multiply("cublasSgemm");
        device_.synchronise();
        check(driver.get<decltype(cuStreamBeginCapture_v2)>("cuStreamBeginCapture_v2")(stream,
                                                                                       CU_STREAM_CAPTURE_MODE_GLOBAL),
              "cuStreamBeginCapture");
        multiply("cublasSgemm, captured");
        check(driver.get<decltype(cuStreamEndCapture)>("cuStreamEndCapture")(stream, &graph), "cuStreamEndCapture");
        using Instantiate = CUresult(CUgraphExec*, CUgraph, unsigned long long);
        check(driver.get<Instantiate>("cuGraphInstantiateWithFlags")(&executable, graph, 0), "cuGraphInstantiate");
        for (int i = 0; i < 2; ++i)
            check(driver.get<decltype(cuGraphLaunch)>("cuGraphLaunch")(executable, stream), "cuGraphLaunch");
        device_.synchronise();
        const Numbers result = c.download<float>(ones.size());
        return std::all_of(result.begin(), result.end(),
                           [&](float element) { return element == 1.0F + 3.0F * static_cast<float>(n); });
    }

  private:
    decltype(cublasSgemm_v2)& sgemm() const {
        return cublas_.library.get<decltype(cublasSgemm_v2)>("cublasSgemm_v2");
    }

    const Device& device_;
    const Cublas& cublas_;
};

struct Found {
    int audits = 0;
    int skipped = 0;
    fp32shim::record::AuditErrors errors;
};

/// Returns the audits of one size in a recording.
Found find_audits(const std::string& recording, int n) {
    const auto opened = fp32shim::record::RecordingReader::open(recording);
    if (opened.reader == nullptr) throw std::runtime_error(recording + ": " + opened.error);
    const auto& reader = opened.reader;
    Found found;
    reader->visit_audits([&](const fp32shim::record::RecordedAudit& recorded) {
        const auto* const row = reader->row(recorded.row);
        if (row == nullptr || row->decision.call.n != n) return true;
        const bool is_skipped = (recorded.audit.flags & fp32shim::record::audit_skipped) != 0;
        ++(is_skipped ? found.skipped : found.audits);
        found.errors = recorded.audit.errors;
        return true;
    });
    return found;
}

bool agree(double audited, double measured) {
    return std::abs(audited - measured) <= same_error * measured ||
           (audited < error_of_fp32 && measured < error_of_fp32);
}

/// Returns the cells of a row. A product that ran at FP32, as on a GPU without TF32, has no audit.
std::vector<std::string> compare(Worker& worker, int n, const std::string& recording, const Errors& measured) {
    const Found found = find_audits(recording, n);
    const double row = found.errors.by(fp32shim::policy::Metric::row);
    const bool is_right = found.audits == 1 && agree(found.errors.norm, measured.norm) && agree(row, measured.row);
    const bool needs_none = found.audits == 0 && measured.norm < error_of_fp32;
    const char* const verdict = is_right ? "as measured" : needs_none ? "skipped" : "WRONG";
    worker.found("audit", verdict);
    const auto text = [](double value) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.4e", value);
        return std::string(digits);
    };
    return {std::to_string(n),
            std::to_string(found.audits),
            text(found.errors.norm),
            text(measured.norm),
            text(row),
            text(measured.row),
            verdict};
}

}  // namespace

void ask_audits(Worker& worker) {
    const char* const recording = std::getenv("FP32_MATMUL_LOG");
    if (recording == nullptr) throw std::runtime_error("FP32_MATMUL_LOG is not set");
    const Products products(worker.device(), worker.cublas());
    int n = worker.sizes.front();
    const auto row = [&](const char* what, const std::function<Errors(int)>& multiply) {
        worker.row({what}, [&] { return compare(worker, n, recording, multiply(n)); });
        n += 4;
    };
    const auto random = [](int order, unsigned seed) {
        return random_numbers(static_cast<std::size_t>(order) * static_cast<std::size_t>(order), seed);
    };
    const auto all = [](int order, float value) {
        return Numbers(static_cast<std::size_t>(order) * static_cast<std::size_t>(order), value);
    };
    row("cublasSgemm", [&](int m) { return products.gemm(m, random(m, 1), random(m, 2), false); });
    row("cublasSgemm, A transposed", [&](int m) { return products.gemm(m, random(m, 1), random(m, 2), true); });
    // 1.0001 becomes 1 in TF32 by every way of rounding, an error of 1e-4.
    row("cublasSgemm, 1.0001 times 1", [&](int m) { return products.gemm(m, all(m, 1.0001F), all(m, 1), false); });
    row("cublasSgemmStridedBatched", [&](int m) { return products.batch(m); });
    row("cublasLtMatmul", [&](int m) { return products.lt(m); });
    row("cublasCgemm3m", [&](int m) { return products.gauss(m); });
    worker.row({"cublasSgemm, captured and replayed"}, [&]() -> std::vector<std::string> {
        const bool graph_is_right = products.graph(n);
        const Found captured = find_audits(recording, n);
        // Without TF32, the product before the capture ran at FP32 and was not audited either.
        const bool is_left_alone = graph_is_right && captured.audits <= 1 && captured.skipped == 2 - captured.audits;
        const char* const verdict = is_left_alone ? "not audited, result right" : "WRONG";
        worker.found("captured", verdict);
        return {std::to_string(n), std::to_string(captured.audits), "-", "-", "-", "-", verdict};
    });
}

}  // namespace gpu
