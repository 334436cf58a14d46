#include "cli/run/hooks.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/binaries/program_file.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {

std::string set_nvtx_receiver(const policy::Policy& policy, const std::string& library,
                              ProcessEnvironment& environment) {
    if (!wants_nvtx_ranges(policy)) return {};
    const std::string set = environment.get(nvtx_variable);
    if (set.empty()) environment.set(nvtx_variable, library);
    if (set.empty() || set == library || !policy.needs().looks_at_scopes) return {};
    return fmt::format("{}={} gives NVTX ranges to that library, so rules by scope do not apply within them",
                       nvtx_variable, policy::quoted_path(set));
}

std::string add_python_start_up(const policy::Policy& policy, ProcessEnvironment& environment) {
    const bool wants_torch = policy.wants(policy::Where::torch);
    if (policy.disabled || !(wants_torch || policy.log_onednn)) return {};
    const std::string_view what = wants_torch ? "where: torch" : "products of JAX";
    policy::WhereSet where = policy.log_where;
    where.bits |= static_cast<std::uint8_t>(policy::Where::torch);
    if (wants_torch) environment.set("FP32_MATMUL_WHERE", policy::to_string(where));
    const std::string file = find_installed_file(
        {"../share/fp32shim/site-packages", FP32SHIM_INSTALL_DATADIR "/fp32shim/site-packages"}, "sitecustomize.py");
    if (file.empty())
        return fmt::format("{}: the start-up file of Python programs is not in {}", what,
                           policy::quoted_path((std::filesystem::path(own_program_path()).parent_path() /
                                                "../share/fp32shim/site-packages")
                                                   .lexically_normal()
                                                   .string()));
    const std::string first = std::filesystem::path(file).parent_path().string();
    if (first.find(':') != std::string::npos)
        return fmt::format("{}: PYTHONPATH cannot hold a path with a colon: {}", what, policy::quoted_path(first));
    // The rest of the list stays unchanged, since an empty entry in it means the program's own folder.
    const std::string others = environment.get("PYTHONPATH");
    if (others != first && !others.starts_with(first + ':'))
        environment.set("PYTHONPATH", others.empty() ? first : first + ':' + others);
    return {};
}

}  // namespace fp32shim::cli
