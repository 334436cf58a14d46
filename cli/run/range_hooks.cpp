#include "cli/run/range_hooks.hpp"

namespace fp32shim::cli {

std::vector<RangeHook> wanted_range_hooks(const policy::Policy& policy) {
    std::vector<RangeHook> wanted;
    if (policy.disabled) return wanted;
    for (const RangeHook& hook : range_hooks)
        if (policy.log_where.has(hook.source)) wanted.push_back(hook);
    return wanted;
}

void hook_ranges(const policy::Policy& policy, const std::string& library, ProcessEnvironment& environment) {
    for (const RangeHook& hook : wanted_range_hooks(policy))
        if (environment.get(hook.variable).empty()) environment.set(hook.variable, library);
}

}  // namespace fp32shim::cli
