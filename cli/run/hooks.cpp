#include "cli/run/hooks.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/binaries/program_file.hpp"
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
        if (!set.empty() && set != library && policy.needs().looks_at_scopes)
            lack += fmt::format("{}{}={} gives {} ranges to that library", lack.empty() ? "" : ", and ",
                                hook.variable, policy::quoted_path(set), hook.name);
    }
    return lack.empty() ? lack : lack + ", so rules by scope do not apply within them";
}

std::string add_python_start_up(const policy::Policy& policy, ProcessEnvironment& environment) {
    if (policy.disabled || !policy.wants(policy::Where::torch)) return {};
    policy::WhereSet where = policy.log_where;
    where.bits |= static_cast<std::uint8_t>(policy::Where::torch);
    environment.set("FP32_MATMUL_WHERE", policy::to_string(where));
    const std::string file = find_installed(
        {"../share/fp32shim/site-packages", FP32SHIM_INSTALL_DATADIR "/fp32shim/site-packages"}, "sitecustomize.py");
    if (file.empty())
        return "where: torch: the start-up file of Python programs is not in " +
               policy::quoted_path(
                   (std::filesystem::path(own_program()).parent_path() / "../share/fp32shim/site-packages")
                       .lexically_normal()
                       .string());
    const std::string first = std::filesystem::path(file).parent_path().string();
    if (first.find(':') != std::string::npos)
        return "where: torch: PYTHONPATH cannot hold a path with a colon: " + policy::quoted_path(first);
    // The rest of the list stays unchanged, since an empty entry in it means the program's own folder.
    const std::string others = environment.get("PYTHONPATH");
    if (others != first && !others.starts_with(first + ':'))
        environment.set("PYTHONPATH", others.empty() ? first : first + ':' + others);
    return {};
}

}  // namespace fp32shim::cli
