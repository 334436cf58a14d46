#include "policy/shadowed_rules.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "policy/decide.hpp"
#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

/// The number of comparisons that may still be made. It is limited, because a malicious file could require too many.
/// When it is used up, lists and globs that would have to be compared count as not covered.
class ComparisonBudget {
  public:
    bool spend_steps(std::size_t count) {
        const bool is_enough = count <= left_;
        left_ -= is_enough ? count : left_;
        return is_enough;
    }

  private:
    std::size_t left_ = 4'000'000;
};

/// Returns true if the list `broad` allows all that the list `narrow` allows. An empty list allows everything.
template <class T, class Covers>
bool covers_list(const std::vector<T>& broad, const std::vector<T>& narrow, ComparisonBudget& budget,
                 const Covers& covers) {
    if (broad.empty()) return true;
    if (narrow.empty() || !budget.spend_steps(broad.size() * narrow.size())) return false;
    return std::all_of(narrow.begin(), narrow.end(), [&](const T& one) {
        return std::any_of(broad.begin(), broad.end(), [&](const T& other) { return covers(other, one); });
    });
}

bool covers_globs(const std::vector<std::string>& broad, const std::vector<std::string>& narrow,
                  ComparisonBudget& budget) {
    return covers_list(broad, narrow, budget, [&](const std::string& one, const std::string& other) {
        return one == other || (budget.spend_steps(one.size() * other.size() / 64) && glob_covers(one, other));
    });
}

bool range_covers(const NumberRange& broad, const NumberRange& narrow) {
    return broad.lowest <= narrow.lowest && narrow.highest <= broad.highest;
}

/// Returns the devices that conditions allow, or an empty list for every device. A condition on the compute
/// capability allows GPUs only.
std::vector<Device> devices_of(const Conditions& conditions) {
    const bool is_implied = conditions.device.empty() && !conditions.compute_capability.empty();
    return is_implied ? std::vector{Device::cuda} : conditions.device;
}

/// Returns the element types to which a rule applies.
std::vector<Dtype> dtypes_of(const Rule& rule) {
    if (!rule.when.dtype.empty()) return rule.when.dtype;
    std::vector<Dtype> types;
    if (rule.has_precision) types = {Dtype::float32, Dtype::complex64};
    if (rule.accumulate) types.insert(types.end(), {Dtype::float16, Dtype::bfloat16});
    return types;
}

constexpr std::vector<NumberRange> Conditions::*range_keys[] = {
    &Conditions::compute_capability,
    &Conditions::m,
    &Conditions::n,
    &Conditions::k,
    &Conditions::batch,
    &Conditions::min_dim,
    &Conditions::max_dim,
    &Conditions::flops,
    &Conditions::call_number,
};
constexpr std::equal_to<> same;

/// Returns true if `broad` holds for every call that satisfies `narrow`. Both are conditions of the same kind, `when`
/// or `unless`.
bool covers(const Conditions& broad, const Conditions& narrow, ComparisonBudget& budget) {
    for (const auto key :
         {&Conditions::function, &Conditions::caller, &Conditions::executable, &Conditions::command,
          &Conditions::host, &Conditions::scope, &Conditions::text, &Conditions::call_site, &Conditions::stack})
        if (!covers_globs(broad.*key, narrow.*key, budget)) return false;
    if (!covers_globs(broad.effective_where_globs(), narrow.effective_where_globs(), budget)) return false;
    for (const auto key : range_keys)
        if (!covers_list(broad.*key, narrow.*key, budget, range_covers)) return false;
    return covers_list(broad.device, devices_of(narrow), budget, same) &&
           covers_list(broad.dtype, narrow.dtype, budget, same);
}

/// Returns true if no value satisfies both lists. An empty list allows all values.
template <class T, class Meets>
bool are_disjoint(const std::vector<T>& one, const std::vector<T>& other, ComparisonBudget& budget,
                  const Meets& meets) {
    if (one.empty() || other.empty() || !budget.spend_steps(one.size() * other.size())) return false;
    return std::none_of(one.begin(), one.end(), [&](const T& value) {
        return std::any_of(other.begin(), other.end(), [&](const T& another) { return meets(value, another); });
    });
}

