// The keys of `when` and `unless`, each judged once: for the verdict (matches) and for its reasons (explain_rule).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policy/glob.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

// Of the three kinds of list, an empty one asks for nothing.

inline bool any_glob(const std::vector<std::string>& globs, std::string_view text) {
    return globs.empty() ||
           std::any_of(globs.begin(), globs.end(), [&](const auto& glob) { return glob_matches(glob, text); });
}

template <class T>
bool any_of(const std::vector<T>& values, T value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

/// A negative size is one that is not known: no condition on it holds.
inline bool any_range(const std::vector<Range>& ranges, double size) {
    return ranges.empty() || (size >= 0 && std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
                                  return range.lowest <= size && size <= range.highest;
                              }));
}

/// A scope condition holds inside every scope that it names, also where other scopes were opened within: the glob is
/// tried on the whole path and on each label of it.
bool any_scope(const std::vector<std::string>& globs, std::string_view path);

/// The smallest and the largest of m, n and k that the function has, in elements; -1 where it has none.
double smallest_dim(const MatmulCall& call);
double largest_dim(const MatmulCall& call);
/// 2mnk, complex 8mnk, times the batch count, in double since 64 bits overflow for sizes that are legal; -1 where the
/// function lacks one of the sizes.
double flops_of(const MatmulCall& call);
/// In units of 10·major + minor; -1 on the CPU and where it is unknown.
inline double capability_of(const MatmulCall& call) {
    return call.compute_capability > 0 ? call.compute_capability : -1;
}

/// Calls `judge(key, list, found, holds)` for each key in turn while it returns true, and returns whether it did to
/// the end. `found` is what the call or the process has for that key.
template <class Judge>
bool judge_conditions(const Conditions& c, const MatmulCall& call, const Process& process, const Judge& judge) {
    const auto glob = [&](std::string_view key, const std::vector<std::string>& globs, std::string_view text) {
        return judge(key, globs, text, any_glob(globs, text));
    };
    const auto size = [&](std::string_view key, const std::vector<Range>& ranges, auto size_of) {
        if (ranges.empty()) return true;
        const double found = size_of();
        return judge(key, ranges, found, any_range(ranges, found));
    };
    const auto dim = [&](std::string_view key, const std::vector<Range>& ranges, std::int64_t found) {
        return size(key, ranges, [found] { return static_cast<double>(found); });
    };
    return judge("device", c.device, call.device, any_of(c.device, call.device)) &&
           judge("dtype", c.dtype, call.dtype, any_of(c.dtype, call.dtype)) &&
           size("compute_capability", c.compute_capability, [&] { return capability_of(call); }) &&
           dim("m", c.m, call.m) && dim("n", c.n, call.n) && dim("k", c.k, call.k) &&
           dim("batch", c.batch, call.batch) && size("min_dim", c.min_dim, [&] { return smallest_dim(call); }) &&
           size("max_dim", c.max_dim, [&] { return largest_dim(call); }) &&
           size("flops", c.flops, [&] { return flops_of(call); }) && glob("function", c.function, call.function) &&
           glob("caller", c.caller, call.caller) &&
           judge("scope", c.scope, call.scope, any_scope(c.scope, call.scope)) &&
           glob("executable", c.executable, process.executable) && glob("host", c.host, process.host) &&
           glob("command", c.command, process.command);
}

}  // namespace fp32shim::policy
