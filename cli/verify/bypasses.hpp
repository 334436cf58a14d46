// Finds the bypasses that recorded processes may have used, judged by the files that they had loaded and the children
// that they started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Code that multiplies past the shim and that a process may have used, or a gap in what is known of the process.
struct PossibleBypass {
    std::string name;    ///< name for `--assume-unused`; `child:NAME` for a child that the shim did not cover
    std::string reason;  ///< sentence after the name: why something may have multiplied unseen
    std::string remedy;  ///< advice on how to govern the bypass; empty: none
    std::uint16_t pins;  ///< environment variables (pin_…) that kept the bypass at float32; 0: not all were set
    std::vector<std::string> recordings;  ///< paths of the recordings of the processes concerned
    std::vector<std::string> files{};     ///< paths of the files that contain the bypass; empty: it is in no file
    bool is_float32 = false;              ///< multiplies at float32 always, so that no verdict depends on it
};

/// Returns true if the process, after a reload, went on in another recording, which is among `processes` and tells
/// what was loaded later.
bool is_continued(const MergedProcess& process, const std::vector<MergedProcess>& processes);

/// Returns each possible bypass once. Judges a loaded file by its contents. A file that cannot be read, or that was
/// changed after it was loaded, is judged by its name; the result then has a further entry, `unread`, about the file.
std::vector<PossibleBypass> find_possible_bypasses(const std::vector<MergedProcess>& processes);

/// Returns true for `child:NAME`.
bool is_child_name(std::string_view name);

/// Names of all possible bypasses, except those of children (`child:NAME`).
std::vector<std::string_view> possible_bypass_names();

}  // namespace fp32shim::cli
