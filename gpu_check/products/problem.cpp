#include "gpu_check/products/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

namespace gpu {
namespace {

constexpr double largest_fp64_error = 1e-13;      // products with a larger error are emulated
constexpr double largest_plausible_error = 1e-2;  // results with a larger error are not of this product at all
constexpr int spread = 20;                        // the largest value of shift_of()
constexpr int not_written = -2;  // number of kept bits before cuBLAS writes it; -1 means that cuBLAS did not emulate

std::vector<void*> addresses(const DeviceBuffer& matrices, std::size_t matrix_bytes, std::size_t offset) {
    std::vector<void*> result;
    for (int copy = 0; copy < DeviceProblem::copies; ++copy)
        result.push_back(matrices.address(offset + copy * matrix_bytes));
    return result;
}

/// Returns the exponent of the power of two by which column k of A is divided and row k of B is multiplied.
int shift_of(int k) { return k * 7 % (spread + 1); }

std::vector<double> random_matrix(int n, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> matrix(static_cast<std::size_t>(n) * n);
    for (double& element : matrix) element = uniform(generator);
    return matrix;
}

std::vector<double> shifted(std::vector<double> matrix, int n, bool is_b) {
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            double& element = matrix[static_cast<std::size_t>(j) * n + i];
            element = std::ldexp(element, is_b ? shift_of(i) : -shift_of(j));
        }
    return matrix;
}

}  // namespace

DeviceProblem::DeviceProblem(const Device& device, int n, Element element, const MatrixLayout& layout)
    : n(n),
      element(element),
      layout_(layout),
      matrix_bytes_(static_cast<std::size_t>(n + layout.more_rows) * n * bytes_of(element)),
      a_(device, layout.offset + copies * matrix_bytes_),
      b_(device, layout.offset + copies * matrix_bytes_),
      c_(device, layout.offset + copies * matrix_bytes_),
      a_pointers_(device, addresses(a_, matrix_bytes_, layout.offset)),
      b_pointers_(device, addresses(b_, matrix_bytes_, layout.offset)),
      c_pointers_(device, addresses(c_, matrix_bytes_, layout.offset)) {}

void DeviceProblem::prepare_output(ProductKind) { c_.fill_with_nan(layout_.offset + copies * matrix_bytes_); }