/// Returns true if it is certain that no call satisfies both conditions.
bool exclude_each_other(const Conditions& one, const Conditions& other, ComparisonBudget& budget) {
    const auto overlap = [](const NumberRange& a, const NumberRange& b) {
        return a.lowest <= b.highest && b.lowest <= a.highest;
    };
    for (const auto key : range_keys)
        if (are_disjoint(one.*key, other.*key, budget, overlap)) return true;
    return are_disjoint(devices_of(one), devices_of(other), budget, same) ||
           are_disjoint(one.dtype, other.dtype, budget, same);
}

/// Returns true if `earlier` applies to every call that `later` applies to.
bool shadows(const Rule& earlier, const Rule& later, ComparisonBudget& budget) {
    if (!decides_as_much(earlier, later)) return false;
    // Limits on algorithms apply to products of all types, so `earlier` must allow all types that `later` allows.
    if (later.algorithms.any() && !covers_list(earlier.when.dtype, later.when.dtype, budget, same)) return false;
    if (!covers(earlier.when, later.when, budget) || !covers_list(dtypes_of(earlier), dtypes_of(later), budget, same))
        return false;
    if (earlier.unless.empty() || exclude_each_other(earlier.unless, later.when, budget)) return true;
    return !later.unless.empty() && covers(later.unless, earlier.unless, budget);
}

std::vector<GlobElement> elements_of(std::string_view glob) {
    std::vector<GlobElement> elements;
    for (std::size_t at = 0; at < glob.size(); at += elements.back().text.size())
        elements.push_back(parse_glob_element(glob, at));
    return elements;
}

/// Returns true if `broad` matches every byte that `narrow` matches.
bool element_covers(const GlobElement& broad, const GlobElement& narrow) {
    using ElementKind = GlobElement::ElementKind;
    if (narrow.kind == ElementKind::run) return false;
    if (broad.kind == ElementKind::any || broad.text == narrow.text) return true;
    return narrow.kind == ElementKind::literal && broad.matches(narrow.text[0]);
}

}  // namespace

/// Matches `broad` against `narrow` as if each element of `narrow` were a letter of a text. A match proves that
/// `broad` matches every text that `narrow` matches. A `*` of `narrow` is matched by a `*` only.
bool glob_covers(std::string_view broad, std::string_view narrow) {
    const std::vector<GlobElement> pattern = elements_of(broad), text = elements_of(narrow);
    std::size_t at = 0, position = 0;
    std::size_t after_wildcard = std::string_view::npos;  // index in `pattern`; npos: no wildcard was met
    std::size_t wildcard_end = 0;  // index in `text` at which the stretch that this wildcard matches ends
    while (position < text.size()) {
        if (at < pattern.size() && pattern[at].kind == GlobElement::ElementKind::run) {
            after_wildcard = ++at;
            wildcard_end = position;
        } else if (at < pattern.size() && element_covers(pattern[at], text[position])) {
            ++at;
            ++position;
        } else if (after_wildcard != std::string_view::npos) {
            at = after_wildcard;
            position = ++wildcard_end;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at].kind == GlobElement::ElementKind::run) ++at;
    return at == pattern.size();
}

std::vector<ShadowedRule> find_shadowed_rules(const std::vector<Rule>& rules) {
    std::vector<ShadowedRule> shadowed;
    ComparisonBudget budget;
    for (std::size_t later = 0; later < rules.size(); ++later) {
        const auto earlier = std::find_if(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(later),
                                          [&](const Rule& rule) { return shadows(rule, rules[later], budget); });
        const auto index = static_cast<std::size_t>(earlier - rules.begin());
        if (index != later) shadowed.push_back({later, index});
    }
    return shadowed;
}

}  // namespace fp32shim::policy
