// The table of the libraries that multiply without calling an intercepted function, with one entry for each bypass.
// `doctor`, `verify` and the summary of `run` use the table to find bypasses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A bypass that is recognised by a text inside a file (a marker) or by the file's name. The markers were taken from
/// the libraries as they are distributed. A text that a compiler may drop, or that other libraries quote, is no
/// suitable marker.
struct KnownBypass {
    std::string_view name;          ///< name that `--assume-unused` accepts
    std::string_view title = name;  ///< name in messages
    std::string_view device =
        "cpu";  ///< `gpu` if the bypass counts only when a GPU driver was loaded; otherwise `cpu`
    std::vector<std::string_view> markers{};  ///< texts inside files, each of which implies this bypass
    std::vector<std::string_view> files{};    ///< beginnings of file names, each of which implies this bypass
    std::vector<std::string_view> except{};   ///< beginnings of names of files that never imply this bypass
    std::string_view message;   ///< text after the title in messages, which says how the bypass multiplies
    std::string_view remedy{};  ///< advice on how to control the bypass; empty if there is none
    std::uint16_t pins = 0;     ///< bits of the environment variables (pin_…) that together keep its products at
                                ///< float32; 0 if there are none
    bool is_float32 = false;    ///< the bypass always multiplies float32 data at float32, so no verdict of `verify`
                              ///< depends on it. A comment in the table names the source of this fact. Data that the
                              ///< program has converted to a lower format is not meant
    /// Bits of x86-64 processor features (see record/processor.hpp). On a processor that has none of these features,
    /// the library multiplies at float32, unless it uses a GPU. The value is 0 if the needed features are unknown.
    std::uint16_t needs = 0;
    std::string_view needs_source{};  ///< source of the value of `needs`, to be shown in parentheses
};

std::span<const KnownBypass> known_bypasses();

}  // namespace fp32shim::cli
