// The words for the values of settings, by which values are parsed and printed. The first word of a value is its
// name; further words are aliases. Parsing ignores case.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A value of a setting, and one word for it.
template <class T>
struct NamedValue {
    std::string_view text;
    T value;
};

/// Words of precisions that only rules may have.
inline constexpr NamedValue<Precision> rule_precision_words[] = {
#define RULE_PRECISION(number, name, format) {#name, Precision::name},
#include "policy/formats.def"
#define RULE_ALIAS(word, precision) {word, Precision::precision},
#include "policy/formats.def"
};

inline constexpr NamedValue<Precision> precision_words[] = {
    {"native", Precision::native},
#define PRECISION(number, name, format) {#name, Precision::name},
#include "policy/formats.def"
    {"auto", Precision::automatic},
#define ALIAS(word, precision) {word, Precision::precision},
#include "policy/formats.def"
#define RULE_PRECISION(number, name, format) {#name, Precision::name},
#include "policy/formats.def"
#define RULE_ALIAS(word, precision) {word, Precision::precision},
#include "policy/formats.def"
};

/// Returns true if only a rule for products of float64 and complex128 may have this precision.
constexpr bool is_float64_only(Precision precision) {
    switch (precision) {
#define FLOAT64_RULE_PRECISION(number, name, format) case Precision::name:
#include "policy/formats.def"
        return true;
        default:
            return false;
    }
}

/// Returns true if a rule for products of float64 and complex128 may have this precision. Such a rule cannot have
/// `auto`.
constexpr bool is_allowed_for_float64(Precision precision) {
    switch (precision) {
#define PRECISION(number, name, format) \
    case Precision::name:               \
        return is_allowed_for_float64(AppliedFormat::format);
#define RULE_PRECISION(number, name, format) PRECISION(number, name, format)
#include "policy/formats.def"
        default:
            return precision == Precision::native;
    }
}

/// Words of default precisions: all of precision_words except the last ones, which only rules may have.
inline constexpr std::span<const NamedValue<Precision>> default_precision_words =
    std::span(precision_words).first(std::size(precision_words) - std::size(rule_precision_words));

/// Words of the formats, from the most exact to the loosest; then `unchanged`.
inline constexpr NamedValue<AppliedFormat> applied_words[] = {
#define FORMAT(number, name, ...) {#name, AppliedFormat::name},
#include "policy/formats.def"
};

/// Words of the floors that a policy can set, from the strictest to the loosest; `none` is not among them.
inline constexpr NamedValue<Floor> strict_floor_words[] = {
#define FLOOR(number, name) {#name, Floor::name},
#include "policy/formats.def"
};

/// Words of the floors that `verify` can ask for, from the strictest to the loosest.
inline constexpr NamedValue<Floor> verified_floor_words[] = {
#define VERIFIED_FLOOR(number, name) {#name, Floor::name},
#define FLOOR(number, name) {#name, Floor::name},
#include "policy/formats.def"
};

/// Words of all floors that a policy can set, from loose to strict.
inline constexpr auto floor_words = [] {
    std::array<NamedValue<Floor>, std::size(strict_floor_words) + 1> words{{{"none", Floor::none}}};
    std::reverse_copy(std::begin(strict_floor_words), std::end(strict_floor_words), words.begin() + 1);
    return words;
}();

inline constexpr NamedValue<CpuMode> cpu_mode_words[] = {{"off", CpuMode::off},
                                                         {"emulate", CpuMode::emulate},
                                                         {"accelerate", CpuMode::accelerate},
                                                         {"reproducible", CpuMode::reproducible}};

/// Words of roundings to TF32, then names of GPUs. The name of a GPU stands for its rounding. docs/policy-file.md
/// gives a source for each GPU.
inline constexpr NamedValue<Tf32Rounding> tf32_rounding_words[] = {
    {"away", Tf32Rounding::away},
    {"even", Tf32Rounding::even},
    {"truncate", Tf32Rounding::truncate},
#define TF32_ROUNDING(name, rounding) {#name, Tf32Rounding::rounding},
#include "policy/tensor_cores.def"
    {"mi300", Tf32Rounding::truncate},
};

/// Words of the types in which half-precision products add, from the loosest to the most exact.
inline constexpr NamedValue<Accumulator> accumulator_words[] = {
    {"fp16", Accumulator::fp16}, {"fp32_reduced", Accumulator::fp32_reduced}, {"fp32", Accumulator::fp32}};

inline constexpr NamedValue<AccumulationModel> accumulation_words[] = {
#define ACCUMULATION(number, name) {#name, AccumulationModel::name},
#define ACCUMULATION_ALIAS(word, name) {word, AccumulationModel::name},
#include "policy/tensor_cores.def"
};

inline constexpr NamedValue<Accumulate> accumulate_words[] = {{"as_called", Accumulate::as_called},
                                                              {"fp32", Accumulate::fp32}};

