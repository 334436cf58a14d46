// Makes the matrices for one product, on the device and on the host, and judges the result.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "gpu_check/products/functions.hpp"
#include "gpu_check/products/host_problem.hpp"

namespace gpu {

/// The layout of a product's matrices in memory. Libraries choose their kernels by the layout.
struct MatrixLayout {
    std::size_t offset = 0;  ///< offset of the first elements in bytes; the memory itself is aligned to 256 bytes
    int more_rows = 0;       ///< leading dimension minus the number of rows
    /// CUBLAS_OP_T if the matrix lies transposed in memory. The call then transposes the matrix.
    Operation trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
};

/// The matrices of a product on the device, which are n×n and column-major. Derived classes fill and judge them.
class DeviceProblem {
  public:
    virtual ~DeviceProblem() = default;
    DeviceProblem(const DeviceProblem&) = delete;
    DeviceProblem& operator=(const DeviceProblem&) = delete;

    /// Puts NaN into C, or B if the product is trsm, which solves in place.
    virtual void prepare_output(ProductKind shape);
    /// Judges product number `copy` of a batch, counted from 0.
    virtual MeasuredRounding judge_result(ProductKind shape, int copy = 0) const = 0;
    /// Returns a hash of the bits of the first product's result.
    std::string hash_of_result() const;
    CallArguments call_arguments() const;

    static constexpr int copies = 2;  ///< number of products in a batch, which are all equal

    const int n;
    const Element element;

  protected:
    DeviceProblem(const Device& device, int n, Element element, const MatrixLayout& layout = {});

    const MatrixLayout layout_;
    const std::size_t matrix_bytes_;
    DeviceBuffer a_, b_, c_;                             // `copies` matrices in a row in each buffer
    DeviceBuffer a_pointers_, b_pointers_, c_pointers_;  // addresses of the matrices in the buffers above
};

/// A product of real or complex float32 matrices, which are those of HostProblem.
class Float32Problem : public DeviceProblem {
  public:
    Float32Problem(const Device& device, int n, bool complex = false, OperandUse use = OperandUse::product,
                   const MatrixLayout& layout = {});

    void prepare_output(ProductKind shape) override;
    MeasuredRounding judge_result(ProductKind shape, int copy = 0) const override;

  private:
    void upload(DeviceBuffer& target, const std::vector<std::complex<float>>& matrix, Operation trans) const;

    HostProblem host_;
};

/// Matrices of float64 whose product tells whether cuBLAS emulated it by fixed-point numbers.
///
/// If cuBLAS is told to keep 31 bits, the result tells how it was computed. All terms of a sum are of one size, but
/// their factors in A are up to 2^20 times smaller than the largest factor of the row. So an emulated product has
/// errors of some 1e-4, and a product that is not emulated has errors of some 1e-15. If cuBLAS ignores the number 31
/// and keeps its default of 55 bits, errors are some 1e-11. cuBLAS also writes the number of bits that it kept into
/// memory that the handle names.
class Float64Problem : public DeviceProblem {
  public:
    Float64Problem(const Cublas& cublas, int n);

    void prepare_output(ProductKind shape) override;
    /// The format is fp64, fp64_emulated or wrong. `match` is the number of bits that cuBLAS kept, or "-" if cuBLAS
    /// does not tell.
    MeasuredRounding judge_result(ProductKind shape, int copy = 0) const override;

  private:
    const std::vector<double> host_a_, host_b_;
    DeviceBuffer kept_bits_;  // the number of bits that cuBLAS kept
};

/// One way to request a product from cuBLAS.
struct ProductRequest {
    const char* function;  ///< name of a row of the table in functions.cpp, such as `sgemm_ex`
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    cublasComputeType_t type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT;
};

/// Returns the format of a product, the name of its cublasStatus_t if it was refused, or "absent" if the library does
/// not have the function.
std::string format_or_error(const Status& status, const MeasuredRounding& measured);

/// The outcome of a product.
struct ProductResult {
    std::string answer;         ///< the text that format_or_error() returns
    MeasuredRounding measured;  ///< the judgement of the product, or of the last product of a batch
    bool ran;                   ///< true if the product was not refused
};
/// Multiplies as `request` asks, and judges the result. Leaves the handle in DEFAULT mode.
ProductResult multiply(const Cublas& cublas, DeviceProblem& problem, const ProductRequest& request);

/// Three n×n matrices for products that are timed. Their numbers are random, between -1 and 1, because the clock of a
/// GPU, and so its speed, depends on how many bits of its registers change.
class RandomMatrices {
  public:
    RandomMatrices(const Device& device, int n);
    CallArguments call_arguments() const;

    const int n;
    DeviceBuffer a, b, c;
};

}  // namespace gpu
