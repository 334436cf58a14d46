#include "policy/shadowed_rules.hpp"

#include <algorithm>
#include <string>

#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

/// Beyond this, lists are compared for equality only: each entry of one is tried with each of the other.
constexpr std::size_t longest_list = 100;

/// Whether whatever satisfies `narrow` satisfies `broad`. An empty list asks for nothing.
template <class T, class Covers>
bool covers_list(const std::vector<T>& broad, const std::vector<T>& narrow, const Covers& covers) {
    if (broad.empty() || broad == narrow) return true;
    if (narrow.empty() || std::max(broad.size(), narrow.size()) > longest_list) return false;
    return std::all_of(narrow.begin(), narrow.end(), [&](const T& one) {
        return std::any_of(broad.begin(), broad.end(), [&](const T& other) { return covers(other, one); });
    });
}

bool covers_globs(const std::vector<std::string>& broad, const std::vector<std::string>& narrow) {
    return covers_list(broad, narrow, glob_covers);
}

bool range_covers(const Range& broad, const Range& narrow) {
    return broad.lowest <= narrow.lowest && narrow.highest <= broad.highest;
}

bool covers_ranges(const std::vector<Range>& broad, const std::vector<Range>& narrow) {
    return covers_list(broad, narrow, range_covers);
}

/// Only GPUs have a compute capability.
std::vector<Device> devices_of(const Conditions& conditions) {
    const bool is_implied = conditions.device.empty() && !conditions.compute_capability.empty();
    return is_implied ? std::vector{Device::cuda} : conditions.device;
}

/// Whether `broad` holds for every call that `narrow` holds for.
bool covers(const Conditions& broad, const Conditions& narrow) {
    const auto same = [](const auto& one, const auto& other) { return one == other; };
    for (const auto key : {&Conditions::function, &Conditions::caller, &Conditions::executable, &Conditions::command,
                           &Conditions::host, &Conditions::scope})
        if (!covers_globs(broad.*key, narrow.*key)) return false;
    for (const auto key : {&Conditions::compute_capability, &Conditions::m, &Conditions::n, &Conditions::k,
                           &Conditions::batch, &Conditions::min_dim, &Conditions::max_dim, &Conditions::flops})
        if (!covers_ranges(broad.*key, narrow.*key)) return false;
    return covers_list(broad.device, devices_of(narrow), same) && covers_list(broad.dtype, narrow.dtype, same);
}

/// Whether no value is in both lists; lists that ask for nothing have all.
template <class T, class Meets>
bool exclude(const std::vector<T>& one, const std::vector<T>& other, const Meets& meets) {
    if (one.empty() || other.empty() || std::max(one.size(), other.size()) > longest_list) return false;
    return std::none_of(one.begin(), one.end(), [&](const T& value) {
        return std::any_of(other.begin(), other.end(), [&](const T& another) { return meets(value, another); });
    });
}

/// Whether it is certain that no call satisfies both.
bool exclude_each_other(const Conditions& one, const Conditions& other) {
    const auto same = [](const auto& a, const auto& b) { return a == b; };
    const auto overlap = [](const Range& a, const Range& b) {
        return a.lowest <= b.highest && b.lowest <= a.highest;
    };
    for (const auto key : {&Conditions::compute_capability, &Conditions::m, &Conditions::n, &Conditions::k,
                           &Conditions::batch, &Conditions::min_dim, &Conditions::max_dim, &Conditions::flops})
        if (exclude(one.*key, other.*key, overlap)) return true;
    return exclude(devices_of(one), devices_of(other), same) || exclude(one.dtype, other.dtype, same);
}

/// Whether `earlier` applies to every call that `later` applies to.
bool shadows(const Rule& earlier, const Rule& later) {
    if (!covers(earlier.when, later.when)) return false;
    if (earlier.unless.empty() || exclude_each_other(earlier.unless, later.when)) return true;
    return !later.unless.empty() && covers(later.unless, earlier.unless);
}

std::vector<GlobElement> elements_of(std::string_view glob) {
    std::vector<GlobElement> elements;
    for (std::size_t at = 0; at < glob.size(); at += elements.back().text.size())
        elements.push_back(glob_element(glob, at));
    return elements;
}

/// Whether an element of one byte matches every byte that another one matches.
bool element_covers(const GlobElement& broad, const GlobElement& narrow) {
    using Kind = GlobElement::Kind;
    if (narrow.kind == Kind::run) return false;
    if (broad.kind == Kind::any || broad.text == narrow.text) return true;
    return narrow.kind == Kind::literal && broad.matches(narrow.text[0]);
}

}  // namespace

/// Reads `narrow` as a text of which each element is a letter. What `broad` then matches letter by letter, it matches
/// in every text that `narrow` stands for; a `*` of `narrow` only another `*` can match.
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
    for (std::size_t later = 0; later < rules.size(); ++later) {
        const auto earlier = std::find_if(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(later),
                                          [&](const Rule& rule) { return shadows(rule, rules[later]); });
        const auto index = static_cast<std::size_t>(earlier - rules.begin());
        if (index != later) shadowed.push_back({later, index});
    }
    return shadowed;
}

}  // namespace fp32shim::policy
