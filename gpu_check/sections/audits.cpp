// Runs products under the shim with audits on. Compares the errors in the recording with errors that the host
// computes in float64. Also checks that a product that is captured into a graph is not audited.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "gpu_check/products/functions.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "record/read/reader.hpp"

namespace gpu {
namespace {

constexpr double agreement_tolerance = 0.02;  // largest relative difference of two errors that agree
constexpr double largest_fp32_error = 1e-5;   // a product with a smaller error ran at FP32, although TF32 was allowed
constexpr double alpha = -1.5;

using Numbers = std::vector<float>;

/// A product that is audited. Each product is run with a size of its own, by which it is found in the recording.
struct AuditedProduct {
    const char* title;
    const char* function;
    int count = 1;  ///< number of products in a batch
    Operation trans_a = CUBLAS_OP_N;
    float value = 0;  ///< value of all elements of A, while all elements of B are one; 0 if all elements are random
};
constexpr AuditedProduct products[] = {
    {"cublasSgemm", "sgemm"},
    {"cublasSgemm, A transposed", "sgemm", 1, CUBLAS_OP_T},
    // TF32 rounds 1.0001 to 1, however it rounds ties, which is an error of 1e-4.
    {"cublasSgemm, 1.0001 times 1", "sgemm", 1, CUBLAS_OP_N, 1.0001F},
    {"cublasSgemmStridedBatched", "sgemm_strided_batched", 3},
    {"cublasLtMatmul", "lt_null"},
    {"cublasCgemm3m", "cgemm3m"},  // the operands have no imaginary parts; the math mode sets the precision
};
static_assert(std::size(products) == audited_products);

struct ResultErrors {
    double norm = 0;
    double row = 0;  ///< the largest error of a row or of a column
};

/// Returns the errors of a column-major n×n result, compared with `exact`.
ResultErrors errors_of(const float* result, const std::vector<double>& exact, int n) {
    std::vector<double> rows(static_cast<std::size_t>(n)), columns = rows, d_rows = rows, d_columns = rows;
    double reference = 0;
    double difference = 0;
    for (int j = 0; j < n; ++j)
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
    ResultErrors errors{std::sqrt(difference / reference), 0};
    for (int i = 0; i < n; ++i)
        errors.row = std::max({errors.row, std::sqrt(d_rows[i] / rows[i]), std::sqrt(d_columns[i] / columns[i])});
    return errors;
}

/// Returns alpha op(A) B in float64, column-major. op(A) is the transpose of A if `transposed` is true, otherwise A.
std::vector<double> multiply_exactly(const float* a, bool transposed, const float* b, int n) {
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

/// Returns the numbers as an operand. A complex operand gets imaginary parts, which are zero.
Numbers as_operand(const Numbers& numbers, bool is_complex) {
    if (!is_complex) return numbers;
    Numbers result(2 * numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) result[2 * i] = numbers[i];
    return result;
}

/// Runs `product` once with matrices of order `n`, and returns the largest errors of its results, of which a batch
/// has several.
ResultErrors multiply(const Cublas& cublas, const AuditedProduct& product, int n) {
    const std::size_t one = static_cast<std::size_t>(n) * n;
    const CublasFunction& function = function_named(product.function);
    const bool is_complex = function.element == Element::complex;
    const bool is_random = product.value == 0;
    const Numbers a = is_random ? random_numbers(one * product.count, 1) : Numbers(one, product.value);
    const Numbers b = is_random ? random_numbers(one * product.count, 2) : Numbers(one, 1);
    const DeviceBuffer device_a(cublas.device, as_operand(a, is_complex));
    const DeviceBuffer device_b(cublas.device, as_operand(b, is_complex));
    const DeviceBuffer device_c(cublas.device, as_operand(a, is_complex));
    CallArguments call = square_call(n, device_a, device_b, device_c);
    call.trans_a = product.trans_a;
    call.alpha = Scalar(alpha);
    call.count = product.count;
    throw_on_error(*function(cublas, call), function.function);
    Numbers result = device_c.download<float>(a.size() * (is_complex ? 2 : 1));
    for (std::size_t i = 0; is_complex && i < a.size(); ++i) result[i] = result[2 * i];
    ResultErrors largest;
    for (std::size_t begin = 0; begin < a.size(); begin += one) {
        const bool is_transposed = product.trans_a == CUBLAS_OP_T;
        const ResultErrors errors =
            errors_of(&result[begin], multiply_exactly(&a[begin], is_transposed, &b[begin], n), n);
        largest = {std::max(largest.norm, errors.norm), std::max(largest.row, errors.row)};
    }
    return largest;
}

/// Computes C := A B + C, where all elements are one. First calls the product directly, which loads the kernel; then
/// captures it once and replays the capture twice. Returns true if all elements of C are then 1 + 3 n.
bool replays_correctly(const Cublas& cublas, int n) {
    const Numbers ones(static_cast<std::size_t>(n) * n, 1.0F);
    const DeviceBuffer a(cublas.device, ones), b(cublas.device, ones), c(cublas.device, ones);
    CallArguments call = square_call(n, a, b, c);
    call.beta = Scalar(1);
    const auto multiply = [&] { throw_on_error(*function_named("sgemm")(cublas, call), "cublasSgemm"); };
    const CUstream stream = use_own_stream(cublas);
    multiply();
    cublas.device.synchronise();
    replay_graph_twice(cublas.device, capture_graph(cublas.device, stream, multiply), stream);
    const Numbers result = c.download<float>(ones.size());
    return std::ranges::all_of(result, [&](float element) { return element == 1.0F + 3.0F * static_cast<float>(n); });
}

struct AuditSummary {
    int audits = 0;
    int skipped = 0;
    fp32shim::record::AuditErrors errors;
};

/// Returns how many audits and skipped audits the file `recording` has of products of size `n`, and the errors in the
/// last of them.
AuditSummary summarize_audits(const std::string& recording, int n) {
    const auto opened = fp32shim::record::RecordingReader::open(recording);
    if (opened.reader == nullptr) throw std::runtime_error(recording + ": " + opened.error);
    const auto& reader = opened.reader;
    AuditSummary found;
    reader->visit_audits([&](const fp32shim::record::RecordedAudit& recorded) {
        const auto* const row = reader->row(recorded.row);
        if (row == nullptr || row->decision.call.n != n || is_about_nonfinite(recorded.audit)) return;
        const bool is_skipped = (recorded.audit.flags & fp32shim::record::audit_skipped) != 0;
        ++(is_skipped ? found.skipped : found.audits);
        found.errors = recorded.audit.errors;
    });
    return found;
}

bool agree(double audited, double measured) {
    return std::abs(audited - measured) <= agreement_tolerance * measured ||
           (audited < largest_fp32_error && measured < largest_fp32_error);
}

/// Compares a product's audit with the measured errors, and sends the result to the parent. If the product ran at
/// FP32, as on a GPU without TF32, the result is right without an audit.
void send_comparison(Worker& worker, const AuditSummary& found, const ResultErrors& measured) {
    const double row = found.errors.error_by(fp32shim::policy::ErrorMetric::row);
    const bool is_right = found.audits == 1 && agree(found.errors.norm, measured.norm) && agree(row, measured.row);
    const bool needs_none = found.audits == 0 && measured.norm < largest_fp32_error;
    worker.report_finding("audits", std::to_string(found.audits));
    worker.report_finding("norm", format_number("%.4e", found.errors.norm) + " audited, " +
                                      format_number("%.4e", measured.norm) + " measured");
    worker.report_finding(
        "row", format_number("%.4e", row) + " audited, " + format_number("%.4e", measured.row) + " measured");
    worker.report_finding("audit", is_right ? "as measured" : needs_none ? "skipped" : "WRONG");
}

}  // namespace

void measure_audit_errors(Worker& worker) {
    const char* const recording = std::getenv("FP32_MATMUL_LOG");
    if (recording == nullptr) throw std::runtime_error("FP32_MATMUL_LOG is not set");
    int n = worker.sizes.front();
    for (const AuditedProduct& product : products) {
        worker.measure_row(product.title, "", [&] {
            const ResultErrors measured = multiply(worker.cublas(), product, n);
            send_comparison(worker, summarize_audits(recording, n), measured);
        });
        n += 4;
    }
    worker.measure_row("cublasSgemm, captured and replayed", "", [&] {
        const bool graph_is_right = replays_correctly(worker.cublas(), n);
        const AuditSummary captured = summarize_audits(recording, n);
        // On a GPU without TF32, the product before the capture ran at FP32, and so it was not audited either.
        const bool is_left_alone = graph_is_right && captured.audits <= 1 && captured.skipped == 2 - captured.audits;
        worker.report_finding("captured", is_left_alone ? "not audited, result right" : "WRONG");
    });
}

}  // namespace gpu
