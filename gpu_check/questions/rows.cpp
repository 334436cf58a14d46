// Turns measurements into the rows of tests/cublas/stand_in/semantics.def.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "gpu_check/questions/questions.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr const char* emulated = "fp64_emulated";

class Conclusions {
  public:
    explicit Conclusions(const Findings& findings) : findings_(findings) {}

    std::string measured(const std::string& name) const { return findings_.lowest(name); }
    /// Returns the rounding rules of lowered products. Products that were refused, or not lowered, are left out.
    std::string rounding_rules(const std::string& name) const {
        std::set<std::string> rules;
        for (const std::string& rule : findings_.all(name)) {
            if (rule != "kept" && rule != "refused") rules.insert(rule);
        }
        std::string result;
        for (const std::string& rule : rules) result += (result.empty() ? "" : "+") + rule;
        return result.empty() ? findings_.distinct(name) : result;
    }

    void add(std::string row, std::string answer, std::string because) {
        answers.push_back({std::move(row), std::move(answer), std::move(because)});
    }

    /// Adds the answer "yes" if all of these products ran below float32, "no" if none did, and "mixed" otherwise.
    void add_lowered(const std::string& row, std::initializer_list<const char*> names) {
        std::set<std::string> verdicts;
        std::string because;
        for (const char* name : names) {
            const std::string format = measured(name);
            if (is_format(format)) verdicts.insert(format == "fp32" ? "no" : "yes");
            because += (because.empty() ? "" : ", ") + std::string(name) + " " + format;
        }
        add(row, verdicts.empty() ? "?" : verdicts.size() == 1 ? *verdicts.begin() : "mixed", because);
    }

    /// Adds an answer: did the first product run at the format of the second? If both ran at float32, the answer is
    /// "?".
    void add_same(const std::string& row, const char* left, const char* right) {
        add(row,
            !is_format(measured(left)) || !is_format(measured(right)) || measured(right) == "fp32" ? "?"
            : measured(left) == measured(right)                                                    ? "yes"
                                                                                                   : "no",
            std::string(left) + " " + measured(left) + ", " + right + " " + measured(right));
    }

    std::vector<Answer> answers;

  private:
    const Findings& findings_;
};

/// The device that was measured. If its compute capability is not known (the section `machine` was left out, or
/// failed), the device is neither below a capability nor from it on, and rows about certain devices have no answer.
struct MeasuredDevice {
    std::optional<int> compute_capability;  ///< 10·major + minor

    bool is_below(int capability) const { return compute_capability && *compute_capability < capability; }
    bool is_from(int capability) const { return compute_capability && *compute_capability >= capability; }
    /// Returns why a row has no answer: `why`, or that the device is not known.
    const char* unlike(const char* why) const {
        return compute_capability ? why : "the compute capability of this device is not known";
    }
};

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

