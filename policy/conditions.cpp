// Whether a rule's conditions hold for a call.
#include <algorithm>
#include <initializer_list>
#include <string>

#include "policy/decide.hpp"
#include "policy/glob.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {
namespace {

/// Of these three kinds of list, an empty one asks for nothing.
bool any_glob(const std::vector<std::string>& globs, std::string_view text) {
    return globs.empty() ||
           std::any_of(globs.begin(), globs.end(), [&](const auto& glob) { return glob_matches(glob, text); });
}

template <class T>
bool any_of(const std::vector<T>& values, T value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

/// A negative size is one that the function does not have: no condition on it holds.
bool any_range(const std::vector<Range>& ranges, double size) {
    return ranges.empty() || (size >= 0 && std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
                                  return range.lowest <= size && size <= range.highest;
                              }));
}

/// A scope condition holds inside every scope that it names, also where other scopes were opened within: the glob is
/// tried on the whole path and on each label of it.
bool any_scope(const std::vector<std::string>& globs, std::string_view path) {
    if (any_glob(globs, path)) return true;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (any_glob(globs, path.substr(0, end))) return true;
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return false;
}

double smallest_dim(const MatmulCall& call) {
    double smallest = -1;
    for (const std::int64_t size : {call.m, call.n, call.k}) {
        if (size >= 0 && (smallest < 0 || static_cast<double>(size) < smallest)) smallest = static_cast<double>(size);
    }
    return smallest;
}

double largest_dim(const MatmulCall& call) { return static_cast<double>(std::max({call.m, call.n, call.k})); }

/// In double, since 2mnk overflows 64 bits for sizes that are legal.
double flops_of(const MatmulCall& call) {
    if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch < 0) return -1;
    const double per_element = call.dtype == Dtype::complex64 ? 8 : 2;
    return per_element * static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k) *
           static_cast<double>(call.batch);
}

bool sizes_hold(const Conditions& conditions, const MatmulCall& call) {
    return any_range(conditions.m, static_cast<double>(call.m)) &&
           any_range(conditions.n, static_cast<double>(call.n)) &&
           any_range(conditions.k, static_cast<double>(call.k)) &&
           any_range(conditions.batch, static_cast<double>(call.batch)) &&
           any_range(conditions.min_dim, smallest_dim(call)) && any_range(conditions.max_dim, largest_dim(call)) &&
           any_range(conditions.flops, flops_of(call));
}

bool hold(const Conditions& conditions, const MatmulCall& call, const Process& process) {
    const double capability = call.compute_capability > 0 ? call.compute_capability : -1;  // 0: unknown, or no GPU
    return any_of(conditions.device, call.device) && any_of(conditions.dtype, call.dtype) &&
           any_range(conditions.compute_capability, capability) && sizes_hold(conditions, call) &&
           any_glob(conditions.function, call.function) && any_glob(conditions.caller, call.caller) &&
           any_scope(conditions.scope, call.scope) && any_glob(conditions.executable, process.executable) &&
           any_glob(conditions.host, process.host) && any_glob(conditions.command, process.command);
}

}  // namespace

bool Conditions::empty() const { return *this == Conditions{}; }

bool Conditions::looks_at_sizes() const {
    for (const auto* ranges : {&m, &n, &k, &batch, &min_dim, &max_dim, &flops}) {
        if (!ranges->empty()) return true;
    }
    return false;
}

bool Policy::looks_at_sizes() const {
    return std::any_of(rules.begin(), rules.end(),
                       [](const Rule& rule) { return rule.when.looks_at_sizes() || rule.unless.looks_at_sizes(); });
}

bool matches(const Rule& rule, const MatmulCall& call, const Process& process) {
    return hold(rule.when, call, process) && (rule.unless.empty() || !hold(rule.unless, call, process));
}

}  // namespace fp32shim::policy
