// Reads policy files, safely even while the program that has loaded the shim is running.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace fp32shim::policy {

struct PolicyFile {
    std::string bytes;       ///< contents, up to one byte more than a policy may have
    std::string problem;     ///< error and remedy; empty if the file was read
    bool is_absent = false;  ///< true if there is no file of that name
};

/// Reads the file at `path`. Opens regular files only: a pipe or terminal may block, and opening a device may have
/// effects. Files in /proc, /sys and the like may block too, and are refused. `owner` is the user who must own the
/// file and who alone may write it. If it is absent, any user may.
PolicyFile read_policy_bytes(const std::string& path, std::optional<uid_t> owner);

/// Returns true if `path` is a folder that belongs to root and into which nobody else may write.
bool is_root_only_folder(const std::string& path);

/// Returns true if the process is in no user namespace, or in one that maps every user id to itself. Whoever made any
/// other namespace chose the ids in it, and may have replaced every file there.
bool has_real_user_ids();

}  // namespace fp32shim::policy
