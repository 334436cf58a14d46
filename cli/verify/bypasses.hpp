// Finds the bypasses, which are code that multiplies without the shim, that recorded processes may have used. They
// are found from the files that the processes loaded and the children that they started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// The name of the bypass by the library oneDNN.
inline constexpr std::string_view onednn_name = "oneDNN";

/// Code that multiplies without the shim and that a process may have used, or a gap in the process's recording.
struct PossibleBypass {
    std::string name;    ///< word for `--assume-unused`; `child:NAME` for a child that the shim did not cover
    std::string reason;  ///< text after the name: the reason why something may have multiplied unseen
    std::string remedy;  ///< advice on how to control the bypass; empty: none
    /// The environment variables (pin_…) that kept the bypass at float32; 0 if one of the variables that it needs was
    /// not set.
    std::uint16_t pins;
    std::vector<std::string> recordings;  ///< paths of the recordings of the processes concerned
    std::vector<std::string> files{};     ///< paths of the files that contain the bypass; empty if no file does
    bool is_float32 = false;              ///< the bypass always multiplies at float32, so no verdict depends on it
    bool is_harmless = false;             ///< the bypass is a child whose file was examined; no verdict depends on it
    bool is_recorded = false;             ///< the bypass's products are in the recordings; no verdict depends on it
};

/// Returns true if `processes` include another recording with which this process continued after a reload. The other
/// recording lists the libraries that were loaded later.
bool continues_after_reload(const MergedProcess& process, const std::vector<MergedProcess>& processes);

/// Returns each possible bypass once. A loaded file is judged by its contents. A file that cannot be read, or that
/// was changed after it was loaded, is judged by its name, and the result gets an entry `unread` about it.
std::vector<PossibleBypass> find_possible_bypasses(const std::vector<MergedProcess>& processes);

/// Returns the possible bypass cublasZgemv if the program or its environment allowed cuBLAS to emulate the float64
/// products of a recorded call. The shim does not intercept cublasZgemv, and cuBLAS may emulate it.
std::optional<PossibleBypass> find_unseen_zgemv(const MergedCalls& calls);

/// Returns true for the name of a child, `child:NAME`.
bool is_child_bypass_name(std::string_view name);

/// Returns the names of all possible bypasses, except those of children (`child:NAME`).
std::vector<std::string_view> possible_bypass_names();

}  // namespace fp32shim::cli
