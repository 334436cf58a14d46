#include "policy/load.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "policy/settings.hpp"
#include "policy/tensor_cores.hpp"
#include "policy/toml/policy_file.hpp"

namespace fp32shim::policy {
namespace {

/// Reads a file's settings into `policy`. A file that is broken or unreadable changes nothing, and adds all its
/// errors to `errors`.
void add_settings(const PolicyFile& file, const std::string& path, PolicyDraft& policy,
                  std::vector<Diagnostic>& errors) {
    if (!file.problem.empty()) return errors.push_back({path, file.problem});
    ErrorCollector report(path, errors);
    read_policy_text(file.bytes, report, policy);
}

Policy finished_policy(PolicyDraft policy) {
    policy.tf32_rounding = policy.asked_tf32_rounding.value_or(tf32_rounding_of(policy.accumulation));
    return policy;
}

LoadedPolicy loaded_from(const PolicyFile& file, const std::string& path) {
    LoadedPolicy loaded;
    PolicyDraft policy;
    add_settings(file, path, policy, loaded.errors);
    loaded.policy = finished_policy(std::move(policy));
    loaded.is_readable = file.problem.empty();
    return loaded;
}

}  // namespace

LoadedPolicy read_policy_file(const std::string& path, std::optional<uid_t> owner) {
    return loaded_from(read_policy_bytes(path, owner), path);
}

LoadedPolicy read_policy(std::string_view text, const std::string& file) {
    return loaded_from({std::string(text), {}}, file);
}

LoadedPolicy load_policy(const Environment& environment, const PolicyLoadOptions& options) {
    LoadedPolicy loaded, ignored;
    if (options.elevated) return loaded;
    // The environment is read first because it names the user's file, and again last because its settings override
    // files.
    PolicyDraft environment_settings;
    read_environment(environment, environment_settings, ignored.errors, ignored.warnings);
    if (environment_settings.disabled) {
        loaded.policy.disabled = true;
        return loaded;
    }

    FloorExceptionJudge judge{environment, options.process, loaded.warnings};
    PolicyDraft policy;
    policy.judge = &judge;
    std::vector<Diagnostic> errors_of_site, errors_of_user;
    if (!options.site_policy.empty() && options.site_policy != environment_settings.policy_path) {
        const PolicyFile file = read_policy_bytes(options.site_policy, options.site_owner);
        if (!file.is_absent) add_settings(file, options.site_policy, policy, errors_of_site);
    }
    if (const std::string& path = environment_settings.policy_path; !path.empty())
        add_settings(read_policy_bytes(path, std::nullopt), path, policy, errors_of_user);
    read_environment(environment, policy, loaded.errors, loaded.warnings);
    for (auto* errors : {&errors_of_user, &errors_of_site})
        std::ranges::move(*errors, std::back_inserter(loaded.errors));

    const bool floor_is_set = policy.floor != Floor::none || policy.floor_is_broken;
    loaded.has_on_error_variable = policy.asked_on_error.has_value();
    policy.on_error = policy.asked_on_error.value_or(floor_is_set ? OnError::abort : OnError::continue_untouched);
    loaded.policy = finished_policy(std::move(policy));
    return loaded;
}

}  // namespace fp32shim::policy
