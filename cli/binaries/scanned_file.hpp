// Scans loaded files for bypasses. The result is kept in the user's cache, because a scan of libtorch_cpu.so takes
// seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/binaries/bypasses.hpp"

namespace fp32shim::cli {

struct ScannedFile {
    std::vector<std::uint8_t> build_id;  ///< empty: none
    std::vector<Bypass> bypasses;
    RuntimeLookups looked_up;
};

/// Returns what find_bypasses() and find_runtime_lookups() find in a file; nullopt if it cannot be read or is no ELF
/// file. A large file is scanned once: the result is kept in $XDG_CACHE_HOME/fp32shim/libraries (without the
/// variable, in ~/.cache/fp32shim/libraries) and used again while path, device, inode, size and both times of the
/// file, and this program, are the same. Build ids would not do, since strip and patchelf keep them. The cache is
/// used only if it and all folders above it are safe from other users (OwnFolder); otherwise each call scans.
/// Thread-safe; several processes may use one cache.
std::optional<ScannedFile> scan_file(const std::string& path);

}  // namespace fp32shim::cli
