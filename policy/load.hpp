// Loads the policy of a process: joins the user's file, the site's file (for all users of a machine) and the
// FP32_MATMUL_* variables.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/messages.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A policy, and the errors and warnings of its sources. A file or variable with an error contributes nothing to
/// `policy`; floors of the other sources still hold. Warnings do not change the policy.
struct LoadedPolicy {
    Policy policy;
    std::vector<Diagnostic> errors;
    std::vector<Diagnostic> warnings;
    /// True if FP32_MATMUL_ON_ERROR decides what happens after an error; otherwise the floor decides.
    bool has_on_error_variable = false;
    bool is_readable = true;  ///< false if read_policy_file() found no readable file
};

/// Reads one policy text. `file` is used in messages only.
LoadedPolicy read_policy(std::string_view text, const std::string& file);

/// Reads one policy file. Reports an error if the file cannot be opened, is not a regular file on a disk, or exceeds
/// 1 MiB. `owner` is the user who must own the file and who alone may write it. If it is absent, any user may.
LoadedPolicy read_policy_file(const std::string& path, std::optional<uid_t> owner = std::nullopt);

/// A list of `NAME=value`, as in `environ`. The policy code reads entries that begin with FP32_MATMUL_, entries that
/// begin with FP32SHIM_ (which may be mistyped settings), and the variables of batch_systems, for exceptions to a
/// floor.
using Environment = std::vector<std::string_view>;

struct JobIdentity;

/// Facts that load_policy() needs besides the environment. The site's policy is the file for all users of a machine.
struct PolicyLoadOptions {
    std::string site_policy = "/etc/fp32shim/policy.toml";  ///< the path of the site's policy; there is none if the
                                                            ///< path is empty or the file does not exist
    bool elevated = false;  ///< true in setuid and similar programs, where nothing is read or reported
    uid_t site_owner = 0;   ///< the user who must own the site's policy and who alone may write it: root
    /// The process for which exceptions may hold; nullptr means this process.
    const JobIdentity* process = nullptr;
};

/// Loads the policy of a process. The environment overrides the user's file, which overrides the site's. The
/// strictest floor holds. `on_error` of the result is FP32_MATMUL_ON_ERROR; if that is unset, `on_error` is `abort`
/// if a floor is set or FP32_MATMUL_FLOOR has an invalid value, and otherwise `continue`. An empty variable counts as
/// unset. A variable with an error is not applied, but all other variables are. With FP32_MATMUL_DISABLE=1 nothing
/// else is read.
LoadedPolicy load_policy(const Environment& environment, const PolicyLoadOptions& options);

}  // namespace fp32shim::policy
