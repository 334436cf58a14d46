// Joins the settings of several sources into one policy.
#include <algorithm>

#include "policy/settings.hpp"
#include "policy/tensor_cores.hpp"

namespace fp32shim::policy {
namespace {

template <class T>
void replace(T& target, const std::optional<T>& value) {
    if (value) target = *value;
}

/// Overwrites values of `policy` by those that `settings` has; but the stricter floor stays. `source`: source of
/// `settings`. If `settings` has a default precision, `source` becomes default_source.
void overlay(const SettingsLayer& settings, Source source, Policy& policy) {
    if (settings.default_precision) {
        policy.default_precision = *settings.default_precision;
        policy.default_source = source;
    }
    policy.floor = std::max(policy.floor, settings.floor);
    replace(policy.cpu_mode, settings.cpu_mode);
    replace(policy.tf32_rounding, settings.tf32_rounding);
    replace(policy.accumulation, settings.accumulation);
    if (settings.stochastic_seed) policy.stochastic_seed = settings.stochastic_seed;
    replace(policy.min_compute_capability, settings.min_compute_capability);
    replace(policy.pedantic, settings.pedantic);
    replace(policy.log_path, settings.log_path);
    replace(policy.log_level, settings.log_level);
    replace(policy.log_max_size, settings.log_max_size);
    replace(policy.log_on_full, settings.log_on_full);
    replace(policy.log_mode, settings.log_mode);
    replace(policy.log_where, settings.log_where);
    replace(policy.log_group, settings.log_group);
    replace(policy.log_onednn, settings.log_onednn);
    replace(policy.log_kernels, settings.log_kernels);
    replace(policy.audit_sample, settings.audit_sample);
    replace(policy.audit_seed, settings.audit_seed);
    if (settings.audit_against) policy.audit_against = settings.audit_against;
    if (settings.audit_float64) policy.audit_float64 = settings.audit_float64;
    replace(policy.audit_metric, settings.audit_metric);
    replace(policy.audit_tolerance, settings.audit_tolerance);
    replace(policy.audit_action, settings.audit_action);
    replace(policy.audit_fingerprint, settings.audit_fingerprint);
    replace(policy.audit_nonfinite, settings.audit_nonfinite);
}

/// Returns true if BF16x9 satisfies a floor of FP32. The user cannot loosen the site's [limits]. So if the site's
/// file sets `allow_bf16x9`, or a floor of `bf16x9` or `fp32`, the user's file can only forbid BF16x9.
bool allows_bf16x9(const SettingsLayer* site, const SettingsLayer* user) {
    const bool site_judges = site && (site->allow_bf16x9 || site->floor >= Floor::bf16x9);
    const bool site_allows = !site_judges || site->allow_bf16x9.value_or(false);
    const bool user_says = user && user->allow_bf16x9.has_value();
    return user_says ? site_allows && *user->allow_bf16x9 : site_judges && site_allows;
}

}  // namespace

Policy join(const SettingsLayer* site, const SettingsLayer* user, const SettingsLayer* environment) {
    Policy policy;
    if (site) overlay(*site, Source::file, policy);
    if (user) overlay(*user, Source::file, policy);
    if (environment) overlay(*environment, Source::environment, policy);
    policy.allow_bf16x9 = allows_bf16x9(site, user);
    const auto says_rounding = [](const SettingsLayer* layer) { return layer && layer->tf32_rounding; };
    if (!says_rounding(site) && !says_rounding(user) && !says_rounding(environment))
        policy.tf32_rounding = tf32_rounding_of(policy.accumulation);

    for (const SettingsLayer* file : {user, site}) {
        if (file) policy.rules.insert(policy.rules.end(), file->rules.begin(), file->rules.end());
    }
    if (const SettingsLayer* file = user ? user : site) {
        policy.name = file->name;
        policy.revision = file->revision;
        policy.file = file->file;
        policy.sha256 = file->sha256;
    }
    return policy;
}

}  // namespace fp32shim::policy
