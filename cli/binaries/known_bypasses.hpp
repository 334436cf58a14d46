// Table of the libraries that multiply without calling an intercepted function, with one row for each bypass.
// `doctor`, `verify` and the summary of `run` use it to find bypasses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A bypass, recognised by a text inside a file (a marker) or by the file's name. Markers come from libraries as they
/// are distributed. A text is unsuitable as a marker if a compiler may drop it or other libraries quote it.
struct KnownBypass {
    std::string_view name;                    ///< word for `--assume-unused`
    std::string_view title = name;            ///< name in messages
    std::string_view device = "cpu";          ///< `gpu`: counts only if a GPU driver was loaded; otherwise `cpu`
    std::vector<std::string_view> markers{};  ///< texts inside files; each implies this bypass
    std::vector<std::string_view> files{};    ///< beginnings of file names; each implies this bypass
    std::vector<std::string_view> except{};   ///< beginnings of file names; each excludes this bypass
    std::string_view message;                 ///< text after the title in messages: how the bypass multiplies
    std::string_view remedy{};                ///< advice on how to control the bypass; empty: none
    std::uint16_t pins = 0;   ///< environment variables (pin_…) that together keep products at float32
    bool is_float32 = false;  ///< float32 data always multiplies at float32, so no verdict depends on it. Its comment
                              ///< names the source. What the program itself converted is not float32 data
    /// Features of x86-64 processors (bits of record/processor.hpp). On a processor that has none of them, the
    /// library multiplies at float32, unless it uses a GPU. 0: not known.
    std::uint16_t needs = 0;
    std::string_view needs_source{};  ///< text in parentheses: the source for `needs`
};

std::span<const KnownBypass> known_bypasses();

}  // namespace fp32shim::cli
