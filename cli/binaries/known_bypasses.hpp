// Table of the libraries that multiply without calling an intercepted function: one row for each bypass. `doctor`,
// `verify` and the summary of `run` find bypasses by it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Code that multiplies past the shim, recognised by a text inside a file (a marker) or by the file's name. Markers
/// are from libraries as distributed; a text that a compiler may drop, or that other libraries quote, is no marker.
struct KnownBypass {
    std::string_view name;                    ///< name for `--assume-unused`
    std::string_view title = name;            ///< name in messages
    std::string_view device = "cpu";          ///< `gpu`: counts only where a GPU's driver was loaded; otherwise `cpu`
    std::vector<std::string_view> markers{};  ///< texts inside files; each implies this bypass
    std::vector<std::string_view> files{};    ///< beginnings of file names; each implies this bypass
    std::vector<std::string_view> except{};   ///< beginnings of file names; each excludes this bypass
    std::string_view message;                 ///< words after the title in messages: how the bypass multiplies
    std::string_view remedy{};                ///< advice on how to govern the bypass; empty: none
    std::uint16_t pins = 0;   ///< environment variables (pin_…) that jointly keep products at float32
    bool is_float32 = false;  ///< multiplies at float32 always, so that no verdict depends on it
};

std::span<const KnownBypass> known_bypasses();

}  // namespace fp32shim::cli
