// A small product that can be repeated: gemm (governed by compute type) or syrk (governed by math mode). For tests of
// state, in which the kind of product does not matter.
#pragma once

#include <memory>

#include "device.hpp"
#include "reference.hpp"

namespace clients {

enum class Kind { sgemm, gemm_ex, ssyrk };

class SimpleProduct {
  public:
    explicit SimpleProduct(Kind kind, unsigned seed = 1) : kind_(kind) {
        problem_ = {kind == Kind::ssyrk ? Operation::syrk : Operation::gemm,
                    Dtype::float32,
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
                    random_matrix(Dtype::float32, order, depth, -16, seed),
                    random_matrix(Dtype::float32, depth, order, -16, seed + 1),
                    random_matrix(Dtype::float32, order, order, -29, seed + 2)};
        a_ = std::make_unique<DeviceMemory>(bytes_of(Dtype::float32, problem_.a));
        b_ = std::make_unique<DeviceMemory>(bytes_of(Dtype::float32, problem_.b));
        c_bytes_ = bytes_of(Dtype::float32, problem_.c);
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
            case Kind::ssyrk:
                break;
        }
        return api().cublasSsyrk_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, order, depth, &alpha, a, lda, &beta,
                                    c, ldc);
    }

    /// Measures the result in memory. Precondition: the product has run.
    Measured result() const {
        std::vector<unsigned char> bytes(c_bytes_.size());
        c_->read(bytes.data(), bytes.size());
        Dense found(order, order);
        for (int j = 0; j < order; ++j)
            for (int i = 0; i < order; ++i)
                found.at(i, j) =
                    decode(Dtype::float32, &bytes[sizeof(float) * static_cast<std::size_t>(i + j * problem_.c.ld)]);
        return measure(problem_, found);
    }

    /// Overwrites the result, so that the next measurement can only find a later one.
    void clear() const { c_->write(c_bytes_.data(), c_bytes_.size()); }

    static constexpr int order = 17, depth = 23;

  private:
    static constexpr float alpha = 0.75F, beta = 0;
    Kind kind_;
    Problem problem_;
    std::vector<unsigned char> c_bytes_;
    std::unique_ptr<DeviceMemory> a_, b_, c_;
};

}  // namespace clients
