// Decides if a rule's conditions hold for a call.
#include "policy/conditions.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "policy/decide.hpp"

namespace fp32shim::policy {
namespace {

bool conditions_hold(const Conditions& conditions, const MatmulCall& call, const ProcessDescription& process) {
    return judge_conditions(conditions, call, process,
                            [](std::string_view, const auto&, const auto&, bool holds) { return holds; });
}

/// Returns true if all calls of the call site have the same known value for a condition's key, such as `caller`.
bool is_fixed_by_site(std::string_view key, const CallSiteFacts& site) {
    constexpr std::string_view always[] = {"device", "function", "caller", "executable", "host", "command"};
    return (key == "dtype" && site.dtype) || std::find(std::begin(always), std::end(always), key) != std::end(always);
}

}  // namespace

bool may_match(const Rule& rule, const CallSiteFacts& site, const ProcessDescription& process) {
    MatmulCall call;
    call.function = site.function;
    call.caller = site.caller;
    call.device = site.device;
    call.dtype = site.dtype.value_or(Dtype::float32);
    if (site.dtype && !decides_for_dtype(rule, *site.dtype)) return false;
    const bool may_hold =
        judge_conditions(rule.when, call, process, [&](std::string_view key, const auto&, const auto&, bool holds) {
            return holds || !is_fixed_by_site(key, site);
        });
    if (!may_hold || rule.unless.empty()) return may_hold;
    // The rule's exception (`unless`) holds for every call of the call site if each of its conditions holds and looks
    // only at facts that all calls of the call site have in common.
    const bool always_excepted = judge_conditions(
        rule.unless, call, process, [&](std::string_view key, const auto& asked, const auto&, bool holds) {
            return asked.empty() || (holds && is_fixed_by_site(key, site));
        });
    return !always_excepted;
}

bool matches_scope(const std::vector<std::string>& globs, std::string_view path) {
    if (matches_any_glob(globs, path)) return true;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (matches_any_glob(globs, path.substr(0, end))) return true;
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return false;
}

bool matches_call_site(const std::vector<std::string>& globs, const CallSiteText* site) {
    if (site == nullptr) return matches_any_glob(globs, {});
    return matches_any_glob(globs, site->text) || matches_any_glob(globs, site->function) ||
           matches_any_glob(globs, site->offset);
}

bool matches_line(const std::vector<std::string>& globs, const PythonStackLines* lines) {
    if (globs.empty() || lines == nullptr) return matches_any_glob(globs, {});
    const auto judge = [](void* context, std::string_view line) {
        return matches_any_glob(*static_cast<const std::vector<std::string>*>(context), line);
    };
    return lines->any(*lines, judge, const_cast<std::vector<std::string>*>(&globs));
}

std::string glob_for_any_line(std::string_view where) {
    for (std::size_t colon = where.find(':'); colon != std::string_view::npos; colon = where.find(':', colon + 1)) {
        const std::size_t end = where.find_first_not_of("0123456789", colon + 1);
        if (end != std::string_view::npos && end > colon + 1 && where[end] == ' ')
            return std::string(where.substr(0, colon + 1)).append("*").append(where.substr(end));
    }
    return std::string(where);
}

bool matches_text(const Conditions& conditions, const MatmulCall& call) {
    if (conditions.text.empty()) return true;
    const auto text = call.text == nullptr ? std::nullopt : call.text->read_text(*call.text);
    if (text) return matches_any_glob(conditions.text, *text);
    return conditions.where != conditions.where_of_any_line && matches_any_glob(conditions.where, call.where);
}

double smallest_dim(const MatmulCall& call) {
    double smallest = -1;
    for (const std::int64_t size : {call.m, call.n, call.k})
        if (size >= 0 && (smallest < 0 || static_cast<double>(size) < smallest)) smallest = static_cast<double>(size);
    return smallest;
}

double largest_dim(const MatmulCall& call) { return static_cast<double>(std::max({call.m, call.n, call.k})); }

double flops_of(const MatmulCall& call) {
    if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch < 0) return -1;
    const double per_element = is_complex(call.dtype) ? 8 : 2;
    return per_element * static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k) *
           static_cast<double>(call.batch);
}

bool Conditions::empty() const { return *this == Conditions{}; }

bool Conditions::looks_at_sizes() const {
    return !(m.empty() && n.empty() && k.empty() && batch.empty() && min_dim.empty() && max_dim.empty() &&
             flops.empty() && call_number.empty());
}

RuleNeeds Policy::needs() const {
    RuleNeeds needs;
    for (const Rule& rule : rules)
        for (const Conditions* conditions : {&rule.when, &rule.unless}) {
            needs.looks_at_sizes |= conditions->looks_at_sizes();
            needs.looks_at_scopes |= !conditions->scope.empty();
            needs.looks_at_where |= !conditions->where.empty() || !conditions->stack.empty();
            needs.looks_at_text |= !conditions->text.empty();
            needs.looks_at_call_numbers |= !conditions->call_number.empty();
            needs.looks_at_call_sites |= !conditions->call_site.empty();
        }
    return needs;
}

bool Policy::has_tolerances() const {
    return std::any_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.tolerance.has_value(); });
}

bool Policy::limits_algorithms() const {
    return algorithms.any() ||
           std::any_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.algorithms.any(); });
}

bool Policy::changes_accumulation() const {
    return accumulate == Accumulate::fp32 || std::any_of(rules.begin(), rules.end(), [](const Rule& rule) {
               return rule.accumulate == Accumulate::fp32;
           });
}

bool Policy::wants(LocationSource source) const {
    const bool opens_scopes = source == LocationSource::nvtx || source == LocationSource::torch;
    return log_where.has(source) || (opens_scopes && needs().looks_at_scopes);
}

bool decides_for_dtype(const Rule& rule, Dtype dtype) {
    if (is_half(dtype)) return rule.accumulate.has_value();
    return rule.has_precision && (!is_double(dtype) || !rule.when.dtype.empty());
}

bool conditions_match(const Rule& rule, const MatmulCall& call, const ProcessDescription& process) {
    return conditions_hold(rule.when, call, process) &&
           (rule.unless.empty() || !conditions_hold(rule.unless, call, process));
}

bool decides_call(const Rule& rule, const MatmulCall& call, const ProcessDescription& process) {
    return decides_for_dtype(rule, call.dtype) && conditions_match(rule, call, process);
}

}  // namespace fp32shim::policy
