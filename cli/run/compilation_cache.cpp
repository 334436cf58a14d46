#include "cli/run/compilation_cache.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

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

json json_of_ranges(const std::vector<policy::Range>& all) {
    json list = json::array();
    for (const policy::Range& range : all) list.push_back(json::array({range.lowest, range.highest}));
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

/// Returns, as text, the settings that can change a product on a GPU: those of `policy`, and `pins`, the bits of the
/// variables that `run --pin` sets (record::all_pins). Equal texts share a cache folder.
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

/// Removes from a path the part that an earlier call of jax_cache_folder() added.
void remove_own_part(std::string& folder) {
    const std::size_t mark_begin = folder.rfind(mark);
    if (mark_begin == std::string::npos || folder.size() != mark_begin + mark.size() + digits) return;
    if (folder.find_first_not_of("0123456789abcdef", mark_begin + mark.size()) == std::string::npos)
        folder.resize(mark_begin);
}

}  // namespace

std::string jax_cache_folder(const policy::Policy& policy, std::uint16_t pins, std::string folder) {
    remove_own_part(folder);
    if (!changes_products(policy)) return folder;
    while (folder.ends_with('/')) folder.pop_back();
    return folder + std::string(mark) + policy::sha256(gpu_settings_text(policy, pins)).substr(0, digits);
}

}  // namespace fp32shim::cli
