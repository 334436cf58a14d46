// What one source (a file, or the environment) says; joined into a Policy by join().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/messages.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// The settings of a policy, each of which may be left out. Fields mean what they mean in Policy.
struct Settings {
    std::string name, revision, file, sha256;
    std::optional<Precision> default_precision;
    Floor floor = Floor::none;
    std::optional<bool> allow_bf16x9;
    std::optional<CpuMode> cpu_mode;
    std::optional<Tf32Rounding> tf32_rounding;
    std::optional<std::int32_t> min_compute_capability;
    std::optional<bool> pedantic;
    std::optional<std::string> log_path;
    std::optional<LogLevel> log_level;
    std::optional<std::uint64_t> log_max_size;
    std::optional<OnFull> log_on_full;
    std::optional<std::uint32_t> log_mode;
    std::optional<std::string> log_group;
    std::optional<double> audit_sample;
    std::optional<double> audit_tolerance;
    std::optional<AuditAction> audit_action;
    std::vector<Rule> rules;
};

/// What a text says, or nullopt where anything is wrong with it.
std::optional<Settings> read_settings(std::string_view text, Report& report);

/// One policy from up to three sources; null for one that is absent or broken. The environment's scalars win over the
/// user's, those over the site's; rules are tried in the order user, site; the strictest floor holds.
Policy join(const Settings* site, const Settings* user, const Settings* environment);

}  // namespace fp32shim::policy
