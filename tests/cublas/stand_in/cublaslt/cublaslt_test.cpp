// Tests that the stand-in of cublasLt finds algorithms, keeps descriptors and rounds as documented.
#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "stand_in_fixture.hpp"

// The oldest headers lack this function; see algorithm.cpp.
extern "C" cublasStatus_t cublasLtMatmulAlgoGetHeuristicForStream(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t[], int*, cudaStream_t);

namespace {

class StandInLt : public StandIn {
  protected:
    void start_lt(cublasComputeType_t type) {
        start();
        ASSERT_EQ(cublasLtMatmulDescCreate(&descriptor, type, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    }
    void TearDown() override {
        cublasLtMatmulPreferenceDestroy(preference);
        cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(descriptor);
    }
    void set_compute_type(cublasComputeType_t type) {
        const std::int32_t value = type;
        ASSERT_EQ(cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> heuristic() {
        std::vector<cublasLtMatmulHeuristicResult_t> results(8);
        int count = 0;
        if (cublasLtMatmulAlgoGetHeuristicForStream(lt(), descriptor, layout, layout, layout, layout, preference, 8,
                                                    results.data(), &count, nullptr) != CUBLAS_STATUS_SUCCESS)
            count = 0;
        results.resize(static_cast<std::size_t>(count));
        return results;
    }
    static std::uint64_t flags(const cublasLtMatmulAlgo_t& algorithm) {
        std::uint64_t value = 0;
        std::size_t written = 0;
        EXPECT_EQ(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &value,
                                                    sizeof value, &written),
                  CUBLAS_STATUS_SUCCESS);
        return value;
    }
    cublasStatus_t matmul(const float* a, float* d, const cublasLtMatmulAlgo_t* algorithm) {
        const float* const b = upload<float>({1});
        return cublasLtMatmul(lt(), descriptor, &one, a, layout, b, layout, &zero, d, layout, d, layout, algorithm,
                              nullptr, 0, nullptr);
    }
    // PyTorch also uses its cuBLAS handle in this way.
    cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle); }

    cublasLtMatmulDesc_t descriptor = nullptr;
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
};

TEST_F(StandInLt, an_algorithm_says_what_it_does_and_does_it) {
    start_lt(CUBLAS_COMPUTE_32F_FAST_TF32);
    const auto results = heuristic();
    ASSERT_EQ(results.size(), 3u);  // two on tensor cores without a workspace, one without tensor cores
    const float value = 1 + 0x1p-20f;
    for (const auto& result : results) {
        float *a = upload<float>({value}), *d = upload<float>({0});
        ASSERT_EQ(matmul(a, d, &result.algo), CUBLAS_STATUS_SUCCESS);
        const bool tf32 = (flags(result.algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) != 0;
        EXPECT_EQ(download(d, 1)[0], tf32 ? 1 : value);
    }
    EXPECT_NE(flags(results[0].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, 0u);
    EXPECT_NE(flags(results[2].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0u);
}

TEST_F(StandInLt, an_algorithm_of_another_compute_type_runs_where_its_format_is_permitted) {
    start_lt(CUBLAS_COMPUTE_32F);
    const auto in_fp32 = heuristic();
    ASSERT_EQ(in_fp32.size(), 1u);
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_TF32);
    const auto in_tf32 = heuristic();
    const float value = 1 + 0x1p-20f;
    float *a = upload<float>({value}), *d = upload<float>({0});
    EXPECT_EQ(matmul(a, d, &in_fp32[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], value);
    cublasLtMatmulHeuristicResult_t checked{};
    EXPECT_EQ(cublasLtMatmulAlgoCheck(lt(), descriptor, layout, layout, layout, layout, &in_fp32[0].algo, &checked),
              CUBLAS_STATUS_INVALID_VALUE);
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_16BF);
    EXPECT_EQ(matmul(a, d, &in_tf32[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], 1);
    set_compute_type(CUBLAS_COMPUTE_32F);
    EXPECT_EQ(matmul(a, d, &in_tf32[0].algo), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(matmul(a, d, &in_fp32[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(matmul(a, d, nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST_F(StandInLt, an_algorithm_of_another_compute_type_is_refused_where_that_is_assumed) {
    set("STAND_IN_ASSUME", "lt_product_by_algorithm_of_another_type=invalid_value");
    start_lt(CUBLAS_COMPUTE_32F);
    const auto results = heuristic();
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_TF32);
    float *a = upload<float>({1}), *d = upload<float>({0});
    EXPECT_EQ(matmul(a, d, &results[0].algo), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(StandInLt, preferences_filter_by_workspace_alignment_and_implementation) {
    start_lt(CUBLAS_COMPUTE_32F_FAST_16BF);
    const std::uint64_t workspace = 1 << 20;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                         sizeof workspace);
    const auto with_workspace = heuristic();
    ASSERT_EQ(with_workspace.size(), 4u);
    EXPECT_GT(with_workspace[0].workspaceSize, 0u);
    float *a = upload<float>({1, 2}), *d = upload<float>({0});
    EXPECT_EQ(matmul(a, d, &with_workspace[0].algo), CUBLAS_STATUS_INVALID_VALUE);  // this call passes no workspace,
                                                                                    // which the algorithm needs

    const std::uint32_t alignment = 4;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                                         sizeof alignment);
    EXPECT_EQ(heuristic().size(), 2u);
    EXPECT_EQ(matmul(a + 1, d, &heuristic()[0].algo), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(matmul(a + 1, d, &with_workspace[1].algo), CUBLAS_STATUS_NOT_SUPPORTED);

    const std::uint64_t mask = ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK};
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, sizeof mask);
    const auto without_tensor_cores = heuristic();
    ASSERT_EQ(without_tensor_cores.size(), 1u);
    EXPECT_NE(flags(without_tensor_cores[0].algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0u);
}

TEST_F(StandInLt, a_copied_descriptor_keeps_its_epilogue_under_another_compute_type) {
    start_lt(CUBLAS_COMPUTE_32F);
    float* const bias = upload<float>({-10});
    const std::uint32_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulDescOpaque_t copy = *descriptor;
    cublasLtMatmulDesc_t const original = std::exchange(descriptor, &copy);
    set_compute_type(CUBLAS_COMPUTE_32F_FAST_TF32);
    float *a = upload<float>({3}), *b = upload<float>({11 + 0x1p-19f}), *d = upload<float>({5});
    EXPECT_EQ(matmul(a, d, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], 0);
    EXPECT_EQ(matmul(b, d, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(d, 1)[0], 1);
    descriptor = original;
}

TEST_F(StandInLt, descriptors_are_initialised_in_56_to_256_bytes) {
    start();
    alignas(16) std::byte space[256];
    auto* const small = reinterpret_cast<cublasLtMatmulDesc_t>(space);
    EXPECT_EQ(cublasLtMatmulDescInit_internal(small, 55, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_ALLOC_FAILED);
    std::memset(space, 0x5a, sizeof space);
    ASSERT_EQ(cublasLtMatmulDescInit_internal(small, 56, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(space[56], std::byte{0x5a});
    const std::int32_t trans = CUBLAS_OP_T;
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, &trans, sizeof trans),
              CUBLAS_STATUS_SUCCESS);
    const void* const scale = nullptr;
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale),
              CUBLAS_STATUS_INVALID_VALUE);
    std::size_t needed = 0;
    EXPECT_EQ(cublasLtMatmulDescGetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 0, &needed),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(needed, sizeof trans);
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(small, CUBLASLT_MATMUL_DESC_TRANSA, &trans, 3),
              CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
