// Table of the libraries that multiply without calling an intercepted function: one row for each bypass. `doctor`,
// `verify` and the summary of `run` find bypasses by it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// One bypass, recognised by a text inside a file or by the file's name. Markers were found in the libraries as they
/// are distributed; a text that a compiler may drop, or that other libraries quote, is no marker.
struct KnownBypass {
    std::string_view name;                    ///< `--assume-unused` takes this name
    std::string_view title = name;            ///< name in sentences
    std::string_view device = "cpu";          ///< `cpu` or `gpu`
    std::vector<std::string_view> markers{};  ///< one of these texts in the file is enough
    std::vector<std::string_view> files{};    ///< beginnings of base names; one is enough
    std::vector<std::string_view> except{};   ///< beginnings of base names that are never this bypass
    std::string_view message;                 ///< sentence after the title: how it multiplies
    std::string_view remedy{};                ///< setting that governs it; empty where there is none
    std::uint16_t pins = 0;                   ///< record::pin_…: variables that together keep it at float32
};

std::span<const KnownBypass> known_bypasses();

}  // namespace fp32shim::cli
