// Where policies come from: files (user's, then site's) and FP32_MATMUL_* variables, joined into one Policy.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A policy and everything that is wrong with it. Where `errors` is not empty, nothing of the broken file or
/// variable is in `policy`; a floor of the environment still is. Warnings leave the policy as it is.
struct Loaded {
    Policy policy;
    std::vector<Diagnostic> errors;
    std::vector<Diagnostic> warnings;
    bool is_readable = true;  ///< false: read_policy_file() found no file that it could read
};

/// Reads one policy text. `file` is used in messages only.
Loaded read_policy(std::string_view text, const std::string& file);

/// Reads one policy file; a file that cannot be opened, is no regular file on a disk or is larger than 1 MiB is an
/// error like any other.
Loaded read_policy_file(const std::string& path);

/// One `NAME=value` list, as in `environ`; entries that do not begin with FP32_MATMUL_ are skipped.
using Environment = std::vector<std::string_view>;

struct LoadOptions {
    std::string site_policy = "/etc/fp32shim/policy.toml";  ///< empty: none; absent file: none
    bool elevated = false;  ///< setuid and the like: nothing is read, nor complained of
    uid_t site_owner = 0;   ///< whose the site's policy must be, and who alone may write it: root
};

/// The policy of a process: environment over user's file over site's file, with the strictest floor of them all.
/// `on_error` of the result is resolved: FP32_MATMUL_ON_ERROR, else `abort` where a floor is set, else `continue`.
/// A variable with an empty value counts as unset; a broken one is not applied, and the others still are.
/// A broken FP32_MATMUL_FLOOR counts as a floor here: whoever asked for one would rather stop than run without it.
/// With FP32_MATMUL_DISABLE=1 nothing else is read.
Loaded load(const Environment& environment, const LoadOptions& options);

}  // namespace fp32shim::policy
