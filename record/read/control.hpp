// From the CLI to a running process: finding its recording, and `fp32shim set` and `reload` through its header.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/precision.hpp"
#include "record/format/format.hpp"
#include "record/read/mapped_recordings.hpp"

namespace fp32shim::record {

/// A recording that a running process has mapped.
struct LiveRecording {
    std::int32_t pid = 0;   ///< as seen from here; the header has it as the process sees itself
    std::string name;       ///< where the file was made, for people; ends in ` (deleted)` where it is gone
    std::string open_path;  ///< what to open, as long as `file` is there: leads to no other file, whatever its name
    std::shared_ptr<const HeldFile> file;
};

/// Calls `visit` for the recording of each process that this user may look into, by rising pid. Each is a descriptor
/// as long as it is kept.
void visit_live_recordings(const std::function<void(const LiveRecording&)>& visit);

struct FoundRecording {
    std::optional<LiveRecording> recording;
    std::string error;  ///< `process 17 does not exist`, …: what was found and what to do
};
FoundRecording find_live_recording(std::int32_t pid);

enum class CommandOutcome : std::uint8_t {
    done,          ///< in force from the process's next product on
    refused,       ///< the process looked at it and could not: `message` is its reason
    not_answered,  ///< it will be acted on at the process's next product, which did not come within the time
    failed,        ///< it was not sent
};
struct CommandAnswer {
    CommandOutcome outcome = CommandOutcome::failed;
    std::string message;  ///< one line for the user; may be empty where it is done
};

/// Writes a command into the headers of processes' recordings and waits until all have answered, or so long. Returns
/// an answer for each. A command that a process has not answered yet is replaced by the next one. An absent
/// precision: back to what environment and files say.
std::vector<CommandAnswer> send_set_precision(std::span<const LiveRecording> recordings,
                                              std::optional<policy::Precision> precision,
                                              std::chrono::milliseconds timeout);
std::vector<CommandAnswer> send_reload(std::span<const LiveRecording> recordings, std::chrono::milliseconds timeout);

}  // namespace fp32shim::record
