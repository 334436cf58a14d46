// Finds the recordings that a process has mapped, through its /proc, by inode and not by name.
//
// The reader may be root, while the process may belong to anybody. The process chooses the names of its files, and a
// name may meanwhile lead to another file. So a path is opened with O_PATH, following no link. Only once the file is
// known to be regular and the mapped one is it opened for reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/descriptor.hpp"

namespace fp32shim::record {

/// File opened with O_PATH: stays the same file when its name is removed or given to another file.
class HeldFile : public Descriptor {
  public:
    using Descriptor::Descriptor;
    /// Returns a path, such as `/proc/self/fd/7`, that opens the file for reading or writing if this user may.
    std::string path() const { return "/proc/self/fd/" + std::to_string(number()); }
};

/// Mapping that may be a recording's header: the start of a file, shared and writable.
struct MappedRecording {
    std::uint32_t major = 0, minor = 0;  ///< device of the file as the kernel numbers it; stat may give another
                                         ///< number
    std::uint64_t inode = 0;
    std::string name;  ///< path in /proc/PID/maps, which ends in ` (deleted)` once the file is deleted
};

/// Returns the mappings of process `pid` whose names look like recordings: each file once, at most 256.
std::vector<MappedRecording> mapped_recordings(std::int32_t pid);

struct FoundFile {
    std::shared_ptr<const HeldFile> file;  ///< nullptr: no name or descriptor leads to the file any more
    std::string name;                      ///< path of the file, for messages
};

/// Finds the file behind a mapping of process `pid`: by its name, or by a descriptor that the process still holds.
FoundFile find_mapped_file(std::int32_t pid, const MappedRecording& mapped);

}  // namespace fp32shim::record
