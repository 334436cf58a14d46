// Tests that the stand-in of cuBLAS rounds, computes and refuses as documented.
#include <cublasXt.h>

#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "stand_in_fixture.hpp"

extern "C" {
// Declared again, since cublas.h cannot be included: it excludes cublas_v2.h, which gives this name to the newer
// function.
cublasStatus_t cublasInit();
cublasStatus_t cublasGetError();
void legacy_sgemm(char, char, int, int, int, float, const float*, int, const float*, int, float, float*,
                  int) __asm__("cublasSgemm");
}

namespace {

constexpr float tf32_unit = 0x1p-10f;

// ---- rounding

TEST_F(StandIn, the_default_mode_is_fp32) {
    start();
    EXPECT_EQ(through_sgemm(1 + 0x1p-23f), 1 + 0x1p-23f);
}

TEST_F(StandIn, tf32_mode_rounds_ties_away_from_zero_before_9_0) {
    set("STAND_IN_COMPUTE_CAPABILITY", "8.6");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 2), 1 + tf32_unit);
    EXPECT_EQ(through_sgemm(1 + 3 * tf32_unit / 2), 1 + 2 * tf32_unit);
    EXPECT_EQ(through_sgemm(-1 - tf32_unit / 2), -1 - tf32_unit);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 4), 1);
}

TEST_F(StandIn, tf32_mode_rounds_ties_to_even_from_9_0_on) {
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + tf32_unit / 2), 1);
    EXPECT_EQ(through_sgemm(1 + 3 * tf32_unit / 2), 1 + 2 * tf32_unit);
}

TEST_F(StandIn, nvidia_tf32_override_turns_tf32_off_and_leaves_the_narrower_types) {
    set("NVIDIA_TF32_OVERRIDE", "0");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(1 + 0x1p-20f), 1 + 0x1p-20f);
    for (const auto type : {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF})
        EXPECT_EQ(through_gemm_ex(1 + tf32_unit + 0x1p-20f, type), 1 + tf32_unit);
}

TEST_F(StandIn, fast_types_are_not_used_where_they_are_ignored) {
    set("STAND_IN_FAST", "ignored");
    start();
    for (const auto type : {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32})
        EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, type), 1 + 0x1p-20f);
}

TEST_F(StandIn, the_narrower_compute_types_round_to_tf32) {
    start();
    for (const auto type : {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF}) {
        EXPECT_EQ(through_gemm_ex(1 + tf32_unit + 0x1p-20f, type), 1 + tf32_unit);
        EXPECT_EQ(through_gemm_ex(70016, type), 70016);
    }
}

TEST_F(StandIn, compute_types_round_to_the_formats_they_name_where_that_is_assumed) {
    set("STAND_IN_ASSUME", "fast_16f=fp16,fast_16bf=bf16");
    start();
    const float value = 1 + 0x1p-7f + 0x1p-10f + 0x1p-20f;
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F), value);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_PEDANTIC), value);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_FAST_TF32), 1 + 0x1p-7f + 0x1p-10f);
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F_FAST_16BF), 1 + 0x1p-7f);
    EXPECT_EQ(through_gemm_ex(70000, CUBLAS_COMPUTE_32F_FAST_16F), std::numeric_limits<float>::infinity());
    EXPECT_EQ(through_gemm_ex(0x1p-24f, CUBLAS_COMPUTE_32F_FAST_16F), 0x1p-24f);
    EXPECT_EQ(through_gemm_ex(0x1p-26f, CUBLAS_COMPUTE_32F_FAST_16F), 0);
}

TEST_F(StandIn, an_algorithm_for_tensor_cores_has_no_effect_from_8_0_on) {
    start();
    const float value = 1 + 0x1p-20f;
    EXPECT_EQ(through_gemm_ex(value, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP), value);
}

TEST_F(StandIn, an_algorithm_for_tensor_cores_allows_half_precision_before_8_0) {
    set("STAND_IN_COMPUTE_CAPABILITY", "7.5");
    start();
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP), 1);
}

