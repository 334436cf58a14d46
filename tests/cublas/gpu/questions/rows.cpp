// Turns measurements into the rows of tests/cublas/stand_in/semantics.def.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/questions.hpp"

namespace gpu {

namespace {

/// The evidence for a row: the findings of these names, the lowest of each.
struct Seen {
    const FindingMap& findings;
    const std::vector<const char*>& names;

    std::string at(std::size_t i) const { return findings.lowest_format(names[i]); }
};

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string yes_no_or_mixed(const std::set<std::string>& verdicts) {
    return verdicts.empty() ? "?" : verdicts.size() == 1 ? *verdicts.begin() : "mixed";
}

// ---- rules: from what was seen to the answer; "?" if it does not tell

/// Returns "yes" if all products that ran were below float32, "no" if none was, and "mixed" otherwise.
std::string is_lowered(const Seen& seen) {
    std::set<std::string> verdicts;
    for (std::size_t i = 0; i < seen.names.size(); ++i)
        if (is_format_name(seen.at(i))) verdicts.insert(seen.at(i) == "fp32" ? "no" : "yes");
    return yes_no_or_mixed(verdicts);
}
/// Returns whether the first product ran at the format of the second, which must not be float32.
std::string is_same(const Seen& seen) {
    if (!is_format_name(seen.at(0)) || !is_format_name(seen.at(1)) || seen.at(1) == "fp32") return "?";
    return seen.at(0) == seen.at(1) ? "yes" : "no";
}
std::string as_found(const Seen& seen) { return seen.at(0); }
std::string status(const Seen& seen) { return lower_case(seen.at(0)); }
std::string runs_or_status(const Seen& seen) { return is_format_name(seen.at(0)) ? "runs" : status(seen); }
std::string format_or_refused(const Seen& seen) {
    return is_format_name(seen.at(0)) || seen.at(0) == not_measured ? seen.at(0) : "refused";
}
std::string accepted_or_refused(const Seen& seen) {
    return is_format_name(seen.at(0)) ? "accepted" : format_or_refused(seen);
}

/// Returns the rounding rules of lowered products. Products that were refused, or not lowered, are left out.
std::string ties(const Seen& seen) {
    std::set<std::string> rules;
    for (const std::string& rule : seen.findings.values_of(seen.names[0]))
        if (rule != "kept" && rule != "refused") rules.insert(rule);
    std::string result;
    for (const std::string& rule : rules) result += (result.empty() ? "" : "+") + rule;
    return result.empty() ? seen.findings.joined_values(seen.names[0]) : result;
}
/// Returns whether a mode overrides compute types which, as the first product shows, lower products without it.
std::string mode_overrides(const Seen& seen) {
    if (!is_format_name(seen.at(0)) || seen.at(0) == "fp32") return "?";
    std::set<std::string> verdicts;
    for (std::size_t i = 1; i < seen.names.size(); ++i) {
        if (!is_format_name(seen.at(i))) return "?";
        verdicts.insert(seen.at(i) == "fp32" ? "yes" : "no");
    }
    return yes_no_or_mixed(verdicts);
}
/// Returns whether an override raises the first product, which without it is lowered, as the second shows.
std::string override_raises(const Seen& seen) {
    if (!is_format_name(seen.at(0)) || seen.at(1) == "fp32") return "?";
    return seen.at(0) == "fp32" ? "yes" : "no";
}
/// Returns whether the last two products are lowered by an override that lowers all others.
std::string is_lowered_by_override(const Seen& seen) {
    const std::vector<const char*> others(seen.names.begin(), seen.names.end() - 2);
    const std::vector<const char*> last(seen.names.end() - 2, seen.names.end());
    return is_lowered({seen.findings, others}) == "yes" ? is_lowered({seen.findings, last}) : "?";
}
/// Returns whether the second product lacks a property that the first one has.
std::string forbids(const Seen& seen) {
    if (seen.at(0) != "yes" || seen.at(1) == not_measured) return "?";
    return seen.at(1) == "no" ? "yes" : "no";
}
std::string pointer_alignment(const Seen& seen) {
    constexpr const char* offsets[] = {"256", "16", "8", "4"};
    if (seen.at(0) == not_measured) return "?";
    std::size_t allowed = 0;
    while (allowed < seen.names.size() && is_format_name(seen.at(allowed))) ++allowed;
    return offsets[allowed];
}

constexpr const char* emulated = "fp64_emulated";

/// Returns "yes" if one of these products of float64 is emulated, "no" if none is.
std::string is_emulated(const Seen& seen) {
    std::string answer = "?";
    for (std::size_t i = 0; i < seen.names.size(); ++i) {
        if (seen.at(i) == emulated) return "yes";
        if (seen.at(i) == "fp64") answer = "no";
    }
    return answer;
}
/// Says like is_emulated() whether float64 is emulated. If no product is emulated where that is allowed explicitly,
/// the device does not tell the rest.
std::string is_emulated_too(const Seen& seen) {
    const std::vector<const char*> explicitly = {"native/ex_emulated", "native/dgemm_mode"};
    return is_emulated({seen.findings, explicitly}) == "yes" ? is_emulated(seen) : "?";
}
std::string is_emulated_under_environment(const Seen& seen) {
    return seen.findings.lowest_format("environment/dgemm") == emulated ? is_emulated(seen) : "?";
}
std::string emulated_type(const Seen& seen) {
    const std::string answer = seen.at(0);
    if (answer == "NOT_SUPPORTED" || answer == "INVALID_VALUE") return "refused";
    return answer == emulated || answer == "fp64" ? "yes" : "?";
}

// ---- the rows

/// Devices that can tell the answer, by their compute capability: 10·major + minor.
struct Devices {
    bool (*include)(int capability) = nullptr;  ///< nullptr: all devices can
    const char* otherwise = "";                 ///< why another device has no answer
};
constexpr Devices any;
constexpr Devices old{[](int capability) { return capability < 80; }, "this device is newer"};
constexpr Devices from_8_0{[](int capability) { return capability >= 80; }, "this device is older"};
constexpr Devices below_9_0{[](int capability) { return capability < 90; }, "this device is another one"};
constexpr Devices from_9_0{[](int capability) { return capability >= 90; }, "this device is another one"};
constexpr Devices without_bf16x9{[](int capability) { return capability != 100 && capability != 103; },
                                 "this device has BF16x9"};

struct Row {
    const char* row;
    std::string (*rule)(const Seen& seen);  ///< nullptr: this is not asked
    std::vector<const char*> names;         ///< findings; if it is not asked: the reason
    Devices devices = any;
};
#define OVERRIDE "NVIDIA_TF32_OVERRIDE=1/"
const std::vector<Row> semantics = {
    {"sgemm_honours_math_mode",
     is_lowered,
     {"mode_sgemm_tf32", "mode_sgemm_strided_batched_tf32", "mode_sgemm_batched_tf32"}},
    {"sgemm_grouped_honours_math_mode", is_lowered, {"mode_sgemm_grouped_batched_tf32"}},
    {"sgemm_ex_honours_math_mode", is_lowered, {"mode_sgemm_ex_tf32"}},
    {"cgemm_honours_math_mode",
     is_lowered,
     {"mode_cgemm_tf32", "mode_cgemm_strided_batched_tf32", "mode_cgemm_batched_tf32", "mode_cgemm_ex_tf32"}},
    {"cgemm3m_honours_math_mode",
     is_lowered,
     {"mode_cgemm3m_tf32", "mode_cgemm3m_ex_tf32", "mode_cgemm3m_batched_tf32", "mode_cgemm3m_strided_batched_tf32"}},
    {"symm_honours_math_mode", is_lowered, {"mode_ssymm_tf32", "mode_csymm_tf32", "mode_chemm_tf32"}},
    {"syrk_honours_math_mode", is_lowered, {"mode_ssyrk_tf32", "mode_csyrk_tf32", "mode_cherk_tf32"}},
    {"syrk_ex_honours_math_mode",
     is_lowered,
     {"mode_csyrk_ex_tf32", "mode_csyrk3m_ex_tf32", "mode_cherk_ex_tf32", "mode_cherk3m_ex_tf32"}},
    {"syr2k_honours_math_mode", is_lowered, {"mode_ssyr2k_tf32", "mode_csyr2k_tf32", "mode_cher2k_tf32"}},
    {"syrkx_honours_math_mode", is_lowered, {"mode_ssyrkx_tf32", "mode_csyrkx_tf32", "mode_cherkx_tf32"}},
    {"trmm_honours_math_mode", is_lowered, {"mode_strmm_tf32", "mode_ctrmm_tf32"}},
    {"trsm_honours_math_mode",
     is_lowered,
     {"mode_strsm_tf32", "mode_ctrsm_tf32", "mode_strsm_batched_tf32", "mode_ctrsm_batched_tf32"}},
    {"tensor_op_mode_reaches_complex",
     is_lowered,
     {"mode_cgemm_tensor_op", "mode_cgemm3m_tensor_op", "mode_ctrsm_tensor_op"}},
    {"pedantic_mode_of_syrk_3m", accepted_or_refused, {"mode_csyrk3m_ex_pedantic"}},
    {"compute_32f_on_tf32_handle", is_lowered, {"gemm_ex_32f_tf32"}},
    {"compute_32f_on_tensor_op_handle", is_lowered, {"gemm_ex_32f_tensor_op"}},
    {"pedantic_mode_overrides_fast_types",
     mode_overrides,
     {"gemm_ex_fast_tf32_default", "gemm_ex_fast_tf32_pedantic", "gemm_ex_fast_16bf_pedantic"}},
    {"tensor_op_mode_is_fast_16f", is_same, {"mode_sgemm_tensor_op", "gemm_ex_fast_16f_default"}},
    {"tensor_op_algorithm_from_8_0",
     is_lowered,
     {"gemm_ex_32f_algo99_default", "gemm_ex_32f_pedantic_algo99_default"},
     from_8_0},
    {"tensor_op_algorithm_is_fast_16f", is_same, {"gemm_ex_32f_algo99_default", "gemm_ex_fast_16f_default"}, old},
    {"tensor_op_algorithm_under_pedantic", is_lowered, {"gemm_ex_32f_pedantic_algo99_default"}, old},
    {"fast_16f", as_found, {"gemm_ex_fast_16f_default"}},
    {"fast_16bf", as_found, {"gemm_ex_fast_16bf_default"}},
    {"tf32_ties", ties, {"tf32_ties"}, below_9_0},
    {"tf32_ties_from_9_0", ties, {"tf32_ties"}, from_9_0},
    {"math_mode_combinations", nullptr, {"not asked: a handle may not survive it"}},
    {"tf32_override_off", as_found, {"NVIDIA_TF32_OVERRIDE=0/fast_tf32"}},
    {"tf32_override_covers_fast_16bf",
     override_raises,
     {"NVIDIA_TF32_OVERRIDE=0/fast_16bf", "gemm_ex_fast_16bf_default"}},
    {"tf32_override_on", is_lowered, {OVERRIDE "nothing", OVERRIDE "32f", OVERRIDE "lt_32f"}},
    {"tf32_override_on_under_pedantic",
     is_lowered_by_override,
     {OVERRIDE "nothing", OVERRIDE "32f", OVERRIDE "lt_32f", OVERRIDE "mode_pedantic", OVERRIDE "pedantic"}},
    {"fast_below_compute_capability_8", as_found, {"gemm_ex_fast_tf32_default"}, old},
    {"bf16x9_compute_type_elsewhere", format_or_refused, {"gemm_ex_emulated_16bfx9_default"}, without_bf16x9},
    {"compute_32f_on_bf16x9_handle", nullptr, {"BF16x9 cannot be told from FP32 by a result"}},
    {"pedantic_mode_is_a_pedantic_compute_32f", nullptr, {"BF16x9 cannot be told from FP32 by a result"}},
    {"emulation_environment", nullptr, {"BF16x9 cannot be told from FP32 by a result"}},
    {"emulation_environment_reaches_lt", nullptr, {"BF16x9 cannot be told from FP32 by a result"}},
    {"performant_strategy_emulates", nullptr, {"BF16x9 cannot be told from FP32 by a result"}},
    {"f64_emulation_on_any_gpu", is_emulated, {"native/ex_emulated", "native/dgemm_mode"}},
    {"f64_emulated_type_in_gemm_ex", emulated_type, {"native/ex_emulated"}},
    {"f64_emulation_by_mode", is_emulated_too, {"native/dgemm_mode"}},
    {"f64_emulation_beyond_gemm", is_emulated_too, {"native/dsyrk_mode"}},
    {"f64_emulation_by_environment", is_emulated_too, {"environment/dgemm"}},
    {"f64_compute_type_on_emulated_handle", is_emulated_too, {"native/ex_mode"}},
    {"f64_emulation_under_pedantic",
     is_emulated_under_environment,
     {"environment/dgemm_pedantic", "environment/ex_pedantic", "environment/ex_pedantic_mode",
      "environment/lt_pedantic"}},
    {"hgemm_adds_in_fp16", as_found, {"hgemm_in_fp16"}},
    {"compute_16f_adds_in_fp16", as_found, {"half_16f_in_fp16"}},
    {"reduced_precision_reduction", as_found, {"half_32f_reduced"}},
    {"pedantic_forbids_reduced_reduction", forbids, {"half_32f_reduced", "half_pedantic_reduced"}},
    {"pointer_array_alignment",
     pointer_alignment,
     {"gemm_batched_ex_offset16_fast_tf32", "gemm_batched_ex_offset8_fast_tf32",
      "gemm_batched_ex_offset4_fast_tf32"}},
    {"lt_product_by_algorithm_of_another_type", runs_or_status, {"lt_algorithm_32f_on_fast_tf32_matmul"}},
    {"empty_sum", nullptr, {"not asked: the clients compare these calls with and without the library"}},
    {"empty_sum_of_xt", nullptr, {"not asked: the clients compare these calls with and without the library"}},
    {"lt_algorithm_of_another_type", status, {"lt_algorithm_fast_tf32_on_32f_check"}},
    {"lt_misaligned_operand", status, {"lt_offset4_fast_tf32"}},
};
#undef OVERRIDE

/// device: the compute capability; nullopt: it is not known, since the section `machine` was left out, or failed.
Answer answer_to(const Row& row, const FindingMap& findings, std::optional<int> device) {
    if (row.rule == nullptr) return {row.row, "?", row.names.front()};
    if (row.devices.include != nullptr && !device)
        return {row.row, "?", "the compute capability of this device is not known"};
    if (row.devices.include != nullptr && !row.devices.include(*device)) return {row.row, "?", row.devices.otherwise};
    std::string because;
    for (const char* name : row.names)
        because.append(because.empty() ? "" : ", ").append(name).append(" ").append(findings.lowest_format(name));
    const std::string answer = row.rule({findings, row.names});
    // A section that the answer depends on may have been left out, or have failed.
    return {row.row, answer == not_measured ? "?" : answer, because};
}

}  // namespace

std::vector<Answer> answered_rows(const FindingMap& findings) {
    const auto found = findings.sorted_numbers("compute_capability");
    std::vector<Answer> answers;
    for (const Row& row : semantics)
        answers.push_back(
            answer_to(row, findings, found.empty() ? std::nullopt : std::optional(static_cast<int>(found.front()))));
    return answers;
}

}  // namespace gpu
