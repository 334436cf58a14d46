// Spelling of the values of all settings, for parsing, printing and messages. The first text of a value is its name,
// later ones are aliases. Parsing ignores case.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A value of a setting, and one text that stands for it.
template <class T>
struct Word {
    std::string_view text;
    T value;
};

inline constexpr Word<Precision> precision_words[] = {
    {"native", Precision::native}, {"highest", Precision::highest}, {"high", Precision::high},
    {"medium", Precision::medium}, {"auto", Precision::automatic},  {"ieee", Precision::highest},
    {"fp32", Precision::highest},  {"tf32", Precision::high},       {"bf16", Precision::medium},
    {"bf16x9", Precision::bf16x9}, {"bf16x3", Precision::bf16x3},   {"bf16x2", Precision::bf16x2},
    {"tf32x3", Precision::tf32x3}, {"xf32", Precision::xf32},
};

/// Words of precisions that are for rules only: the last ones.
inline constexpr std::span<const Word<Precision>> rule_precision_words = std::span(precision_words).last(5);

/// Words of a default precision: all others.
inline constexpr std::span<const Word<Precision>> default_precision_words =
    std::span(precision_words).first(std::size(precision_words) - rule_precision_words.size());

inline constexpr Word<Applied> applied_words[] = {
    {"fp32", Applied::fp32},     {"tf32", Applied::tf32},     {"bf16", Applied::bf16},
    {"fp16", Applied::fp16},     {"bf16x9", Applied::bf16x9}, {"unchanged", Applied::unchanged},
    {"bf16x2", Applied::bf16x2}, {"bf16x3", Applied::bf16x3}, {"tf32x3", Applied::tf32x3},
    {"xf32", Applied::xf32},
};

inline constexpr Word<Floor> floor_words[] = {
    {"none", Floor::none}, {"fp16", Floor::fp16},     {"bf16", Floor::bf16},
    {"tf32", Floor::tf32}, {"bf16x9", Floor::bf16x9}, {"fp32", Floor::fp32},
};

inline constexpr Word<CpuMode> cpu_mode_words[] = {
    {"off", CpuMode::off}, {"emulate", CpuMode::emulate}, {"accelerate", CpuMode::accelerate}};

/// Words of roundings to TF32, then those of engines. docs/policy-file.md says each engine's source.
inline constexpr Word<Tf32Rounding> tf32_rounding_words[] = {
    {"away", Tf32Rounding::away}, {"even", Tf32Rounding::even},       {"truncate", Tf32Rounding::truncate},
    {"a100", Tf32Rounding::away}, {"hopper", Tf32Rounding::truncate}, {"mi300", Tf32Rounding::truncate}};

inline constexpr Word<Device> device_words[] = {{"cpu", Device::cpu}, {"cuda", Device::cuda}};

inline constexpr Word<Dtype> dtype_words[] = {
    {"float32", Dtype::float32},   {"complex64", Dtype::complex64}, {"float16", Dtype::float16},
    {"bfloat16", Dtype::bfloat16}, {"float8", Dtype::float8},
};

/// Words of the element types whose products the shim may alter. It only records products of the others.
inline constexpr std::span<const Word<Dtype>> governed_dtype_words = std::span(dtype_words).first(2);

inline constexpr Word<OnError> on_error_words[] = {
    {"continue", OnError::continue_untouched}, {"highest", OnError::highest}, {"abort", OnError::abort}};

/// Words of a log's level. LogLevel::unset has none.
inline constexpr Word<LogLevel> log_level_words[] = {{"summary", LogLevel::summary}, {"calls", LogLevel::calls}};

inline constexpr Word<OnFull> on_full_words[] = {{"drop", OnFull::drop}, {"overwrite", OnFull::overwrite}};

inline constexpr Word<Where> where_words[] = {
    {"none", Where::none},   {"python", Where::python}, {"nvtx", Where::nvtx},      {"itt", Where::itt},
    {"torch", Where::torch}, {"native", Where::native}, {"auto", Where::automatic},
};

inline constexpr Word<AuditFormat> audit_format_words[] = {
    {"fp32", AuditFormat::fp32},     {"tf32", AuditFormat::tf32},     {"bf16", AuditFormat::bf16},
    {"bf16x2", AuditFormat::bf16x2}, {"bf16x3", AuditFormat::bf16x3}, {"bf16x9", AuditFormat::bf16x9},
    {"tf32x3", AuditFormat::tf32x3}, {"xf32", AuditFormat::xf32},     {"fp64", AuditFormat::fp64},
};

/// Words of `[audit] against`: all formats but fp32.
inline constexpr std::span<const Word<AuditFormat>> audit_against_words = std::span(audit_format_words).subspan(1);

inline constexpr Word<Metric> metric_words[] = {{"norm", Metric::norm},
                                                {"max", Metric::max},
                                                {"mean", Metric::mean},
                                                {"component", Metric::component},
                                                {"row", Metric::row}};

inline constexpr Word<AuditAction> audit_action_words[] = {{"log", AuditAction::log}, {"pin", AuditAction::pin}};

/// Compares two texts, ignoring the case of ASCII letters.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
}

/// Returns the value that `text` stands for in the table `words`, ignoring case; nullopt: none.
constexpr auto parse_word(const auto& words, std::string_view text)
    -> std::optional<decltype(std::begin(words)->value)> {
    for (const auto& word : words) {
        if (equal_ignoring_case(word.text, text)) return word.value;
    }
    return std::nullopt;
}

/// Returns the name (the first text) of a value in the table `words`; empty: it has none.
constexpr std::string_view name_of(const auto& words, auto value) {
    for (const auto& word : words) {
        if (word.value == value) return word.text;
    }
    return {};
}

/// Returns all texts of the table `words`, for messages.
std::vector<std::string_view> texts_of(const auto& words) {
    std::vector<std::string_view> texts;
    for (const auto& word : words) texts.push_back(word.text);
    return texts;
}

}  // namespace fp32shim::policy
