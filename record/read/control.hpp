// Controls a running process: finds its recording, and sends `fp32shim set` and `reload` through the header.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/descriptor.hpp"
#include "policy/precision.hpp"
#include "record/format/format.hpp"

namespace fp32shim::record {

/// File opened with O_PATH: stays the same file when its name is removed or given to another file.
class PathOnlyFile : public Descriptor {
  public:
    using Descriptor::Descriptor;
    /// Returns a path, such as `/proc/self/fd/7`, that opens the file for reading or writing if this user may.
    std::string path() const { return "/proc/self/fd/" + std::to_string(number()); }
};

/// A recording that a running process has mapped.
struct LiveRecording {
    std::int32_t pid = 0;   ///< process id in the reader's namespace; the header has the id in the process's own
                            ///< namespace
    std::string name;       ///< path of the file, for people; ends in ` (deleted)` once the file is deleted
    std::string open_path;  ///< path that opens the file even after it was renamed, as long as `file` exists
    std::shared_ptr<const PathOnlyFile> file;
};

/// Calls `visit` for the recording of each process that this user may inspect, by rising process id. Each
/// LiveRecording that the visitor keeps holds a descriptor open.
void visit_live_recordings(const std::function<void(const LiveRecording&)>& visit);

struct FoundLiveRecording {
    std::optional<LiveRecording> recording;
    std::string error;  ///< one line with a remedy, such as `process 17 does not exist; …`; empty: the recording was
                        ///< found
};
FoundLiveRecording find_live_recording(std::int32_t pid);

enum class CommandOutcome : std::uint8_t {
    done,          ///< the command takes effect with the process's next product
    refused,       ///< the process could not obey; `message` is its reason
    not_answered,  ///< the process ran no product in time, or the command or the recording was replaced; `message`
                   ///< says which
    failed,        ///< the command was not sent, or the process has ended
};
struct CommandAnswer {
    CommandOutcome outcome = CommandOutcome::failed;
    std::string message;  ///< one line for the user; may be empty after `done`
};

/// Writes a command into the headers of the recordings, and waits until all processes have answered or `timeout` has
/// passed. Returns an answer for each. The command replaces an earlier one that a process has not yet answered.
/// Without `precision`, environment and policy files decide again.
std::vector<CommandAnswer> send_set_precision(std::span<const LiveRecording> recordings,
                                              std::optional<policy::Precision> precision,
                                              std::chrono::milliseconds timeout);
std::vector<CommandAnswer> send_reload(std::span<const LiveRecording> recordings, std::chrono::milliseconds timeout);

}  // namespace fp32shim::record
