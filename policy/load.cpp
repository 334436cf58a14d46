#include "policy/load.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "policy/environment.hpp"
#include "policy/settings.hpp"

namespace fp32shim::policy {
namespace {

/// One byte more than a policy may have tells read_settings that there is more.
constexpr std::size_t most_bytes = (1 << 20) + 1;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

/// The file's bytes, at most most_bytes of them, or the error of the system.
std::optional<std::string> read_bytes(const std::string& path, std::error_code& error) {
    errno = 0;
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));  // e: not inherited by exec
    std::string bytes;
    if (file) {
        bytes.resize(most_bytes);
        bytes.resize(std::fread(bytes.data(), 1, most_bytes, file.get()));
    }
    if (!file || std::ferror(file.get())) {
        error = std::error_code(errno, std::generic_category());
        return std::nullopt;
    }
    return bytes;
}

Loaded loaded_from(const std::optional<Settings>& settings, std::vector<Diagnostic> errors) {
    return {settings ? join(nullptr, &*settings, nullptr) : Policy{}, std::move(errors), {}};
}

OnError default_on_error(const Policy& policy, const FromEnvironment& from_environment) {
    const bool floor_is_set = policy.floor != Floor::none || from_environment.floor_is_broken;
    return floor_is_set ? OnError::abort : OnError::continue_untouched;
}

}  // namespace

std::optional<Settings> read_settings_file(const std::string& path, bool may_be_absent,
                                           std::vector<Diagnostic>& errors) {
    std::error_code error;
    // Opening a pipe or a terminal would wait for somebody, in the middle of a program that knows nothing of it.
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found && may_be_absent) return std::nullopt;
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        errors.push_back({path, "is not a regular file"});
        return std::nullopt;
    }
    const auto text = read_bytes(path, error);
    if (!text) {
        errors.push_back({path, "cannot be read: " + error.message()});
        return std::nullopt;
    }
    Report report(path, errors);
    return read_settings(*text, report);
}

Loaded read_policy(std::string_view text, const std::string& file) {
    std::vector<Diagnostic> errors;
    Report report(file, errors);
    const auto settings = read_settings(text, report);
    return loaded_from(settings, std::move(errors));
}

Loaded read_policy_file(const std::string& path) {
    std::vector<Diagnostic> errors;
    const auto settings = read_settings_file(path, false, errors);
    return loaded_from(settings, std::move(errors));
}

Loaded load(const Environment& environment, const LoadOptions& options) {
    Loaded loaded;
    FromEnvironment from_environment;
    if (!options.elevated) from_environment = read_environment(environment, loaded.errors, loaded.warnings);
    if (from_environment.disabled) {
        Loaded disabled;
        disabled.policy.disabled = true;
        return disabled;
    }

    const std::string& path = from_environment.policy_path;
    std::optional<Settings> user;
    if (!path.empty()) user = read_settings_file(path, false, loaded.errors);
    std::optional<Settings> site;
    if (!options.site_policy.empty() && options.site_policy != path) {
        site = read_settings_file(options.site_policy, true, loaded.errors);
    }

    loaded.policy = join(site ? &*site : nullptr, user ? &*user : nullptr, &from_environment.settings);
    loaded.policy.on_error = from_environment.on_error.value_or(default_on_error(loaded.policy, from_environment));
    return loaded;
}

}  // namespace fp32shim::policy
