// A small product that can be repeated: gemm (governed by compute type) or gemm3m (governed by math mode). For tests
// of state, in which the kind of product does not matter.
#pragma once

#include <memory>

#include "device.hpp"
#include "reference.hpp"

namespace clients {

enum class Kind { sgemm, gemm_ex, cgemm3m };

class SimpleProduct {
  public:
    explicit SimpleProduct(Kind kind, unsigned seed = 1)
        : kind_(kind), dtype_(kind == Kind::cgemm3m ? Dtype::complex64 : Dtype::float32) {
        problem_ = {Operation::gemm,
                    dtype_,
                    'N',
                    'N',
                    'L',
                    'U',
                    'N',
                    order,
                    order,
                    depth,
                    0.75,
                    0.0,
                    random_matrix(dtype_, order, depth, -16, seed),
                    random_matrix(dtype_, depth, order, -16, seed + 1),
                    random_matrix(dtype_, order, order, -29, seed + 2)};
        a_ = std::make_unique<DeviceMemory>(bytes_of(dtype_, problem_.a));
        b_ = std::make_unique<DeviceMemory>(bytes_of(dtype_, problem_.b));
        c_bytes_ = bytes_of(dtype_, problem_.c);
        c_ = std::make_unique<DeviceMemory>(c_bytes_);
    }

    cublasStatus_t multiply(cublasHandle_t handle) const {
        const auto lda = static_cast<int>(problem_.a.ld);
        const auto ldb = static_cast<int>(problem_.b.ld);
        const auto ldc = static_cast<int>(problem_.c.ld);
        const auto* const a = static_cast<const float*>(a_->address());
        const auto* const b = static_cast<const float*>(b_->address());
        auto* const c = static_cast<float*>(c_->address());
        switch (kind_) {
            case Kind::sgemm:
                return api().cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, depth, &alpha, a, lda, b,
                                            ldb, &beta, c, ldc);
            case Kind::gemm_ex:
                return api().cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, depth, &alpha, a,
                                          CUDA_R_32F, lda, b, CUDA_R_32F, ldb, &beta, c, CUDA_R_32F, ldc,
                                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
            case Kind::cgemm3m:
                break;
        }
        const cuComplex complex_alpha = {alpha, 0};
        const cuComplex complex_beta = {beta, 0};
        return api().cublasCgemm3m(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, depth, &complex_alpha,
                                   reinterpret_cast<const cuComplex*>(a), lda, reinterpret_cast<const cuComplex*>(b),
                                   ldb, &complex_beta, reinterpret_cast<cuComplex*>(c), ldc);
    }

    /// Measures the result in memory. Precondition: the product has run.
    Measured result() const {
        std::vector<unsigned char> bytes(c_bytes_.size());
        c_->read(bytes.data(), bytes.size());
        Dense found(order, order);
        for (int j = 0; j < order; ++j)
            for (int i = 0; i < order; ++i)
                found.at(i, j) =
                    decode(dtype_, &bytes[size_of(dtype_) * static_cast<std::size_t>(i + j * problem_.c.ld)]);
        return measure(problem_, found);
    }

    /// Overwrites the result, so that the next measurement can only find a later one.
    void clear() const { c_->write(c_bytes_.data(), c_bytes_.size()); }

    static constexpr int order = 17, depth = 23;

  private:
    static constexpr float alpha = 0.75F, beta = 0;
    Kind kind_;
    Dtype dtype_;
    Problem problem_;
    std::vector<unsigned char> c_bytes_;
    std::unique_ptr<DeviceMemory> a_, b_, c_;
};

}  // namespace clients