inline constexpr NamedValue<Device> device_words[] = {{"cpu", Device::cpu}, {"cuda", Device::cuda}};

inline constexpr NamedValue<Dtype> dtype_words[] = {
    {"float32", Dtype::float32},       {"complex64", Dtype::complex64}, {"float16", Dtype::float16},
    {"bfloat16", Dtype::bfloat16},     {"float8", Dtype::float8},       {"float64", Dtype::float64},
    {"complex128", Dtype::complex128}, {"int8", Dtype::int8},
};

/// Words of the element types whose products the shim may alter. Products of other types are only recorded.
inline constexpr auto governed_dtype_words = [] {
    std::array<NamedValue<Dtype>, 6> words{};
    std::copy_if(std::begin(dtype_words), std::end(dtype_words), words.begin(), [](const NamedValue<Dtype>& word) {
        return is_single(word.value) || is_double(word.value) || is_half(word.value);
    });
    return words;
}();

inline constexpr NamedValue<OnError> on_error_words[] = {
    {"continue", OnError::continue_untouched}, {"highest", OnError::highest}, {"abort", OnError::abort}};

/// Words of a log's level. LogLevel::unset has no word.
inline constexpr NamedValue<LogLevel> log_level_words[] = {{"summary", LogLevel::summary},
                                                           {"calls", LogLevel::calls}};

inline constexpr NamedValue<OnFull> on_full_words[] = {{"drop", OnFull::drop}, {"overwrite", OnFull::overwrite}};

inline constexpr NamedValue<LocationSource> where_words[] = {
    {"none", LocationSource::none},      {"python", LocationSource::python}, {"nvtx", LocationSource::nvtx},
    {"itt", LocationSource::itt},        {"torch", LocationSource::torch},   {"native", LocationSource::native},
    {"auto", LocationSource::automatic},
};

inline constexpr NamedValue<AuditFormat> audit_format_words[] = {
#define AUDITED(number, name) {#name, AuditFormat::name},
#include "policy/formats.def"
};

/// Words of `[audit] against`: the formats below FP32, and fp64, the reference for FP32.
inline constexpr auto audit_against_words = [] {
    constexpr AuditFormat others[] = {AuditFormat::fp32, AuditFormat::fixed, AuditFormat::sgemm,
                                      AuditFormat::double_double, AuditFormat::fp64_emulated};
    std::array<NamedValue<AuditFormat>, std::size(audit_format_words) - std::size(others)> words{};
    std::copy_if(std::begin(audit_format_words), std::end(audit_format_words), words.begin(),
                 [&](const NamedValue<AuditFormat>& word) {
                     return std::find(std::begin(others), std::end(others), word.value) == std::end(others);
                 });
    return words;
}();

/// Returns true for a word of `[audit] float64`: a format that is previewed with operands of float64, or
/// double_double, the reference for float64.
constexpr bool is_float64_audit_format(const NamedValue<AuditFormat>& word) {
    if (word.value == AuditFormat::double_double) return true;
    for (const auto& applied : applied_words)
        if (applied.text == word.text) return has_float64_preview(applied.value) && word.value != AuditFormat::fixed;
    return false;
}

inline constexpr auto audit_float64_words = [] {
    std::array<NamedValue<AuditFormat>,
               std::count_if(std::begin(audit_format_words), std::end(audit_format_words), is_float64_audit_format)>
        words{};
    std::copy_if(std::begin(audit_format_words), std::end(audit_format_words), words.begin(),
                 is_float64_audit_format);
    return words;
}();

inline constexpr NamedValue<ErrorMetric> metric_words[] = {
#define METRIC(name) {#name, ErrorMetric::name},
#define FURTHER_ERROR(name)
#include "policy/metrics.def"
};

inline constexpr NamedValue<AuditAction> audit_action_words[] = {{"log", AuditAction::log},
                                                                 {"pin", AuditAction::pin}};

/// Returns the lower-case form of an ASCII letter, and any other character unchanged. Unlike tolower(), ignores the
/// locale.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Compares two texts, ignoring the case of ASCII letters.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, lower_case, lower_case);
}

/// Returns the value of the word `text` in the table `words`, ignoring case, or nullopt if the word is not in the
/// table.
constexpr auto parse_word(const auto& words, std::string_view text)
    -> std::optional<decltype(std::begin(words)->value)> {
    for (const auto& word : words)
        if (equal_ignoring_case(word.text, text)) return word.value;
    return std::nullopt;
}

/// Returns the name (the first word) of a value in the table `words`, or an empty text if the value has no word.
constexpr std::string_view name_of(const auto& words, auto value) {
    for (const auto& word : words)
        if (word.value == value) return word.text;
    return {};
}

/// Returns all words of the table `words`, for messages.
std::vector<std::string_view> texts_of(const auto& words) {
    std::vector<std::string_view> texts;
    texts.reserve(std::size(words));
    for (const auto& word : words) texts.push_back(word.text);
    return texts;
}

}  // namespace fp32shim::policy