/// Computes the hash by the method FNV-1a.
std::string DeviceProblem::hash_of_result() const {
    const auto bytes = c_.download<unsigned char>(layout_.offset + matrix_bytes_);
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t i = layout_.offset; i < bytes.size(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

CallArguments DeviceProblem::call_arguments() const {
    CallArguments call = square_call(n, a_, b_, c_, element, layout_.offset);
    call.lda = call.ldb = call.ldc = n + layout_.more_rows;
    call.trans_a = layout_.trans_a, call.trans_b = layout_.trans_b;
    call.count = copies;
    call.a_array = static_cast<void**>(a_pointers_.address());
    call.b_array = static_cast<void**>(b_pointers_.address());
    call.c_array = static_cast<void**>(c_pointers_.address());
    return call;
}

Float32Problem::Float32Problem(const Device& device, int n, bool complex, OperandUse use, const MatrixLayout& layout)
    : DeviceProblem(device, n, complex ? Element::complex : Element::real, layout), host_(n, complex, use) {
    upload(a_, host_.a, layout.trans_a);
    upload(b_, host_.b, layout.trans_b);
}

/// Uploads `copies` copies of `matrix` in the layout on the device. Real matrices are uploaded without imaginary
/// parts.
void Float32Problem::upload(DeviceBuffer& target, const std::vector<std::complex<float>>& matrix,
                            Operation trans) const {
    std::vector<float> values;
    values.reserve(copies * matrix_bytes_ / sizeof(float));
    const auto size = static_cast<std::size_t>(n);
    for (int copy = 0; copy < copies; ++copy)
        for (std::size_t column = 0; column < size; ++column)
            for (std::size_t row = 0; row < size + layout_.more_rows; ++row) {
                const std::size_t at = trans == CUBLAS_OP_N ? row + column * size : column + row * size;
                const std::complex<float> number = row < size ? matrix[at] : 0;
                values.push_back(number.real());
                if (host_.complex) values.push_back(number.imag());
            }
    target.upload(values.data(), values.size() * sizeof(float), layout_.offset);
}

void Float32Problem::prepare_output(ProductKind shape) {
    if (shape == ProductKind::trsm)
        upload(c_, host_.b, CUBLAS_OP_N);
    else
        DeviceProblem::prepare_output(shape);
}

MeasuredRounding Float32Problem::judge_result(ProductKind shape, int copy) const {
    const std::size_t first = (layout_.offset + copy * matrix_bytes_) / sizeof(float);
    const std::size_t column = matrix_bytes_ / n / sizeof(float);
    std::vector<float> result = c_.download<float>(first + n * column);
    result.erase(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(first));
    const std::size_t kept = n * bytes_of(element) / sizeof(float);  // number of floats that are kept of each column
    for (std::size_t i = 1; i < static_cast<std::size_t>(n) && kept != column; ++i)
        std::copy_n(result.data() + i * column, kept, result.data() + i * kept);
    return host_.judge_result(shape, result.data());
}

Float64Problem::Float64Problem(const Cublas& cublas, int n)
    : DeviceProblem(cublas.device, n, Element::float64),
      host_a_(random_matrix(n, 1)),
      host_b_(random_matrix(n, 2)),
      kept_bits_(cublas.device, sizeof(int)) {
    a_.upload(shifted(host_a_, n, false).data(), matrix_bytes_);
    b_.upload(shifted(host_b_, n, true).data(), matrix_bytes_);
    constexpr const char* setter_name = "cublasSetFixedPointEmulationMantissaBitCountPointer";
    if (const auto set_pointer =
            cublas.library.find<decltype(cublasSetFixedPointEmulationMantissaBitCountPointer)>(setter_name))
        set_pointer(cublas.handle, static_cast<int*>(kept_bits_.address()));
}

void Float64Problem::prepare_output(ProductKind shape) {
    DeviceProblem::prepare_output(shape);
    kept_bits_.upload(&not_written, sizeof not_written);
}

/// Compares three columns of the result with the exact ones. The error is the rms of the difference over the rms of
/// the product.
MeasuredRounding Float64Problem::judge_result(ProductKind shape, int) const {
    // syrk multiplies A by its own transpose, and writes the lower triangle of the result.
    const bool is_syrk = shape == ProductKind::syrk;
    const auto result = c_.download<double>(host_a_.size());
    const auto at = [this](int i, int j) { return static_cast<std::size_t>(j) * n + i; };
    long double distance = 0, size = 0;
    for (const int j : {0, n / 3, n - 1})
        for (int i = is_syrk ? j : 0; i < n; ++i) {
            long double exact = 0;
            for (int k = 0; k < n; ++k) {
                const long double factor = is_syrk ? host_a_[at(j, k)] : host_b_[at(k, j)];
                exact += std::ldexp(host_a_[at(i, k)] * factor, is_syrk ? -2 * shift_of(k) : 0);
            }
            distance += (result[at(i, j)] - exact) * (result[at(i, j)] - exact);
            size += exact * exact;
        }
    const auto error = static_cast<double>(std::sqrt(distance / size));
    const int kept = kept_bits_.download<int>(1).front();
    // The first condition is also true if `error` is NaN.
    return {!(error < largest_plausible_error)        ? "wrong"
            : kept >= 0 || error > largest_fp64_error ? "fp64_emulated"
                                                      : "fp64",
            kept == not_written ? "-" : std::to_string(kept) + " bits", error};
}

std::string format_or_error(const Status& status, const MeasuredRounding& measured) {
    if (!status) return "absent";
    return *status == CUBLAS_STATUS_SUCCESS ? measured.format : status_name(*status);
}

ProductResult multiply(const Cublas& cublas, DeviceProblem& problem, const ProductRequest& request) {
    const CublasFunction& function = function_named(request.function);
    auto& set_mode = cublas.library.get<decltype(cublasSetMathMode)>("cublasSetMathMode");
    problem.prepare_output(function.shape);
    CallArguments call = problem.call_arguments();
    call.type = request.type;
    call.algorithm = request.algorithm;
    if (problem.element == Element::float64)
        call.workspace = std::size_t{256} << 20;  // emulation needs a large workspace
    Status status = set_mode(cublas.handle, request.mode);
    if (status == CUBLAS_STATUS_SUCCESS) status = function(cublas, call);
    set_mode(cublas.handle, CUBLAS_DEFAULT_MATH);
    const MeasuredRounding measured =
        problem.judge_result(function.shape, function.is_batch ? DeviceProblem::copies - 1 : 0);
    return {format_or_error(status, measured), measured, status == CUBLAS_STATUS_SUCCESS};
}

RandomMatrices::RandomMatrices(const Device& device, int n)
    : n(n),
      a(device, static_cast<std::size_t>(n) * n * sizeof(float)),
      b(device, static_cast<std::size_t>(n) * n * sizeof(float)),
      c(device, static_cast<std::size_t>(n) * n * sizeof(float)) {
    const std::size_t all = static_cast<std::size_t>(n) * n;
    std::vector<float> block(std::min<std::size_t>(all, 1 << 22));  // large matrices repeat this block
    std::mt19937 generator(1);
    for (float& element : block) element = static_cast<float>(generator()) / 2147483648.0F - 1;
    for (std::size_t done = 0; done < all; done += block.size())
        for (DeviceBuffer* const matrix : {&a, &b})
            matrix->upload(block.data(), std::min(block.size(), all - done) * sizeof(float), done * sizeof(float));
}

CallArguments RandomMatrices::call_arguments() const { return square_call(n, a, b, c); }

}  // namespace gpu