void conclude_math_modes(Conclusions& conclusions) {
    conclusions.add_lowered("sgemm_honours_math_mode",
                            {"mode_sgemm_tf32", "mode_sgemm_strided_batched_tf32", "mode_sgemm_batched_tf32"});
    conclusions.add_lowered("sgemm_grouped_honours_math_mode", {"mode_sgemm_grouped_batched_tf32"});
    conclusions.add_lowered("sgemm_ex_honours_math_mode", {"mode_sgemm_ex_tf32"});
    conclusions.add_lowered("cgemm_honours_math_mode", {"mode_cgemm_tf32", "mode_cgemm_strided_batched_tf32",
                                                        "mode_cgemm_batched_tf32", "mode_cgemm_ex_tf32"});
    conclusions.add_lowered("cgemm3m_honours_math_mode",
                            {"mode_cgemm3m_tf32", "mode_cgemm3m_ex_tf32", "mode_cgemm3m_batched_tf32",
                             "mode_cgemm3m_strided_batched_tf32"});
    conclusions.add_lowered("symm_honours_math_mode", {"mode_ssymm_tf32", "mode_csymm_tf32", "mode_chemm_tf32"});
    conclusions.add_lowered("syrk_honours_math_mode", {"mode_ssyrk_tf32", "mode_csyrk_tf32", "mode_cherk_tf32"});
    conclusions.add_lowered("syrk_ex_honours_math_mode", {"mode_csyrk_ex_tf32", "mode_csyrk3m_ex_tf32",
                                                          "mode_cherk_ex_tf32", "mode_cherk3m_ex_tf32"});
    conclusions.add_lowered("syr2k_honours_math_mode", {"mode_ssyr2k_tf32", "mode_csyr2k_tf32", "mode_cher2k_tf32"});
    conclusions.add_lowered("syrkx_honours_math_mode", {"mode_ssyrkx_tf32", "mode_csyrkx_tf32", "mode_cherkx_tf32"});
    conclusions.add_lowered("trmm_honours_math_mode", {"mode_strmm_tf32", "mode_ctrmm_tf32"});
    conclusions.add_lowered("trsm_honours_math_mode", {"mode_strsm_tf32", "mode_ctrsm_tf32",
                                                       "mode_strsm_batched_tf32", "mode_ctrsm_batched_tf32"});
    conclusions.add_lowered("tensor_op_mode_reaches_complex",
                            {"mode_cgemm_tensor_op", "mode_cgemm3m_tensor_op", "mode_ctrsm_tensor_op"});
    const std::string of_3m = conclusions.measured("mode_csyrk3m_ex_pedantic");
    conclusions.add("pedantic_mode_of_syrk_3m",
                    of_3m == not_measured ? "?"
                    : is_format(of_3m)    ? "accepted"
                                          : "refused",
                    "mode_csyrk3m_ex_pedantic " + of_3m);
}

void conclude_compute_types(Conclusions& conclusions, const MeasuredDevice& device) {
    conclusions.add_lowered("compute_32f_on_tf32_handle", {"gemm_ex_32f_tf32"});
    conclusions.add_lowered("compute_32f_on_tensor_op_handle", {"gemm_ex_32f_tensor_op"});
    // The row asks if the mode overrides the compute type. So "yes" means that the product was not lowered.
    const std::string tf32 = conclusions.measured("gemm_ex_fast_tf32_pedantic");
    const std::string bf16 = conclusions.measured("gemm_ex_fast_16bf_pedantic");
    const std::string plain = conclusions.measured("gemm_ex_fast_tf32_default");
    const bool permitted = is_format(plain) && plain != "fp32" && is_format(tf32) && is_format(bf16);
    conclusions.add("pedantic_mode_overrides_fast_types",
                    !permitted                         ? "?"
                    : tf32 == "fp32" && bf16 == "fp32" ? "yes"
                    : tf32 != "fp32" && bf16 != "fp32" ? "no"
                                                       : "mixed",
                    "32F_FAST_TF32 " + tf32 + ", 32F_FAST_16BF " + bf16);
    conclusions.add_same("tensor_op_mode_is_fast_16f", "mode_sgemm_tensor_op", "gemm_ex_fast_16f_default");
    if (device.is_from(80)) {
        conclusions.add_lowered("tensor_op_algorithm_from_8_0",
                                {"gemm_ex_32f_algo99_default", "gemm_ex_32f_pedantic_algo99_default"});
    } else {
        conclusions.add("tensor_op_algorithm_from_8_0", "?", device.unlike("this device is older"));
    }
    if (!device.is_below(80)) {
        for (const char* row : {"tensor_op_algorithm_is_fast_16f", "tensor_op_algorithm_under_pedantic"})
            conclusions.add(row, "?", device.unlike("this device is newer"));
    } else {
        conclusions.add_same("tensor_op_algorithm_is_fast_16f", "gemm_ex_32f_algo99_default",
                             "gemm_ex_fast_16f_default");
        conclusions.add_lowered("tensor_op_algorithm_under_pedantic", {"gemm_ex_32f_pedantic_algo99_default"});
    }
    conclusions.add("fast_16f", conclusions.measured("gemm_ex_fast_16f_default"), "cublasGemmEx, DEFAULT mode");
    conclusions.add("fast_16bf", conclusions.measured("gemm_ex_fast_16bf_default"), "cublasGemmEx, DEFAULT mode");
    for (const auto& [row, is_of_this_device] :
         {std::pair{"tf32_ties", device.is_below(90)}, {"tf32_ties_from_9_0", device.is_from(90)}}) {
        conclusions.add(
            row, is_of_this_device ? conclusions.rounding_rules("tf32_ties") : "?",
            is_of_this_device ? "1 + 2^-11 and 1 + 3*2^-11 times 1" : device.unlike("this device is another one"));
    }
    conclusions.add("math_mode_combinations", "?", "not asked: a handle may not survive it");
}

