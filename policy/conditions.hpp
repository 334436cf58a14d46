// Judges the conditions in `when` and `unless` of a rule, for conditions_match(), decides_call() and may_match()
// (decide.hpp), and for explain_rule(), which shows the verdict on each key.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policy/glob.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

// In all functions of this file, an empty list sets no condition, so it matches everything.

inline bool matches_any_glob(const std::vector<std::string>& globs, std::string_view text) {
    return globs.empty() ||
           std::any_of(globs.begin(), globs.end(), [&](const auto& glob) { return glob_matches(glob, text); });
}

template <class T>
bool matches_any_value(const std::vector<T>& values, T value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

/// Returns true if `ranges` is empty, or one of them contains `size`. A negative size means an unknown size, which is
/// in no range.
inline bool lies_in_any_range(const std::vector<NumberRange>& ranges, double size) {
    return ranges.empty() || (size >= 0 && std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
                                  return range.lowest <= size && size <= range.highest;
                              }));
}

/// Returns true if `globs` is empty, or one of them matches the whole `path` of open scopes (`outer/inner`) or one of
/// its labels. So a condition on the scope `outer` also holds in scopes opened inside it.
bool matches_scope(const std::vector<std::string>& globs, std::string_view path);

/// Returns true if `globs` is empty, or one of them matches one form of the call site: `libphysics.so!solve+0x1c4`,
/// `libphysics.so!solve` or `libphysics.so+0x31c4`. If `site` is nullptr (unknown), the globs are compared with an
/// empty text.
bool matches_call_site(const std::vector<std::string>& globs, const CallSiteText* site);

/// Returns true if `globs` is empty, or one of them matches one of the `lines` of Python that led to the call. If
/// `lines` is nullptr (unknown), the globs are compared with an empty text.
bool matches_line(const std::vector<std::string>& globs, const PythonStackLines* lines);

/// Returns a glob that matches a line of Python at any line number: `train.py:* forward` for `train.py:41 forward`.
std::string glob_for_any_line(std::string_view where);

/// Returns true if `conditions` have no `text`, or if one glob of `text` matches the text of the source line that
/// asked for the call. If that text cannot be read, returns true if `where` has a line number and matches the call.
bool matches_text(const Conditions& conditions, const MatmulCall& call);

/// Returns the smallest of m, n and k, or -1 if all three are unknown.
double smallest_dim(const MatmulCall& call);
/// Returns the largest of m, n and k, or -1 if all three are unknown.
double largest_dim(const MatmulCall& call);
/// Returns the number of floating-point operations of a call: 2mnk (8mnk for complex numbers) times the batch count.
/// Returns -1 if one of the sizes is unknown. The result is a double, because the number may not fit into 64 bits.
double flops_of(const MatmulCall& call);
/// Returns the compute capability as 10·major + minor, or -1 on the CPU or if the capability is unknown.
inline double compute_capability_of(const MatmulCall& call) {
    return call.compute_capability > 0 ? call.compute_capability : -1;
}

/// Calls `judge(key, list, found, holds)` for each condition key, and returns false as soon as `judge` does. `list`
/// has the values that the rule allows, `found` is the value of the call or process, and `holds` is true if `list`
/// allows `found`. Does not call `judge` for a size if its `list` is empty.
template <class Judge>
bool judge_conditions(const Conditions& c, const MatmulCall& call, const ProcessDescription& process,
                      const Judge& judge) {
    const auto glob = [&](std::string_view key, const std::vector<std::string>& globs, std::string_view text) {
        return judge(key, globs, text, matches_any_glob(globs, text));
    };
    const auto size = [&](std::string_view key, const std::vector<NumberRange>& ranges, auto size_of) {
        if (ranges.empty()) return true;
        const double found = size_of();
        return judge(key, ranges, found, lies_in_any_range(ranges, found));
    };
    const auto dim = [&](std::string_view key, const std::vector<NumberRange>& ranges, std::int64_t found) {
        return size(key, ranges, [found] { return static_cast<double>(found); });
    };
    return judge("device", c.device, call.device, matches_any_value(c.device, call.device)) &&
           judge("dtype", c.dtype, call.dtype, matches_any_value(c.dtype, call.dtype)) &&
           size("compute_capability", c.compute_capability, [&] { return compute_capability_of(call); }) &&
           dim("m", c.m, call.m) && dim("n", c.n, call.n) && dim("k", c.k, call.k) &&
           dim("batch", c.batch, call.batch) && size("min_dim", c.min_dim, [&] { return smallest_dim(call); }) &&
           size("max_dim", c.max_dim, [&] { return largest_dim(call); }) &&
           size("flops", c.flops, [&] { return flops_of(call); }) &&
           dim("call_number", c.call_number, call.call_number) && glob("function", c.function, call.function) &&
           glob("caller", c.caller, call.caller) &&
           judge("scope", c.scope, call.scope, matches_scope(c.scope, call.scope)) &&
           judge("where", c.where, call.where, matches_any_glob(c.effective_where_globs(), call.where)) &&
           judge("text", c.text, call.text, matches_text(c, call)) &&
           judge("call_site", c.call_site, call.call_site, matches_call_site(c.call_site, call.call_site)) &&
           judge("stack", c.stack, call.stack, matches_line(c.stack, call.stack)) &&
           glob("executable", c.executable, process.executable) && glob("host", c.host, process.host) &&
           glob("command", c.command, process.command);
}

}  // namespace fp32shim::policy
