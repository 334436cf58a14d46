// Files of the recordings that a process has mapped, found through its /proc by inode and not by name.
//
// The reader may be root, and the process anybody's: its files have any names, and a name may by now lead to another
// file. So a path is opened with O_PATH, following no link, until the file is known to be regular and the mapped one.
// Nothing else is ever opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/descriptor.hpp"

namespace fp32shim::record {

/// File opened with O_PATH: stays the same file when its name is removed or given to another.
class HeldFile : public Descriptor {
  public:
    using Descriptor::Descriptor;
    /// Returns a path that opens the file for reading or writing, if this user may: `/proc/self/fd/7`.
    std::string path() const { return "/proc/self/fd/" + std::to_string(number()); }
};

/// Mapping that may be a recording's header: the begin of a file, shared and writable.
struct MappedRecording {
    std::uint32_t major = 0, minor = 0;  ///< device of the file in the kernel's numbers, which may differ from stat's
    std::uint64_t inode = 0;
    std::string name;  ///< path in /proc/PID/maps, which ends in ` (deleted)` once the file is deleted
};

/// Returns the mappings of process `pid` that may be recordings by their names: each file once, at most 256.
std::vector<MappedRecording> mapped_recordings(std::int32_t pid);

struct FoundFile {
    std::shared_ptr<const HeldFile> file;  ///< nullptr: neither a name nor a descriptor leads to the file any more
    std::string name;                      ///< path of the file, for messages
};

/// Finds the file of a mapping of process `pid`: by its name, or by the descriptor that the process still has.
FoundFile find_mapped_file(std::int32_t pid, const MappedRecording& mapped);

}  // namespace fp32shim::record