void conclude_override(Conclusions& conclusions) {
    conclusions.add("tf32_override_off", conclusions.measured("NVIDIA_TF32_OVERRIDE=0/fast_tf32"),
                    "cublasGemmEx 32F_FAST_TF32");
    const std::string without = conclusions.measured("gemm_ex_fast_16bf_default");
    const std::string with = conclusions.measured("NVIDIA_TF32_OVERRIDE=0/fast_16bf");
    conclusions.add("tf32_override_covers_fast_16bf",
                    !is_format(with) || without == "fp32" ? "?"
                    : with == "fp32"                      ? "yes"
                                                          : "no",
                    "cublasGemmEx 32F_FAST_16BF: " + without + ", with the override " + with);
    conclusions.add_lowered("tf32_override_on", {"NVIDIA_TF32_OVERRIDE=1/sgemm", "NVIDIA_TF32_OVERRIDE=1/32f",
                                                 "NVIDIA_TF32_OVERRIDE=1/lt_32f"});
    if (conclusions.answers.back().answer == "yes")
        conclusions.add_lowered("tf32_override_on_under_pedantic",
                                {"NVIDIA_TF32_OVERRIDE=1/sgemm_pedantic", "NVIDIA_TF32_OVERRIDE=1/32f_pedantic"});
    else
        conclusions.add("tf32_override_on_under_pedantic", "?", "the variable lowered not all products");
}

void conclude_devices(Conclusions& conclusions, const MeasuredDevice& device) {
    const bool old = device.is_below(80);
    conclusions.add("fast_below_compute_capability_8", old ? conclusions.measured("gemm_ex_fast_tf32_default") : "?",
                    old ? "cublasGemmEx 32F_FAST_TF32" : device.unlike("this device is newer"));
    const bool lacks_bf16x9 = device.is_below(100) || (device.is_from(101) && device.compute_capability != 103);
    const std::string emulated = conclusions.measured("gemm_ex_emulated_16bfx9_default");
    conclusions.add("bf16x9_compute_type_elsewhere",
                    !lacks_bf16x9 || emulated == not_measured ? "?"
                    : is_format(emulated)                     ? emulated
                                                              : "refused",
                    lacks_bf16x9 ? "cublasGemmEx: " + emulated : device.unlike("this device has BF16x9"));
    for (const char* row :
         {"compute_32f_on_bf16x9_handle", "pedantic_mode_is_a_pedantic_compute_32f", "emulation_environment",
          "emulation_environment_reaches_lt", "performant_strategy_emulates"}) {
        conclusions.add(row, "?", "BF16x9 cannot be told from FP32 by a result");
    }
}

