#include "cli/run/range_hooks.hpp"

#include <fmt/format.h>

#include "policy/messages.hpp"

namespace fp32shim::cli {

std::vector<RangeHook> wanted_range_hooks(const policy::Policy& policy) {
    std::vector<RangeHook> wanted;
    if (policy.disabled) return wanted;
    for (const RangeHook& hook : range_hooks)
        if (policy.wants(hook.source)) wanted.push_back(hook);
    return wanted;
}

std::string hook_ranges(const policy::Policy& policy, const std::string& library, ProcessEnvironment& environment) {
    std::string lack;
    for (const RangeHook& hook : wanted_range_hooks(policy)) {
        const std::string set = environment.get(hook.variable);
        if (set.empty()) environment.set(hook.variable, library);
        if (!set.empty() && set != library && policy.looks_at_scopes())
            lack += fmt::format("{}{}={} keeps {} ranges for that library", lack.empty() ? "" : ", and ",
                                hook.variable, policy::quoted_path(set), hook.name);
    }
    return lack.empty() ? lack : lack + ": rules by scope do not apply within them";
}

}  // namespace fp32shim::cli
