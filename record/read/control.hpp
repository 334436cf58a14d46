// Finds the recordings of running processes, and sends the commands of `fp32shim set` and `fp32shim reload` to a
// process through the header of its recording.
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

/// A file that was opened with O_PATH. The object refers to the same file even after the file's name was removed or
/// given to another file.
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
    std::string name;       ///< path of the file, for messages; it ends in ` (deleted)` once the file is deleted
    std::string open_path;  ///< path by which the file can be opened, even after it was renamed; valid as long as
                            ///< `file` exists
    std::shared_ptr<const PathOnlyFile> file;
};

/// Calls `visit` for the recording of each process that this user may inspect, in the order of process ids. If
/// `visit` keeps a copy of the LiveRecording, a descriptor of the file stays open.
void visit_live_recordings(const std::function<void(const LiveRecording&)>& visit);

struct FoundLiveRecording {
    std::optional<LiveRecording> recording;
    std::string error;  ///< one line with a remedy, such as `process 17 does not exist; …`; empty: the recording was
                        ///< found
};
FoundLiveRecording find_live_recording(std::int32_t pid);

enum class CommandOutcome : std::uint8_t {
    done,          ///< the command takes effect with the process's next product
    refused,       ///< the process could not obey; `message` has the reason
    not_answered,  ///< the process ran no product in time, the command was replaced, or the process changed its
                   ///< recording; `message` says which of these happened
    failed,        ///< the command was not sent, or the process has ended
};
struct CommandAnswer {
    CommandOutcome outcome = CommandOutcome::failed;
    std::string message;  ///< one line for the user; may be empty after `done`
};

/// Sends `precision` to the processes of `recordings`, through the headers. Waits until all processes have answered
/// or `timeout` has passed. Returns one answer for each recording. The command replaces an earlier command that a
/// process has not yet answered. If `precision` is nullopt, an earlier precision is withdrawn, and
/// environment variables and policy files decide again.
std::vector<CommandAnswer> send_set_precision(std::span<const LiveRecording> recordings,
                                              std::optional<policy::Precision> precision,
                                              std::chrono::milliseconds timeout);
/// Tells the processes of `recordings` to read their policies again. Waits for their answers like
/// send_set_precision().
std::vector<CommandAnswer> send_reload(std::span<const LiveRecording> recordings, std::chrono::milliseconds timeout);

}  // namespace fp32shim::record