TEST_F(StandIn, tf32_is_cut_off_where_that_is_assumed) {
    set("STAND_IN_ASSUME", "tf32_ties_from_9_0=truncate");
    start();
    EXPECT_EQ(through_gemm_ex(1 + 3 * tf32_unit / 4, CUBLAS_COMPUTE_32F_FAST_TF32), 1);
    EXPECT_EQ(through_gemm_ex(-1 - 3 * tf32_unit / 4, CUBLAS_COMPUTE_32F_FAST_TF32), -1);
}

TEST_F(StandIn, modes_that_no_header_names_are_refused_unless_that_is_assumed) {
    start();
    for (int mode : {5, 6, 7, 32})
        EXPECT_EQ(cublasSetMathMode(handle, cublasMath_t(mode)), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(StandIn, modes_that_no_header_names_allow_what_their_bits_do) {
    set("STAND_IN_ASSUME", "math_mode_combinations=accepted");
    start();
    for (int mode : {5, 7, 32}) {
        EXPECT_EQ(cublasSetMathMode(handle, cublasMath_t(mode)), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(through_sgemm(1 + 0x1p-20f), 1) << mode;
        EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F), 1) << mode;
    }
}

TEST_F(StandIn, fast_products_lack_memory_where_that_is_asked_for) {
    set("STAND_IN_FAST", "no_memory");
    start();
    through_gemm_ex(1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT, CUBLAS_STATUS_ALLOC_FAILED);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F), 1 + 0x1p-20f);
}

TEST_F(StandIn, compute_32f_on_a_tf32_handle_follows_its_row) {
    set("STAND_IN_ASSUME", "compute_32f_on_tf32_handle=no");
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F), 1 + 0x1p-20f);
    EXPECT_EQ(through_sgemm(1 + 0x1p-20f), 1);
}

TEST_F(StandIn, older_devices_compute_in_fp32) {
    set("STAND_IN_COMPUTE_CAPABILITY", "7.5");
    start();
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_TF32), 1 + 0x1p-20f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_16BF), 1 + 0x1p-20f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-20f, CUBLAS_COMPUTE_32F_FAST_16F), 1);
}

TEST_F(StandIn, bf16x9_loses_only_what_three_bfloat16_cannot_hold) {
    set("STAND_IN_COMPUTE_CAPABILITY", "10.0");
    start();
    const float tiny = 0x1p-120f * (1 + 0x1p-23f);
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-23f, CUBLAS_COMPUTE_32F_EMULATED_16BFX9), 1 + 0x1p-23f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F_EMULATED_16BFX9), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F), tiny);
}

TEST_F(StandIn, emulation_by_environment_reaches_default_math_and_not_pedantic) {
    set("STAND_IN_COMPUTE_CAPABILITY", "10.3");
    set("CUBLAS_EMULATE_SINGLE_PRECISION", "1");
    start();
    const float tiny = 0x1p-120f * (1 + 0x1p-23f);
    EXPECT_EQ(through_sgemm(tiny), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F), 0x1p-120f);
    EXPECT_EQ(through_gemm_ex(tiny, CUBLAS_COMPUTE_32F_PEDANTIC), tiny);
}

TEST_F(StandIn, bf16x9_is_fp32_on_devices_without_it) {
    start();
    EXPECT_EQ(through_gemm_ex(1 + 0x1p-23f, CUBLAS_COMPUTE_32F_EMULATED_16BFX9), 1 + 0x1p-23f);
}

