#include "cli/run/range_hooks.hpp"

#include <algorithm>

namespace fp32shim::cli {

std::vector<RangeHook> wanted_range_hooks(const ProcessEnvironment& environment) {
    const std::vector<std::string> words = list_entries(environment.get("FP32_MATMUL_WHERE"), ",");
    const bool wants_all = std::ranges::count(words, "auto") > 0;
    std::vector<RangeHook> wanted;
    for (const RangeHook& hook : range_hooks)
        if (wants_all || std::ranges::count(words, hook.word) > 0) wanted.push_back(hook);
    return wanted;
}

void hook_ranges(ProcessEnvironment& environment, const std::string& library) {
    for (const RangeHook& hook : wanted_range_hooks(environment))
        if (environment.get(hook.variable).empty()) environment.set(hook.variable, library);
}

}  // namespace fp32shim::cli
