#include "policy/explain.hpp"

#include <cmath>
#include <cstdio>

#include "policy/conditions.hpp"
#include "policy/decide.hpp"
#include "policy/messages.hpp"

namespace fp32shim::policy {
namespace {

std::string number_text(double number, bool is_capability) {
    char text[40];
    if (is_capability)
        std::snprintf(text, sizeof text, "%d.%d", static_cast<int>(number) / 10, static_cast<int>(number) % 10);
    else
        std::snprintf(text, sizeof text, "%.15g", number);
    return text;
}

std::string condition_text(const NumberRange& range, bool is_capability) {
    if (range.lowest == range.highest) return number_text(range.lowest, is_capability);
    std::string text;
    if (range.lowest > 0) text = ">=" + number_text(range.lowest, is_capability);
    if (std::isfinite(range.highest))
        (text += text.empty() ? "<=" : " <=") += number_text(range.highest, is_capability);
    return text.empty() ? ">=0" : text;
}
std::string condition_text(const std::string& glob, bool) { return in_quotes(glob); }
std::string condition_text(auto device_or_dtype, bool) { return std::string(to_string(device_or_dtype)); }

std::string condition_value_text(double size, bool is_capability) {
    return size < 0 ? std::string(unknown_value) : number_text(size, is_capability);
}
std::string condition_value_text(std::string_view text, bool) {
    return text.empty() ? std::string(unknown_value) : in_quotes(text);
}
std::string condition_value_text(const CallSiteText* site, bool) {
    return site == nullptr ? std::string(unknown_value) : in_quotes(site->text);
}
std::string condition_value_text(const SourceLineText* line, bool) {
    const auto text = line == nullptr ? std::nullopt : line->read_text(*line);
    return text ? in_quotes(*text) : std::string(unknown_value);
}
std::string condition_value_text(const PythonStackLines* lines, bool) {
    std::string text;
    const auto append = [](void* context, std::string_view line) {
        auto& all = *static_cast<std::string*>(context);
        (all += all.empty() ? "" : " and ") += in_quotes(line);
        return false;
    };
    if (lines != nullptr) lines->any(*lines, append, &text);
    return text.empty() ? std::string(unknown_value) : text;
}
std::string condition_value_text(auto device_or_dtype, bool) { return condition_text(device_or_dtype, false); }

std::vector<ConditionVerdict> explain(const Conditions& conditions, const MatmulCall& call,
                                      const ProcessDescription& process) {
    std::vector<ConditionVerdict> verdicts;
    judge_conditions(
        conditions, call, process, [&](std::string_view key, const auto& list, const auto& found, bool holds) {
            if (list.empty()) return true;
            const bool is_capability = key == "compute_capability";
            std::string asked;
            for (const auto& value : list)
                (asked += asked.empty() ? "" : " or ") += condition_text(value, is_capability);
            std::string present = condition_value_text(found, is_capability);
            const bool has_none = (key == "scope" && call.scope.empty()) || (key == "where" && call.where.empty()) ||
                                  (key == "call_site" && call.call_site == nullptr) ||
                                  (key == "stack" && call.stack == nullptr) ||
                                  (is_capability && call.device == Device::cpu) ||
                                  (key == "call_number" && call.device == Device::cuda);
            if (has_none) present = "none";
            verdicts.push_back({key, std::move(asked), std::move(present), holds});
            return true;
        });
    return verdicts;
}

bool all_conditions_hold(const std::vector<ConditionVerdict>& verdicts) {
    return std::all_of(verdicts.begin(), verdicts.end(),
                       [](const ConditionVerdict& verdict) { return verdict.holds; });
}

}  // namespace

RuleVerdict explain_rule(const Rule& rule, const MatmulCall& call, const ProcessDescription& process) {
    RuleVerdict verdict;
    verdict.when = explain(rule.when, call, process);
    if (!rule.has_precision && !rule.accumulate)
        verdict.when.insert(verdict.when.begin(),
                            {"precision", "set", "not: the rule only limits algorithms", false});
    else if (!decides_for_dtype(rule, call.dtype))
        verdict.when.insert(verdict.when.begin(), {"dtype",
                                                   is_half(call.dtype)   ? "others, as the rule has no accumulate"
                                                   : !rule.has_precision ? "float16 or bfloat16, as the rule has no "
                                                                           "precision"
                                                                         : "float32 or complex64, as the rule names "
                                                                           "no other",
                                                   std::string(to_string(call.dtype)), false});
    verdict.unless = explain(rule.unless, call, process);
    verdict.applies =
        all_conditions_hold(verdict.when) && (verdict.unless.empty() || !all_conditions_hold(verdict.unless));
    return verdict;
}

}  // namespace fp32shim::policy
