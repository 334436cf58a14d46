#include "policy/precision.hpp"

#include <algorithm>
#include <iterator>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"
#include "policy/words.hpp"

namespace fp32shim::policy {
namespace {

constexpr NamedValue<Source> source_words[] = {
    {"guard_pin", Source::guard_pin},     {"rule", Source::rule},
    {"thread", Source::thread},           {"process", Source::process},
    {"environment", Source::environment}, {"file", Source::file},
    {"native", Source::native},
};

struct ReasonTexts {
    std::size_t number;
    std::string_view code, device, because, remedy;
};
constexpr ReasonTexts reason_words[] = {
#define REASON(number, code, device, because, remedy) {number, #code, #device, because, remedy},
#include "policy/reasons.def"
#undef REASON
};

constexpr bool are_numbered_from_0() {
    std::size_t next = 0;
    for (const ReasonTexts& words : reason_words)
        if (words.number != next++) return false;
    return true;
}
static_assert(are_numbered_from_0(), "policy/reasons.def skips or repeats a number");

constexpr Floor floors_met[] = {
#define FORMAT(number, name, floor, ...) Floor::floor,
#include "policy/formats.def"
};
static_assert(std::ranges::is_sorted(floors_met, std::ranges::greater()),
              "policy/formats.def goes from the most exact format to the loosest");
static_assert(std::ranges::is_sorted(floor_words, {}, &NamedValue<Floor>::value),
              "floors in policy/formats.def go from the strictest, of the greatest number, to the loosest");

constexpr AppliedFormat formats_asked_for[] = {
#define PRECISION(number, name, format) AppliedFormat::format,
#define RULE_PRECISION(number, name, format) AppliedFormat::format,
#include "policy/formats.def"
};
static_assert(std::ranges::all_of(formats_asked_for,
                                  [](AppliedFormat format) {
                                      return is_allowed_for_float64(format) || has_preview(format);
                                  }),
              "decide() takes a CPU to preview all formats below FP32 that a precision asks for");

/// Returns the words of a reason. They are empty if only a newer version of fp32shim knows the reason.
constexpr ReasonTexts words_of(Reason reason) {
    const auto number = static_cast<std::size_t>(reason);
    return number < reason_count ? reason_words[number] : ReasonTexts{};
}

}  // namespace

std::optional<AppliedFormat> format_of(Precision precision) {
    switch (precision) {
#define PRECISION(number, name, format) \
    case Precision::name:               \
        return AppliedFormat::format;
#define RULE_PRECISION(number, name, format) PRECISION(number, name, format)
#include "policy/formats.def"
        case Precision::native:
        case Precision::automatic:
            break;
    }
    return std::nullopt;
}

std::optional<Precision> parse_precision(std::string_view text) { return parse_word(precision_words, text); }
std::optional<Floor> parse_floor(std::string_view text) { return parse_word(floor_words, text); }

std::string_view to_string(Precision precision) { return name_of(precision_words, precision); }
std::string_view to_string(AppliedFormat applied) { return name_of(applied_words, applied); }
std::string_view to_string(Floor floor) {
    return floor == Floor::none ? "none" : name_of(verified_floor_words, floor);
}
std::string_view to_string(CpuMode mode) { return name_of(cpu_mode_words, mode); }
std::string_view to_string(Tf32Rounding rounding) { return name_of(tf32_rounding_words, rounding); }
std::string_view to_string(AccumulationModel accumulation) { return name_of(accumulation_words, accumulation); }
std::string_view to_string(Accumulator accumulator) { return name_of(accumulator_words, accumulator); }
std::string_view to_string(Source source) { return name_of(source_words, source); }
std::string_view to_string(Reason reason) { return words_of(reason).code; }
std::string_view reason_clause(Reason reason) { return words_of(reason).because; }
std::string_view remedy_of(Reason reason) { return words_of(reason).remedy; }

bool is_cpu_only_reason(std::string_view code) {
    return std::any_of(std::begin(reason_words), std::end(reason_words),
                       [&](const ReasonTexts& words) { return words.code == code && words.device == "cpu"; });
}
std::string_view to_string(Device device) { return name_of(device_words, device); }
std::string_view to_string(Dtype dtype) { return name_of(dtype_words, dtype); }
std::string_view to_string(OnError on_error) { return name_of(on_error_words, on_error); }
std::string_view to_string(OnFull on_full) { return name_of(on_full_words, on_full); }
std::string to_string(LocationSourceSet where) {
    const bool is_all = where.bits == static_cast<std::uint8_t>(LocationSource::automatic);
    std::string text = is_all ? "auto" : "";
    for (const NamedValue<LocationSource>& word : where_words) {
        const bool is_counted = word.value == LocationSource::native && where.native_frames != 0;
        if (!where.has(word.value) || word.value == LocationSource::automatic || (is_all && !is_counted)) continue;
        text.append(text.empty() ? 0 : 1, ',').append(word.text);
        if (is_counted) text.append(":").append(std::to_string(where.native_frames));
    }
    return text;
}
std::string_view to_string(AuditFormat format) { return name_of(audit_format_words, format); }
std::optional<AuditFormat> audit_format_of(AppliedFormat applied) {
    return parse_word(audit_format_words, name_of(applied_words, applied));
}
std::optional<AppliedFormat> applied_format_of(AuditFormat format) {
    return parse_word(applied_words, name_of(audit_format_words, format));
}
std::string_view to_string(ErrorMetric metric) { return name_of(metric_words, metric); }
std::string_view to_string(AuditAction action) { return name_of(audit_action_words, action); }

std::string_view to_string(LogLevel level) {
    return level == LogLevel::unset ? "unset" : name_of(log_level_words, level);
}

}  // namespace fp32shim::policy