TEST_F(StandIn, bf16x9_is_refused_on_devices_without_it_where_that_is_assumed) {
    set("STAND_IN_ASSUME", "bf16x9_compute_type_elsewhere=refused");
    start();
    through_gemm_ex(1, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUBLAS_GEMM_DEFAULT, CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(StandIn, float64_and_halves_are_left_as_they_are_in_tf32_mode) {
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    const double alpha = 1, beta = 0, value = 1 + 0x1p-50;
    double *a = upload<double>({value}), *b = upload<double>({1}), *c = upload<double>({0});
    ASSERT_EQ(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, b, 1, &beta, c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], value);
    std::uint16_t *ah = upload<std::uint16_t>({0x3c01}), *bh = upload<std::uint16_t>({0x3c00});
    float* cf = upload<float>({0});
    ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, ah, CUDA_R_16F, 1, bh, CUDA_R_16F, 1,
                           &zero, cf, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(cf, 1)[0], 1 + 0x1p-10f);
}

// ---- level 3

TEST_F(StandIn, tf32_mode_reaches_the_products_inside_a_solve_and_not_rank_k_updates) {
    start();
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    const float value = 1 + 0x1p-20f;
    float *a = upload<float>({1, value, 0, 1}), *b = upload<float>({1, 0}), *c = upload<float>({0});
    ASSERT_EQ(cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 1, 1, &one, a + 1, 1, &zero, c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], value * value);
    ASSERT_EQ(cublasSsymm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 1, 1, &one, a + 1, 1, b, 1, &zero, c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], value);
    ASSERT_EQ(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 1, &one,
                          a, 2, b, 2),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(b, 2)[1], -1);
}

TEST_F(StandIn, tensor_op_mode_reaches_real_products_and_not_complex_ones) {
    start();
    const cuComplex number = {1 + 0x1p-20f, 0}, unit = {1, 0}, nothing = {0, 0};
    cuComplex *a = upload<cuComplex>({number}), *b = upload<cuComplex>({unit}), *c = upload<cuComplex>({nothing});
    const auto through_cgemm = [&] {
        EXPECT_EQ(cublasCgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &unit, a, 1, b, 1, &nothing, c, 1),
                  CUBLAS_STATUS_SUCCESS);
        return download(c, 1)[0].x;
    };
    cublasSetMathMode(handle, CUBLAS_TENSOR_OP_MATH);
    EXPECT_EQ(through_sgemm(number.x), 1);
    EXPECT_EQ(through_cgemm(), number.x);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    EXPECT_EQ(through_cgemm(), 1);
}

TEST_F(StandIn, gauss_forms_of_syrk_refuse_pedantic_mode_and_empty_sums) {
    start();
    const cuComplex unit = {1, 0};
    cuComplex *a = upload<cuComplex>({unit}), *c = upload<cuComplex>({unit});
    const auto syrk = [&](int k) {
        return cublasCsyrk3mEx(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 1, k, &unit, a, CUDA_C_32F, 1, &unit, c,
                               CUDA_C_32F, 1);
    };
    const auto herk = [&](int k) {
        return cublasCherk3mEx(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 1, k, &one, a, CUDA_C_32F, 1, &one, c,
                               CUDA_C_32F, 1);
    };
    for (const auto mode : {CUBLAS_DEFAULT_MATH, CUBLAS_PEDANTIC_MATH}) {
        cublasSetMathMode(handle, mode);
        const auto expected = mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
        EXPECT_EQ(syrk(1), expected);
        EXPECT_EQ(herk(1), expected);
        EXPECT_EQ(syrk(0), CUBLAS_STATUS_NOT_SUPPORTED);
        EXPECT_EQ(herk(0), CUBLAS_STATUS_NOT_SUPPORTED);
        EXPECT_EQ(cublasCsyrkEx(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 1, 0, &unit, a, CUDA_C_32F, 1, &unit, c,
                                CUDA_C_32F, 1),
                  CUBLAS_STATUS_SUCCESS);
    }
}

/// Returns a handle of cublasXt for the first device; nullptr: it cannot be made.
cublasXtHandle_t xt_of_first_device() {
    cublasXtHandle_t xt = nullptr;
    int device = 0;
    if (cublasXtCreate(&xt) != CUBLAS_STATUS_SUCCESS) return nullptr;
    return cublasXtDeviceSelect(xt, 1, &device) == CUBLAS_STATUS_SUCCESS ? xt : nullptr;
}

