// cublasLt, with the descriptors of one n×n product.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/sections/section.hpp"

namespace gpu {

struct NumericalFlag {
    unsigned long long flag;
    const char* name;
};
inline constexpr NumericalFlag numerical_flag_names[] = {
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, "FMA"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, "HMMA"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, "INPUT_16F"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, "INPUT_16BF"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, "INPUT_TF32"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, "INPUT_32F"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, "ACCUMULATOR_16F"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, "ACCUMULATOR_32F"},
};

class Lt {
  public:
    explicit Lt(Worker& worker, int n, std::size_t offset = 0, std::size_t workspace_bytes = 32 << 20,
                cublasLtHandle_t given = nullptr)
        : problem(worker.device(), n, false, Use::product, offset),
          workspace_(worker.device(), workspace_bytes + 1),
          workspace_bytes_(workspace_bytes),
          owned_(given == nullptr) {
        if (given) {
            handle_ = given;
        } else {
            check(library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&handle_), "cublasLtCreate");
        }
        check(library.get<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")(&layout_, CUDA_R_32F, n,
                                                                                              n, n),
              "cublasLtMatrixLayoutCreate");
        check(library.get<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate")(&preference_),
              "cublasLtMatmulPreferenceCreate");
        check(library.get<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute")(
                  preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes_, sizeof workspace_bytes_),
              "cublasLtMatmulPreferenceSetAttribute");
    }
    ~Lt() {
        for (const auto descriptor : descriptors_) {
            library.get<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")(descriptor);
        }
        library.get<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy")(preference_);
        library.get<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")(layout_);
        if (owned_) library.get<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle_);
    }
    Lt(const Lt&) = delete;
    Lt& operator=(const Lt&) = delete;

    cublasStatus_t describe(cublasComputeType_t compute_type, cublasLtMatmulDesc_t& descriptor) {
        const auto status = library.get<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")(
            &descriptor, compute_type, CUDA_R_32F);
        if (status == CUBLAS_STATUS_SUCCESS) descriptors_.push_back(descriptor);
        return status;
    }

    cublasStatus_t ask_heuristic(cublasLtMatmulDesc_t descriptor, cublasLtMatmulAlgo_t& algorithm) const {
        cublasLtMatmulHeuristicResult_t result{};
        int found = 0;
        const auto status = library.get<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic")(
            handle_, descriptor, layout_, layout_, layout_, layout_, preference_, 1, &result, &found);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
        algorithm = result.algo;
        return result.state;
    }

    cublasStatus_t check_algorithm(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t& algorithm) const {
        cublasLtMatmulHeuristicResult_t result{};
        return library.get<decltype(cublasLtMatmulAlgoCheck)>("cublasLtMatmulAlgoCheck")(
            handle_, descriptor, layout_, layout_, layout_, layout_, &algorithm, &result);
    }

    /// Starts the product, and does not wait for its end. algorithm: nullptr lets the library choose.
    cublasStatus_t launch(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) const {
        const float one = 1;
        const float zero = 0;
        return library.get<decltype(cublasLtMatmul)>("cublasLtMatmul")(
            handle_, descriptor, &one, problem.a.as<void>(problem.offset), layout_,
            problem.b.as<void>(problem.offset), layout_, &zero, problem.c.as<void>(problem.offset), layout_,
            problem.c.as<void>(problem.offset), layout_, algorithm, workspace_.as<void>(), workspace_bytes_, nullptr);
    }

    /// Runs the product. Returns its format, or the name of the status with which the library refused it.
    std::string multiply(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) {
        problem.prepare(Shape::gemm);
        const auto status = launch(descriptor, algorithm);
        return answer_of(status, problem.judge(Shape::gemm));
    }

    /// Returns an algorithm's CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS in words.
    std::string numerical_flags(const cublasLtMatmulAlgo_t& algorithm) const {
        unsigned long long flags = 0;
        std::size_t written = 0;
        const auto status =
            library.get<decltype(cublasLtMatmulAlgoCapGetAttribute)>("cublasLtMatmulAlgoCapGetAttribute")(
                &algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags, &written);
        if (status != CUBLAS_STATUS_SUCCESS) return text(status);
        std::string words;
        for (const NumericalFlag& name : numerical_flag_names) {
            if (flags & name.flag) words.append(words.empty() ? "" : " ").append(name.name);
            flags &= ~name.flag;
        }
        if (flags) words.append(words.empty() ? "others: " : " others: ").append(std::to_string(flags));
        return words.empty() ? "none" : words;
    }

    const Library library = open_cuda_library("libcublasLt");
    Problem problem;

  private:
    Buffer workspace_;
    std::size_t workspace_bytes_;
    bool owned_;
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatrixLayout_t layout_ = nullptr;
    cublasLtMatmulPreference_t preference_ = nullptr;
    std::vector<cublasLtMatmulDesc_t> descriptors_;
};

/// Returns the format of a product by the heuristic's first algorithm, at the largest size.
std::string lt_format(Worker& worker, cublasComputeType_t compute_type);

}  // namespace gpu
