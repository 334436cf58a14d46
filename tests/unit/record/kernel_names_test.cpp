// Tests that names of kernels tell what they should, and that instructions never contradict a name unseen. The names
// in kernel_names.tsv were read from the symbol tables in NVIDIA's libraries.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "record/kernels/judge.hpp"

namespace fp32shim::record::test {
namespace {

using policy::AppliedFormat;
using policy::Dtype;

std::string summary(const KernelJudgement& judgement) {
    if (!judgement.doubt.empty()) return "doubt";
    if (!judgement.multiplies) return "none";
    return std::string(to_string(judgement.dtype)) + ' ' + std::string(to_string(judgement.applied));
}

std::string by_name(std::string_view name) { return summary(judge_kernel({name, std::nullopt})); }

/// Returns the names in a file of names and words, with the words.
std::vector<std::pair<std::string, std::string>> names_in(const std::string& path) {
    std::vector<std::pair<std::string, std::string>> names;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (const std::size_t tab = line.find('\t'); tab != std::string::npos && !line.starts_with('#'))
            names.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    return names;
}

constexpr std::string_view silent = "my_kernel";
constexpr std::string_view tf32_gemm = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_kernel";
constexpr std::string_view fp32_gemm = "ampere_sgemm_128x128_nn";
constexpr std::string_view attention = "_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttentionE";

TEST(KernelNames, tell_what_kernels_of_nvidias_libraries_multiply_in) {
    const auto names = names_in(FP32SHIM_KERNEL_NAMES);
    EXPECT_GT(names.size(), 1000u);
    for (const auto& [name, expected] : names) EXPECT_EQ(by_name(name), expected) << name;
}

TEST(KernelNames, of_float32_kernels_tell_nothing_if_there_is_a_lower_format_in_them) {
    EXPECT_EQ(by_name("ampere_sgemm_128x64_nn"), "float32 fp32");
    EXPECT_EQ(by_name("_Z13gemm_kernel2x2_coreIfLi128EEv"), "float32 fp32");
    for (const char* const name :
         {"ampere_sgemm_tf32_128x64_nn", "volta_sgemm_3xTF32_nn", "_Z13gemm_kernel2x2_tf32_coreIfLi128EEv",
          "sm90_xmma_gemm_f32f32_f32f32_f32_nn_n_bf16x9_kernel", "_ZN8cusparse12sddmm_hmma_kIfffE",
          "_ZN8cusparse5spmm_IfN7cutlass10tfloat32_tEfE"})
        EXPECT_EQ(by_name(name), "doubt") << name;
}

TEST(KernelNames, tell_what_profilers_printed) {
    const auto names = names_in(FP32SHIM_PROFILED_NAMES);
    EXPECT_GT(names.size(), 15u);
    for (const auto& [name, format] : names) {
        const KernelJudgement judgement = judge_kernel({name, std::nullopt});
        const std::string judged = !judgement.multiplies                ? "none"
                                   : judgement.dtype == Dtype::bfloat16 ? "bf16"
                                   : judgement.dtype == Dtype::float16  ? "fp16"
                                   : judgement.applied == AppliedFormat::unchanged
                                       ? "unknown"
                                       : std::string(to_string(judgement.applied));
        // Without its code, a kernel of another library stays unknown. So does a copy, which is no kernel.
        if (format == "none" && judged == "unknown") continue;
        EXPECT_EQ(judged, format) << name;
    }
}

TEST(KernelNames, tell_what_torch_launched_on_an_h200) {
    EXPECT_EQ(
        by_name("_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDataType_t2EEEvNS0_18nchw2"
                "nhwc_params_tIT1_EEPKT_PT0_"),
        "none");
    EXPECT_EQ(by_name("_ZN7cutlass7Kernel2I50cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4EEvNT_6ParamsE"),
              "float32 tf32");
    EXPECT_EQ(
        by_name(
            "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x32_warpgroupsize1x1x1_g1_"
            "execute_segment_k_off_kernel__5x_cudnn"),
        "float32 tf32");
    EXPECT_EQ(by_name("nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT"), "bfloat16 unchanged");
    EXPECT_EQ(by_name("nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT"), "float16 unchanged");
    EXPECT_EQ(
        by_name(
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_"
            "split_k_kernel__5x_cublas"),
        "float32 fp32");
    EXPECT_EQ(
        by_name("_Z6kernelI22getrf_wo_pivot_params_IfLi0ELi256ELi1ELi64ELi64ELi68ELi8ELi1ELi1EEEviiPviS2_iiiiiPi"),
        "float32 fp32");
    EXPECT_EQ(by_name("_Z19xxtrf4_set_info_keriPi"), "none");
    EXPECT_EQ(by_name("_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWIffLb1ELi1EEEvT0_S1_17cudnnTensorStructPKT_S2_PS3_"),
              "none");
    EXPECT_EQ(
        by_name(
            "_Z16gemmSN_TN_kernelIfLi128ELi16ELi2ELi4ELi2ELi2ELb1E30cublasGemvTensorStridedBatchedIKfES2_S0_IfEEv22"
            "cublasGemmSmallNParamsIT7_T8_T9_T_E"),
        "float32 fp32");
    EXPECT_EQ(
        by_name(
            "_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionKernelIfN7cutlass4arch4"
            "Sm80ELb1ELi64ELi64ELi64ELb1ELb1EE6ParamsE"),
        "float32 tf32x3");
    EXPECT_EQ(by_name("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_"
                      "warpsize2x2x1_g1_"
                      "tensor16x8x8_alignc4_execute_kernel__5x_cudnn"),
              "float32 tf32");
    EXPECT_EQ(
        by_name(
            "_Z23implicit_convolve_sgemmIffLi1024ELi5ELi5ELi3ELi3ELi3ELi1ELb0ELb0ELb1EEviiiPKT_iPT0_S2_18kernel_conv_"
            "paramsyiffiPKS3_S7_bbii"),
        "float32 fp32");
    EXPECT_EQ(by_name("_Z24RNN_blockPersist_fp_LSTMIfffLi64EEvPKT_PT0_S2_PS0_S2_S5_S5_PKS3_S2_S5_iiiiii"),
              "float32 fp32");
    EXPECT_EQ(by_name("_Z15regular_fft_r2cILj512E3EPTIJLj8EEELj2ELj12EL9padding_t6EfEv18kernel_arguments_tIjE"),
              "none");
    EXPECT_EQ(by_name("triton_poi_fused_add_relu_0"), "none");
    EXPECT_EQ(by_name("triton_tem_fused_mm_0"), "doubt");
}

TEST(KernelNames, are_not_taken_for_others_that_look_alike) {
    // TF32 is among the types, but the operands are narrower.
    EXPECT_EQ(by_name("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1"), "bfloat16 unchanged");
    EXPECT_EQ(by_name("ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_stages_32x1_nn"), "bfloat16 unchanged");
    EXPECT_EQ(by_name("turing_s1688gemm_fp16_128x128_ldg8_nn"), "float16 unchanged");
    // The operands are half, although they are multiplied in float.
    EXPECT_EQ(by_name("ampere_sgemm_fp16_128x128_nn"), "float16 unchanged");
    EXPECT_EQ(by_name("sm80_xmma_gemm_f16f16_f32f32_f32_nn_n_tilesize64x64x8_stage3_ffma_kernel"),
              "float16 unchanged");
    // CUTLASS itself calls TF32 s1688tf32gemm, and 3xTF32 s1688gemm; cuBLAS calls TF32 s1688gemm.
    EXPECT_EQ(by_name("cutlass_tensorop_s1688tf32gemm_256x128_16x3_nn_align4"), "float32 tf32");
    EXPECT_EQ(by_name("cutlass_tensorop_s1688gemm_256x128_16x3_nn_align4"), "doubt");
    EXPECT_EQ(by_name("_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS_10tfloat32_tENS_4arch20OpMultiplyAddFastF32EEE"),
              "float32 tf32x3");
    EXPECT_EQ(by_name("_ZN7cutlass6KernelINS_4gemm6kernel7EllGemmINS_10tfloat32_tENS_4arch13OpMultiplyAddEEE"),
              "float32 tf32");
    // A kernel of unknown origin with operands of TF32. It may compute three products of them, as 3xTF32 does.
    EXPECT_EQ(by_name("_Z9my_kernelIN7cutlass10tfloat32_tEEvv"), "doubt");
    // cuTENSOR emulates float by parts of half.
    EXPECT_EQ(by_name("cutlass3x_sm100_tensorop_s128x128x32emulated_gemm_f16_f16_f32_f32_128x128x32_1x1x1_tnn"),
              "doubt");
    // Operands of float that are multiplied as half.
    EXPECT_EQ(by_name("cutlass_sm70_tensorop_s884f16gett_f32_iden_f32_iden_f32_f32_f32_128x128x32_ttt_align1"),
              "float32 fp16");
    EXPECT_EQ(by_name("_Z24RNN_blockPersist_fp_LSTMIf6__halffLi64EEvPKT_PT0_"), "doubt");
    EXPECT_EQ(by_name("_Z29RNN_blockPersist_fp_LSTM_HMMAIfffLi1ELi96EEvPKT_PT0_"), "doubt");
    // The letters alone do not tell TF32 from BF16x9.
    EXPECT_EQ(by_name("nvjet_sm120_sss_tf32_mma_32x64x32_3_16x32x32_tmaAB_bz_TNNN"), "float32 tf32");
    EXPECT_EQ(by_name("nvjet_sm100_sss_128x256_32x4_2x1_2cta_v_bz_TNN"), "doubt");
    EXPECT_EQ(by_name("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_bias_TNT"), "float8 unchanged");
    EXPECT_EQ(by_name(""), "doubt");
    EXPECT_EQ(by_name(std::string(100'000, '*')), "doubt");
}

TEST(KernelNames, of_pytorchs_attention_tell_3xtf32_from_sm_80_on) {
    EXPECT_EQ(by_name("_Z42fmha_cutlassB_f32_aligned_64x64_k32_sm80N22PyTorchE"), "float32 tf32x3");
    EXPECT_EQ(by_name("_Z42fmha_cutlassB_f32_aligned_64x64_k32_sm75N22PyTorchE"), "float32 fp32");
    EXPECT_EQ(by_name("_Z43fmha_cutlassB_bf16_aligned_64x64_k32_sm80N22PyTorchE"), "bfloat16 unchanged");
    EXPECT_EQ(by_name("_Z42fmha_cutlassF_f16_aligned_64x64_rf_sm80N22PyTorchE"), "float16 unchanged");
}

TEST(KernelInstructions, without_tensor_cores_below_fp32_are_fp32) {
    EXPECT_EQ(summary(judge_kernel({silent, TensorFormats{0}})), "float32 fp32");
    EXPECT_EQ(summary(judge_kernel({silent, tensor_fp64})), "float32 fp32");
}

TEST(KernelInstructions, of_tensor_cores_are_a_doubt_with_their_formats) {
    const auto doubt = [](TensorFormats formats) { return judge_kernel({silent, formats}).doubt; };
    EXPECT_EQ(doubt(tensor_tf32), "has TF32 instructions, so it multiplies in TF32 or in 3×TF32");
    EXPECT_EQ(doubt(tensor_tf32 | tensor_fp64), doubt(tensor_tf32));
    EXPECT_EQ(doubt(tensor_bf16), "has BF16 instructions: whether its operands are float32 is not known");
    EXPECT_EQ(
        doubt(127),
        "has FP16, BF16, TF32, FP8, integer and unknown instructions: whether its operands are float32 is not known");
    for (int formats = 0; formats < 256; ++formats) {
        const KernelJudgement judgement = judge_kernel({silent, static_cast<TensorFormats>(formats)});
        EXPECT_EQ(judgement.applied == AppliedFormat::unchanged,
                  (formats & 63 & ~tensor_fp64) != 0 || (formats & 64) != 0);
        EXPECT_EQ(judgement.applied == AppliedFormat::unchanged, !judgement.doubt.empty());
    }
}

TEST(KernelInstructions, agree_with_the_name_or_are_a_doubt) {
    const auto both = [](std::string_view name, TensorFormats formats) {
        return summary(judge_kernel({name, formats}));
    };
    EXPECT_EQ(both(tf32_gemm, tensor_tf32), "float32 tf32");
    EXPECT_EQ(both(tf32_gemm, tensor_unknown), "float32 tf32");
    EXPECT_EQ(both(tf32_gemm, 0), "doubt");
    EXPECT_EQ(both(tf32_gemm, tensor_tf32 | tensor_bf16), "doubt");
    EXPECT_EQ(both(attention, tensor_tf32), "float32 tf32x3");
    EXPECT_EQ(both(fp32_gemm, 0), "float32 fp32");
    EXPECT_EQ(both(fp32_gemm, tensor_tf32), "doubt");
    EXPECT_EQ(both(fp32_gemm, tensor_unknown), "doubt");
    EXPECT_EQ(both("nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT", tensor_bf16), "bfloat16 unchanged");
    EXPECT_EQ(both("nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT", tensor_fp16), "doubt");
    EXPECT_EQ(both("triton_poi_fused_add_relu_0", 0), "none");
    EXPECT_EQ(both("triton_poi_fused_add_relu_0", tensor_tf32), "doubt");
    EXPECT_EQ(judge_kernel({fp32_gemm, tensor_tf32}).doubt,
              "has no tensor-core format by its name, but by its instructions");
    EXPECT_EQ(judge_kernel({tf32_gemm, tensor_fp8}).doubt, "has another format by its name than by its instructions");
}

TEST(LibrariesOfNvidia, are_known_by_their_file_names) {
    for (const char* name :
         {"libcublas.so.13", "libcublasLt.so.12", "libcublas-1a2b3c4d.so.12.6", "libcudnn.so.9", "libcudnn_ops.so.9",
          "libcudnn_engines_precompiled.so.9", "libcufft.so", "libcusparseLt.so.0", "libcusolverMg.so.12",
          "libnccl.so.2", "libcurand.so.10", "libcutensor.so.2", "libnvJitLink.so.13", "libnvrtc-builtins.so.13.2",
          "libnvshmem_host.so.3", "libnppial.so.13", "libnvinfer_plugin.so.10", "libcuda.so.1",
          "libcublasLt-f6acd947.so.13.4.1.3"})
        EXPECT_TRUE(is_nvidia_library(name)) << name;
    for (const char* name : {"libcudart.so.13", "libcudart-0a1b2c3d.so.12.6", "libtorch_cuda.so", "libcublasmine.so",
                             "libcu.so", "cublas.so", "libcudaq.so", "", "libcuvs.so"})
        EXPECT_FALSE(is_nvidia_library(name)) << name;
}

}  // namespace
}  // namespace fp32shim::record::test