TEST_F(StandIn, xt_leaves_c_as_it_is_where_nothing_is_summed) {
    start();
    const cublasXtHandle_t xt = xt_of_first_device();
    ASSERT_NE(xt, nullptr);
    float a = 2, c = 5;
    EXPECT_EQ(cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 0, &one, &a, 1, &a, 1, &zero, &c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasXtSsyrk(xt, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 1, 0, &one, &a, 1, &zero, &c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(c, 5);
    cublasXtDestroy(xt);
}

TEST_F(StandIn, trsm_undoes_trmm_on_either_side) {
    start();
    const int n = 5;
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; ++i) {
        a[i] = std::sin(1.0f + i) + (i % (n + 1) == 0 ? 4.0f : 0.0f);
        b[i] = std::cos(2.0f * i);
    }
    float *da = upload(a), *db = upload(b), *dc = upload(b);
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
        for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
            for (const auto trans : {CUBLAS_OP_N, CUBLAS_OP_T}) {
                ASSERT_EQ(
                    cublasStrmm(handle, side, fill, trans, CUBLAS_DIAG_NON_UNIT, n, n, &one, da, n, db, n, dc, n),
                    CUBLAS_STATUS_SUCCESS);
                ASSERT_EQ(cublasStrsm(handle, side, fill, trans, CUBLAS_DIAG_NON_UNIT, n, n, &one, da, n, dc, n),
                          CUBLAS_STATUS_SUCCESS);
                const auto solved = download(dc, b.size());
                for (int i = 0; i < n * n; ++i) EXPECT_NEAR(solved[i], b[i], 1e-5) << side << fill << trans;
            }
        }
    }
}

TEST_F(StandIn, syrk_writes_one_triangle_of_the_product_that_gemm_gives) {
    start();
    const int n = 4, k = 3;
    std::vector<float> a(n * k), c(n * n, 9);
    std::iota(a.begin(), a.end(), 1.0f);
    float *da = upload(a), *dc = upload(c), *full = upload(c);
    ASSERT_EQ(cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one, da, n, &zero, dc, n),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, k, &one, da, n, da, n, &zero, full, n),
              CUBLAS_STATUS_SUCCESS);
    const auto triangle = download(dc, c.size()), product = download(full, c.size());
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) EXPECT_EQ(triangle[j * n + i], i >= j ? product[j * n + i] : 9);
}

TEST_F(StandIn, cherk_conjugates_and_leaves_a_real_diagonal) {
    start();
    const cuComplex i_plus = {0, 1};
    cuComplex *a = upload<cuComplex>({{1, 2}, i_plus}), *c = upload<cuComplex>({{0, 5}, {0, 0}, {0, 0}, {0, 5}});
    ASSERT_EQ(cublasCherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 1, &one, a, 2, &one, c, 2),
              CUBLAS_STATUS_SUCCESS);
    const auto result = download(c, 4);
    EXPECT_EQ(result[0].x, 5);
    EXPECT_EQ(result[0].y, 0);
    // The expected element is i * conj(1 + 2i).
    EXPECT_EQ(result[1].x, 2);
    EXPECT_EQ(result[1].y, 1);
}

