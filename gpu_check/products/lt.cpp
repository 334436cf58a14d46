#include "gpu_check/products/lt.hpp"

namespace gpu {
namespace {

// LT(function, arguments...) calls a function of cublasLt by its name, and does not check the status.
#define LT(function, ...) library_.get<decltype(gpu::function)>(#function)(__VA_ARGS__)

cudaDataType type_of(Element element) { return element == Element::float64 ? CUDA_R_64F : CUDA_R_32F; }

}  // namespace

LtProduct::LtProduct(const Device& device, const CallArguments& call, cublasLtHandle_t given)
    : device_(device),
      call_(call),
      workspace_(device, call.workspace + 1),
      owns_handle_(given == nullptr),
      handle_(given) {
    if (owns_handle_) CHECKED(library_, cublasLtCreate, &handle_);
    const auto n = static_cast<std::uint64_t>(call.n);
    CHECKED(library_, cublasLtMatrixLayoutCreate, &layout_, type_of(call.element), n, n, call.n);
    CHECKED(library_, cublasLtMatmulPreferenceCreate, &preference_);
    CHECKED(library_, cublasLtMatmulPreferenceSetAttribute, preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &call_.workspace, sizeof call_.workspace);
}

LtProduct::~LtProduct() {
    for (const auto descriptor : descriptors_) LT(cublasLtMatmulDescDestroy, descriptor);
    LT(cublasLtMatmulPreferenceDestroy, preference_);
    LT(cublasLtMatrixLayoutDestroy, layout_);
    if (owns_handle_) LT(cublasLtDestroy, handle_);
}

cublasStatus_t LtProduct::create_descriptor(cublasComputeType_t compute_type, cublasLtMatmulDesc_t& descriptor) {
    const auto status = LT(cublasLtMatmulDescCreate, &descriptor, compute_type, type_of(call_.element));
    if (status == CUBLAS_STATUS_SUCCESS) descriptors_.push_back(descriptor);
    return status;
}

cublasStatus_t LtProduct::find_algorithm(cublasLtMatmulDesc_t descriptor, cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const auto status = LT(cublasLtMatmulAlgoGetHeuristic, handle_, descriptor, layout_, layout_, layout_, layout_,
                           preference_, 1, &result, &found);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm = result.algo;
    return result.state;
}

cublasStatus_t LtProduct::check_algorithm(cublasLtMatmulDesc_t descriptor,
                                          const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    return LT(cublasLtMatmulAlgoCheck, handle_, descriptor, layout_, layout_, layout_, layout_, &algorithm, &result);
}

cublasStatus_t LtProduct::multiply(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) const {
    const auto status =
        LT(cublasLtMatmul, handle_, descriptor, call_.alpha, call_.a, layout_, call_.b, layout_, call_.beta, call_.c,
           layout_, call_.c, layout_, algorithm, workspace_.address(), call_.workspace, nullptr);
    device_.synchronise();
    return status;
}

#undef LT

}  // namespace gpu
