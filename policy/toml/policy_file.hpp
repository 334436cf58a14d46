// Reads a policy file safely in the middle of a program's work.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace fp32shim::policy {

struct PolicyFile {
    std::string bytes;       ///< contents, up to one byte more than a policy may have
    std::string problem;     ///< error and remedy; empty if the file was read
    bool is_absent = false;  ///< there is no file of that name
};

/// Reads the file at `path`. Opens regular files only: a pipe or terminal may block, a device may act when opened.
/// Files in /proc, /sys and the like may block too, and are refused. `owner`: required owner and only writer; absent:
/// anybody.
PolicyFile read_policy_bytes(const std::string& path, std::optional<uid_t> owner);

}  // namespace fp32shim::policy
