// Calls cublasLt, with the descriptors that it needs for one product of square matrices.
#pragma once

#include <vector>

#include "gpu_check/products/functions.hpp"

namespace gpu {

/// A product of square matrices by cublasLt.
class LtProduct {
  public:
    /// `call` has the operands and the size of the workspace. `given` is a handle that the caller keeps; if it is
    /// nullptr, a handle is made.
    LtProduct(const Device& device, const CallArguments& call, cublasLtHandle_t given = nullptr);
    ~LtProduct();
    LtProduct(const LtProduct&) = delete;
    LtProduct& operator=(const LtProduct&) = delete;

    cublasStatus_t create_descriptor(cublasComputeType_t compute_type, cublasLtMatmulDesc_t& descriptor);
    cublasStatus_t find_algorithm(cublasLtMatmulDesc_t descriptor, cublasLtMatmulAlgo_t& algorithm) const;
    cublasStatus_t check_algorithm(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t& algorithm) const;
    /// Runs the product, and waits for its end. If `algorithm` is nullptr, the library chooses one.
    cublasStatus_t multiply(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) const;

  private:
    const Library library_ = open_cuda_library("libcublasLt");
    const Device& device_;
    const CallArguments call_;
    const DeviceBuffer workspace_;
    const bool owns_handle_;
    cublasLtHandle_t handle_;
    cublasLtMatrixLayout_t layout_ = nullptr;
    cublasLtMatmulPreference_t preference_ = nullptr;
    std::vector<cublasLtMatmulDesc_t> descriptors_;
};

}  // namespace gpu
