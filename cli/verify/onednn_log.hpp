// Output of a program that ran with ONEDNN_VERBOSE: `fp32shim verify --onednn-log FILE`. oneDNN prints a line for
// each primitive that it executes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Counts of the lines that oneDNN printed.
struct OneDnnLog {
    std::string file;             ///< path of the log; empty: none was given
    std::int64_t written_ns = 0;  ///< last change of the file: nanoseconds since 1970, UTC
    std::uint64_t processes = 0;  ///< number of heads; oneDNN prints one in each process
    bool is_filtered = false;     ///< ONEDNN_VERBOSE left out lines of some primitives
    std::uint64_t executed = 0;   ///< executed primitives of any kind
    std::uint64_t products = 0;   ///< those of them that multiply, or may
    std::uint64_t below = 0;      ///< products that may have multiplied below float32

    /// Returns the reason why the log does not show that the products of the one process that began at `began_ns` ran
    /// at float32; empty if it does.
    std::string why_not_shown(std::int64_t began_ns) const;
};

/// Counts the lines of oneDNN in a text. Lines of others are skipped.
OneDnnLog count_onednn_lines(std::string_view text);

/// Reads a log. Returns an error message of one line; empty on success.
std::string read_onednn_log(const std::string& path, OneDnnLog& log);

}  // namespace fp32shim::cli
