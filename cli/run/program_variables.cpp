#include "cli/run/program_variables.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/binaries/program_file.hpp"
#include "policy/messages.hpp"
#include "policy/sha256.hpp"
#include "record/pinned_variables.hpp"
#include "system/cpu_features.hpp"

namespace fp32shim::cli {
namespace {

// ---- The folder for JAX's compilation cache

using nlohmann::json;

constexpr std::string_view mark = "/fp32shim-";
constexpr std::size_t digits = 12;

/// Returns true if the policy may run products at another precision than the program requests, or by other
/// algorithms.
bool changes_products(const policy::Policy& policy) {
    return !policy.disabled &&
           (policy.default_precision != policy::Precision::native || policy.floor != policy::Floor::none ||
            policy.limits_algorithms() || policy.changes_accumulation() ||
            std::ranges::any_of(
                policy.rules, [](const policy::Rule& rule) { return rule.precision != policy::Precision::native; }));
}

json json_of_ranges(const std::vector<policy::NumberRange>& all) {
    json list = json::array();
    for (const policy::NumberRange& range : all) list.push_back(json::array({range.lowest, range.highest}));
    return list;
}

json json_of_conditions(const policy::Conditions& all) {
    return json::array({all.function,
                        all.caller,
                        all.executable,
                        all.command,
                        all.host,
                        all.scope,
                        all.where,
                        all.text,
                        all.call_site,
                        all.stack,
                        all.device,
                        all.dtype,
                        json_of_ranges(all.m),
                        json_of_ranges(all.n),
                        json_of_ranges(all.k),
                        json_of_ranges(all.batch),
                        json_of_ranges(all.min_dim),
                        json_of_ranges(all.max_dim),
                        json_of_ranges(all.flops),
                        json_of_ranges(all.compute_capability),
                        json_of_ranges(all.call_number)});
}

json json_of_limits(const policy::AlgorithmLimits& all) {
    return json::array({all.no_split_k, all.reduces_in_compute_type, all.avoids_known_wrong});
}

json json_of_tolerance(const policy::Tolerance& all) { return json::array({all.error, all.metric}); }

/// Returns a text with all settings that can change a product on a GPU. They are settings of `policy`, and `pins`,
/// which has a bit for each variable of `run --pin` that is set (record::all_pins). Programs with equal texts share a
/// cache folder.
std::string gpu_settings_text(const policy::Policy& policy, std::uint16_t pins) {
    json rules = json::array();
    for (const policy::Rule& rule : policy.rules)
        rules.push_back(
            json::array({rule.precision, rule.has_precision, rule.mantissa_bits, json_of_limits(rule.algorithms),
                         rule.accumulate ? json(*rule.accumulate) : json(), rule.assume_aligned, rule.lower_guarded,
                         rule.tolerance ? json_of_tolerance(*rule.tolerance) : json(), json_of_conditions(rule.when),
                         json_of_conditions(rule.unless)}));
    const bool audits_pin = policy.audit_action == policy::AuditAction::pin;
    const json guard = audits_pin ? json_of_tolerance({policy.audit_tolerance, policy.audit_metric}) : json();
    const json all =
        json::array({policy.default_precision, policy.floor, policy.allow_bf16x9, policy.min_compute_capability,
                     policy.pedantic, json_of_limits(policy.algorithms), policy.accumulate, guard, pins, rules});
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Removes from the path `folder` the part that an earlier call of jax_cache_folder() added.
void remove_own_part(std::string& folder) {
    const std::size_t mark_begin = folder.rfind(mark);
    if (mark_begin == std::string::npos || folder.size() != mark_begin + mark.size() + digits) return;
    if (folder.find_first_not_of("0123456789abcdef", mark_begin + mark.size()) == std::string::npos)
        folder.resize(mark_begin);
}

// ---- The variables of `run --reproducible`

bool can_run_haswell_code() {
#if defined(__x86_64__)
    return system::processor_has(system::CpuFeature::avx2) && system::processor_has(system::CpuFeature::fma);
#else
    return true;
#endif
}

/// Returns the number of threads that a library would use: OMP_NUM_THREADS if it is set, otherwise the number of
/// usable cores.
std::string default_threads(const ProcessEnvironment& environment) {
    const std::string asked(environment.get("OMP_NUM_THREADS"));
    const std::size_t digits = std::min(asked.find_first_not_of("0123456789"), asked.size());
    if (const int count = digits == 0 || digits > 3 ? 0 : std::stoi(asked.substr(0, digits)); count > 0)
        return std::to_string(std::min(count, 256));
    cpu_set_t allowed;
    const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    return std::to_string(is_known ? std::clamp(CPU_COUNT(&allowed), 1, 256) : 1);
}

}  // namespace

std::string set_nvtx_receiver(const policy::Policy& policy, const std::string& library,
                              ProcessEnvironment& environment) {
    if (!wants_nvtx_ranges(policy)) return {};
    const std::string set = environment.get(nvtx_variable);
    if (set.empty()) environment.set(nvtx_variable, library);
    if (set.empty() || set == library || !policy.needs().looks_at_scopes) return {};
    return fmt::format("{}={} gives NVTX ranges to that library, so rules by scope do not apply within them",
                       nvtx_variable, policy::quoted_path(set));
}

std::string add_python_startup_file(const policy::Policy& policy, ProcessEnvironment& environment) {
    const bool wants_torch = policy.wants(policy::LocationSource::torch);
    if (policy.disabled || !(wants_torch || policy.log_onednn)) return {};
    const std::string_view what = wants_torch ? "where: torch" : "products of JAX";
    policy::LocationSourceSet where = policy.log_where;
    where.bits |= static_cast<std::uint8_t>(policy::LocationSource::torch);
    if (wants_torch) environment.set("FP32_MATMUL_WHERE", policy::to_string(where));
    const std::string file = find_installed_file(
        {"../share/fp32shim/site-packages", FP32SHIM_INSTALL_DATADIR "/fp32shim/site-packages"}, "sitecustomize.py");
    if (file.empty())
        return fmt::format("{}: the start-up file of Python programs is not in {}", what,
                           policy::quoted_path((std::filesystem::path(own_program_path()).parent_path() /
                                                "../share/fp32shim/site-packages")
                                                   .lexically_normal()
                                                   .string()));
    const std::string startup_folder = std::filesystem::path(file).parent_path().string();
    if (startup_folder.find(':') != std::string::npos)
        return fmt::format("{}: PYTHONPATH cannot hold a path with a colon: {}", what,
                           policy::quoted_path(startup_folder));
    // The other entries of PYTHONPATH stay unchanged, even empty ones, because these stand for the program's own
    // folder.
    const std::string others = environment.get("PYTHONPATH");
    if (others != startup_folder && !others.starts_with(startup_folder + ':'))
        environment.set("PYTHONPATH", others.empty() ? startup_folder : startup_folder + ':' + others);
    return {};
}

std::string jax_cache_folder(const policy::Policy& policy, std::uint16_t pins, std::string folder) {
    remove_own_part(folder);
    if (!changes_products(policy)) return folder;
    while (folder.ends_with('/')) folder.pop_back();
    return folder + std::string(mark) + policy::sha256(gpu_settings_text(policy, pins)).substr(0, digits);
}

std::vector<std::string> set_reproducible_variables(ProcessEnvironment& environment) {
    environment.set("FP32_MATMUL_CPU", "reproducible");
    std::string set;
    std::string kept;
    std::string threads;
    for (const record::LibraryCodeVariable& code : record::library_codes) {
        if (code.value().empty() || !can_run_haswell_code()) continue;
        const bool is_set = !environment.get(code.name).empty();
        if (!is_set) environment.set(code.name, code.value());
        if (!is_set && code.name == record::threads_of_openblas && environment.get("FP32_MATMUL_THREADS").empty()) {
            environment.set("FP32_MATMUL_THREADS", default_threads(environment));
            threads = environment.get("FP32_MATMUL_THREADS");
        }
        (is_set ? kept : set) += fmt::format(" {}={}", code.name, environment.get(code.name));
    }
    std::vector<std::string> lines{
        "products of the CPU run in a fixed order, those with a vector and solves too; this does not cover products "
        "inside LAPACK (numpy.linalg), other functions of BLAS, sums and element-wise functions (numpy.exp)"};
    if (!set.empty())
        lines.push_back(
            "set, so that libraries that read them choose the same code for these on most machines (MKL's LAPACK and "
            "PyTorch for equal numbers of threads; numpy's element-wise functions read none):" +
            set);
    if (!threads.empty())
        lines.push_back(
            "set, so that the products of fp32shim keep the number of threads that OpenBLAS would take: "
            "FP32_MATMUL_THREADS=" +
            threads);
    if (!kept.empty())
        lines.push_back("not set, because the environment has them; they must be the same on all machines:" + kept);
    if (!can_run_haswell_code())
        lines.emplace_back("this processor lacks AVX2: libraries were left to choose their code for these");
    return lines;
}

}  // namespace fp32shim::cli