/// Concludes which products of float64 cuBLAS emulates. If none is emulated where that is allowed explicitly, the
/// device does not tell the rest.
void conclude_float64(Conclusions& conclusions) {
    const auto of = [&](const char* name) { return conclusions.measured(name); };
    const bool emulates = of("without/ex_emulated") == emulated || of("without/dgemm_mode") == emulated;
    const auto add = [&](const char* row, std::initializer_list<const char*> names, bool is_told) {
        std::string because, answer = "?";
        for (const char* name : names) {
            const std::string seen = of(name);
            because += (because.empty() ? "" : ", ") + std::string(name) + " " + seen;
            if (is_told && (seen == emulated || seen == "fp64"))
                answer = seen == emulated || answer == "yes" ? "yes" : "no";
        }
        conclusions.add(row, answer, because);
    };
    add("f64_emulation_on_any_gpu", {"without/ex_emulated", "without/dgemm_mode"}, true);
    const std::string by_type = of("without/ex_emulated");
    const bool is_refused = by_type == "NOT_SUPPORTED" || by_type == "INVALID_VALUE";
    conclusions.add("f64_emulated_type_in_gemm_ex",
                    is_refused                                 ? "refused"
                    : by_type == emulated || by_type == "fp64" ? "yes"
                                                               : "?",
                    "without/ex_emulated " + by_type);
    add("f64_emulation_by_mode", {"without/dgemm_mode"}, emulates);
    add("f64_emulation_beyond_gemm", {"without/dsyrk_mode"}, emulates);
    add("f64_emulation_by_environment", {"environment/dgemm"}, emulates);
    add("f64_compute_type_on_emulated_handle", {"without/ex_mode"}, emulates);
    add("f64_emulation_under_pedantic",
        {"environment/dgemm_pedantic", "environment/ex_pedantic", "environment/ex_pedantic_mode",
         "environment/lt_pedantic"},
        of("environment/dgemm") == emulated);
}

void conclude_refusals(Conclusions& conclusions) {
    const std::string aligned = conclusions.measured("batched_offset16_fast_tf32");
    int needed = 256;
    for (const int offset : {16, 8, 4}) {
        if (!is_format(conclusions.measured("batched_offset" + std::to_string(offset) + "_fast_tf32"))) {
            break;
        }
        needed = offset;
    }
    conclusions.add("pointer_array_alignment", aligned == not_measured ? "?" : std::to_string(needed),
                    "cublasGemmBatchedEx 32F_FAST_TF32 with operands at 16, 8, 4 bytes: " +
                        conclusions.measured("batched_offset16_fast_tf32") + ", " +
                        conclusions.measured("batched_offset8_fast_tf32") + ", " +
                        conclusions.measured("batched_offset4_fast_tf32"));
    const std::string foreign = conclusions.measured("lt_algorithm_32f_on_fast_tf32_matmul");
    conclusions.add("lt_product_by_algorithm_of_another_type", is_format(foreign) ? "runs" : lower_case(foreign),
                    "an algorithm for 32F with 32F_FAST_TF32: " + foreign);
    for (const char* row : {"empty_sum", "empty_sum_of_xt"})
        conclusions.add(row, "?", "not asked: the clients compare these calls with and without the library");
    conclusions.add("lt_algorithm_of_another_type",
                    lower_case(conclusions.measured("lt_algorithm_fast_tf32_on_32f_check")),
                    "an algorithm for 32F_FAST_TF32 with 32F: cublasLtMatmul " +
                        conclusions.measured("lt_algorithm_fast_tf32_on_32f_matmul"));
    conclusions.add("lt_misaligned_operand", lower_case(conclusions.measured("lt_misaligned_fast_tf32")),
                    "an algorithm for aligned operands, operands at 4 bytes");
}

}  // namespace

std::vector<Answer> answered_rows(const Findings& findings) {
    Conclusions conclusions(findings);
    const auto found = findings.numbers("compute_capability");
    const MeasuredDevice device{found.empty() ? std::nullopt : std::optional(static_cast<int>(found.front()))};
    conclude_math_modes(conclusions);
    conclude_compute_types(conclusions, device);
    conclude_override(conclusions);
    conclude_devices(conclusions, device);
    conclude_float64(conclusions);
    conclude_refusals(conclusions);
    // Replaces the answers that depend on a section which was left out or failed.
    for (Answer& answer : conclusions.answers) {
        if (answer.answer == not_measured) answer.answer = "?";
    }
    return conclusions.answers;
}

}  // namespace gpu
