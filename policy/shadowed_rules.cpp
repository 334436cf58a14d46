#include "policy/shadowed_rules.hpp"

#include <algorithm>
#include <string>

#include "policy/decide.hpp"
#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

/// Number of comparisons that may still be made. Limited, since a malicious file could require too many. When the
/// number is used up, no further rule is reported as shadowed.
class Budget {
  public:
    bool spend_steps(std::size_t count) {
        const bool is_enough = count <= left_;
        left_ -= is_enough ? count : left_;
        return is_enough;
    }

  private:
    std::size_t left_ = 4'000'000;
};

/// Returns true if the list `broad` allows everything that `narrow` allows. An empty list allows everything.
template <class T, class Covers>
bool covers_list(const std::vector<T>& broad, const std::vector<T>& narrow, Budget& budget, const Covers& covers) {
    if (broad.empty()) return true;
    if (narrow.empty() || !budget.spend_steps(broad.size() * narrow.size())) return false;
    return std::all_of(narrow.begin(), narrow.end(), [&](const T& one) {
        return std::any_of(broad.begin(), broad.end(), [&](const T& other) { return covers(other, one); });
    });
}

bool covers_globs(const std::vector<std::string>& broad, const std::vector<std::string>& narrow, Budget& budget) {
    return covers_list(broad, narrow, budget, [&](const std::string& one, const std::string& other) {
        return one == other || (budget.spend_steps(one.size() * other.size() / 64) && glob_covers(one, other));
    });
}

bool range_covers(const Range& broad, const Range& narrow) {
    return broad.lowest <= narrow.lowest && narrow.highest <= broad.highest;
}

bool covers_ranges(const std::vector<Range>& broad, const std::vector<Range>& narrow, Budget& budget) {
    return covers_list(broad, narrow, budget, range_covers);
}

/// Returns the devices that conditions allow; empty: every device. A condition on the compute capability allows GPUs
/// only.
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

/// Returns true if `broad` holds for every call that satisfies `narrow`. Both are conditions of the same kind, `when`
/// or `unless`.
bool covers(const Conditions& broad, const Conditions& narrow, Budget& budget) {
    const auto same = [](const auto& one, const auto& other) { return one == other; };
    for (const auto key :
         {&Conditions::function, &Conditions::caller, &Conditions::executable, &Conditions::command,
          &Conditions::host, &Conditions::scope, &Conditions::text, &Conditions::call_site, &Conditions::stack})
        if (!covers_globs(broad.*key, narrow.*key, budget)) return false;
    if (!covers_globs(broad.where_to_match(), narrow.where_to_match(), budget)) return false;
    for (const auto key :
         {&Conditions::compute_capability, &Conditions::m, &Conditions::n, &Conditions::k, &Conditions::batch,
          &Conditions::min_dim, &Conditions::max_dim, &Conditions::flops, &Conditions::call_number})
        if (!covers_ranges(broad.*key, narrow.*key, budget)) return false;
    return covers_list(broad.device, devices_of(narrow), budget, same) &&
           covers_list(broad.dtype, narrow.dtype, budget, same);
}

/// Returns true if no value satisfies both lists. An empty list allows all values.
template <class T, class Meets>
bool are_disjoint(const std::vector<T>& one, const std::vector<T>& other, Budget& budget, const Meets& meets) {
    if (one.empty() || other.empty() || !budget.spend_steps(one.size() * other.size())) return false;
    return std::none_of(one.begin(), one.end(), [&](const T& value) {
        return std::any_of(other.begin(), other.end(), [&](const T& another) { return meets(value, another); });
    });
}

/// Returns true if it is certain that no call satisfies both conditions.
bool exclude_each_other(const Conditions& one, const Conditions& other, Budget& budget) {
    const auto same = [](const auto& a, const auto& b) { return a == b; };
    const auto overlap = [](const Range& a, const Range& b) {
        return a.lowest <= b.highest && b.lowest <= a.highest;
    };
    for (const auto key :
         {&Conditions::compute_capability, &Conditions::m, &Conditions::n, &Conditions::k, &Conditions::batch,
          &Conditions::min_dim, &Conditions::max_dim, &Conditions::flops, &Conditions::call_number})
        if (are_disjoint(one.*key, other.*key, budget, overlap)) return true;
    return are_disjoint(devices_of(one), devices_of(other), budget, same) ||
           are_disjoint(one.dtype, other.dtype, budget, same);
}

/// Returns true if `earlier` applies to every call that `later` applies to.
bool shadows(const Rule& earlier, const Rule& later, Budget& budget) {
    const auto same = [](const auto& one, const auto& other) { return one == other; };
    if (!decides_as_much(earlier, later)) return false;
    // Limits of algorithms apply to products of all types.
    if (later.algorithms.any() && !covers_list(earlier.when.dtype, later.when.dtype, budget, same)) return false;
    if (!covers(earlier.when, later.when, budget) || !covers_list(dtypes_of(earlier), dtypes_of(later), budget, same))
        return false;
    if (earlier.unless.empty() || exclude_each_other(earlier.unless, later.when, budget)) return true;
    return !later.unless.empty() && covers(later.unless, earlier.unless, budget);
}

std::vector<GlobElement> elements_of(std::string_view glob) {
    std::vector<GlobElement> elements;
    for (std::size_t at = 0; at < glob.size(); at += elements.back().text.size())
        elements.push_back(glob_element(glob, at));
    return elements;
}

/// Returns true if `broad` matches every byte that `narrow` matches.
bool element_covers(const GlobElement& broad, const GlobElement& narrow) {
    using Kind = GlobElement::Kind;
    if (narrow.kind == Kind::run) return false;
    if (broad.kind == Kind::any || broad.text == narrow.text) return true;
    return narrow.kind == Kind::literal && broad.matches(narrow.text[0]);
}

}  // namespace

/// Matches `broad` against `narrow` as if each element of `narrow` were a letter of a text. A match proves that
/// `broad` matches every text that `narrow` matches. A `*` of `narrow` is matched by a `*` only.
bool glob_covers(std::string_view broad, std::string_view narrow) {
    const std::vector<GlobElement> pattern = elements_of(broad), text = elements_of(narrow);
    std::size_t at = 0, position = 0, after_run = std::string_view::npos, run_end = 0;
    while (position < text.size()) {
        if (at < pattern.size() && pattern[at].kind == GlobElement::Kind::run) {
            after_run = ++at;
            run_end = position;
        } else if (at < pattern.size() && element_covers(pattern[at], text[position])) {
            ++at;
            ++position;
        } else if (after_run != std::string_view::npos) {
            at = after_run;
            position = ++run_end;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at].kind == GlobElement::Kind::run) ++at;
    return at == pattern.size();
}

std::vector<ShadowedRule> shadowed_rules(const std::vector<Rule>& rules) {
    std::vector<ShadowedRule> shadowed;
    Budget budget;
    for (std::size_t later = 0; later < rules.size(); ++later) {
        const auto earlier = std::find_if(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(later),
                                          [&](const Rule& rule) { return shadows(rule, rules[later], budget); });
        const auto index = static_cast<std::size_t>(earlier - rules.begin());
        if (index != later) shadowed.push_back({later, index});
    }
    return shadowed;
}

}  // namespace fp32shim::policy
