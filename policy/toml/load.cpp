#include "policy/load.hpp"

#include <string>

#include "policy/settings.hpp"
#include "policy/toml/policy_file.hpp"

namespace fp32shim::policy {
namespace {

Loaded loaded_from(const std::optional<SettingsLayer>& settings, std::vector<Diagnostic> errors) {
    return {settings ? join(nullptr, &*settings, nullptr) : Policy{}, std::move(errors), {}};
}

/// Returns the settings of a file. If the file is broken or unreadable, returns nullopt and adds all errors to
/// `errors`.
std::optional<SettingsLayer> settings_of(const PolicyFile& file, const std::string& path,
                                         std::vector<Diagnostic>& errors) {
    if (!file.problem.empty()) {
        errors.push_back({path, file.problem});
        return std::nullopt;
    }
    Report report(path, errors);
    return read_settings(file.bytes, report);
}

OnError default_on_error(const Policy& policy, const FromEnvironment& from_environment) {
    const bool floor_is_set = policy.floor != Floor::none || from_environment.floor_is_broken;
    return floor_is_set ? OnError::abort : OnError::continue_untouched;
}

}  // namespace

Loaded read_policy_file(const std::string& path, std::optional<uid_t> owner) {
    std::vector<Diagnostic> errors;
    const PolicyFile file = read_policy_bytes(path, owner);
    const auto settings = settings_of(file, path, errors);
    Loaded loaded = loaded_from(settings, std::move(errors));
    loaded.is_readable = file.problem.empty();
    return loaded;
}

Loaded read_policy(std::string_view text, const std::string& file) {
    std::vector<Diagnostic> errors;
    Report report(file, errors);
    const auto settings = read_settings(text, report);
    return loaded_from(settings, std::move(errors));
}

Loaded load(const Environment& environment, const LoadOptions& options) {
    Loaded loaded;
    if (options.elevated) return loaded;
    const FromEnvironment from_environment = read_environment(environment, loaded.errors, loaded.warnings);
    if (from_environment.disabled) {
        Loaded disabled;
        disabled.policy.disabled = true;
        return disabled;
    }

    const std::string& path = from_environment.policy_path;
    std::optional<SettingsLayer> user;
    if (!path.empty()) user = settings_of(read_policy_bytes(path, std::nullopt), path, loaded.errors);
    std::optional<SettingsLayer> site;
    if (!options.site_policy.empty() && options.site_policy != path) {
        const PolicyFile file = read_policy_bytes(options.site_policy, options.site_owner);
        if (!file.is_absent) site = settings_of(file, options.site_policy, loaded.errors);
    }

    loaded.policy = join(site ? &*site : nullptr, user ? &*user : nullptr, &from_environment.settings);
    loaded.policy.on_error = from_environment.on_error.value_or(default_on_error(loaded.policy, from_environment));
    return loaded;
}

}  // namespace fp32shim::policy