TEST_F(StandIn, xt_multiplies_host_memory_and_legacy_reports_errors_afterwards) {
    start();
    const cublasXtHandle_t xt = xt_of_first_device();
    ASSERT_NE(xt, nullptr);
    float a = 2, b = 3, c = 0;
    ASSERT_EQ(cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(c, 6);
    EXPECT_EQ(cublasXtDestroy(xt), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasXtDestroy(xt), CUBLAS_STATUS_NOT_INITIALIZED);

    float *da = upload<float>({2}), *dc = upload<float>({0});
    legacy_sgemm('N', 'N', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_NOT_INITIALIZED);
    ASSERT_EQ(cublasInit(), CUBLAS_STATUS_SUCCESS);
    legacy_sgemm('?', 'N', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
    legacy_sgemm('n', 'T', 1, 1, 1, 1, da, 1, da, 1, 0, dc, 1);
    EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(download(dc, 1)[0], 4);
}

// ---- refusals

TEST_F(StandIn, arguments_that_the_reference_forbids_are_refused) {
    start();
    float* a = upload<float>(std::vector<float>(16));
    const auto call = [&](cublasHandle_t h, int trans, int m, int lda) {
        return cublasSgemm(h, static_cast<cublasOperation_t>(trans), CUBLAS_OP_N, m, 2, 2, &one, a, lda, a, 2, &zero,
                           a, 4);
    };
    EXPECT_EQ(call(nullptr, CUBLAS_OP_N, 2, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(call(handle, 17, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, -1, 2), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 2, 1), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 0, 2), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSetMathMode(handle, static_cast<cublasMath_t>(7)), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a, CUDA_R_16F, 1, &zero,
                           a, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1, a, CUDA_R_32F, 1, &zero,
                           a, CUDA_R_32F, 1, static_cast<cublasComputeType_t>(1234), CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call(handle, CUBLAS_OP_N, 2, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(StandIn, grouped_batches_take_three_compute_types_and_host_scalars) {
    start();
    float *a = upload<float>({2, 0, 0, 0, 3}), *c = upload<float>({0, 0, 0, 0, 0});
    float** const as = upload<float*>({a, a + 4});
    float** const cs = upload<float*>({c, c + 4});
    const cublasOperation_t trans[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    const int ones[] = {1, 1};
    const float alphas[] = {1, 10}, betas[] = {0, 0};
    const auto call = [&](cublasComputeType_t type) {
        return cublasGemmGroupedBatchedEx(handle, trans, trans, ones, ones, ones, alphas, (const void* const*)as,
                                          CUDA_R_32F, ones, (const void* const*)as, CUDA_R_32F, ones, betas,
                                          (void* const*)cs, CUDA_R_32F, ones, 2, ones, type);
    };
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
    const auto result = download(c, 5);
    EXPECT_EQ(result[0], 4);
    EXPECT_EQ(result[4], 90);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F_FAST_TF32), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F_FAST_16BF), CUBLAS_STATUS_NOT_SUPPORTED);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    EXPECT_EQ(call(CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(StandIn, an_unaligned_pointer_in_an_array_is_a_misaligned_access_in_fast_modes_only) {
    start();
    float *a = upload<float>({2, 3}), *c = upload<float>({0});
    float** const as = upload<float*>({a + 1});
    float** const cs = upload<float*>({c});
    const auto call = [&] {
        return cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, as, 1, as, 1, &zero, cs, 1, 1);
    };
    ASSERT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download(c, 1)[0], 9);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    ASSERT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
    EXPECT_EQ(call(), CUBLAS_STATUS_EXECUTION_FAILED);
}

// ---- threads

TEST_F(StandIn, threads_with_handles_of_their_own_do_not_mix_modes) {
    start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            cuCtxSetCurrent(context);
            cublasHandle_t own = nullptr;
            ASSERT_EQ(cublasCreate(&own), CUBLAS_STATUS_SUCCESS);
            CUstream stream = nullptr;
            ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
            cublasSetStream(own, reinterpret_cast<cudaStream_t>(stream));
            const bool tf32 = t % 2 == 0;
            cublasSetMathMode(own, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
            const float value = 1 + 0x1p-20f;
            float *a = upload<float>({value}), *b = upload<float>({1}), *c = upload<float>({0});
            for (int i = 0; i < 50; ++i) {
                cublasSgemm(own, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1);
                ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
                ASSERT_EQ(download(c, 1)[0], tf32 ? 1 : value);
            }
            cublasDestroy(own);
        });
    }
    for (auto& thread : threads) thread.join();
}

}  // namespace
