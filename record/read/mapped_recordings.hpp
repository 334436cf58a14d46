// The files behind recordings that a process has mapped, as its /proc tells: found by what is mapped, not by name.
//
// Whoever looks may be root, and the process anybody's: its files have any names, and their names may by now lead to
// something else. So a path is only looked at (O_PATH, no link followed) until the file there is known to be a
// regular one and the one that is mapped. Nothing else is ever opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fp32shim::record {

/// A file that was opened with O_PATH. It stays this file, whatever becomes of its name.
class HeldFile {
  public:
    explicit HeldFile(int descriptor) : descriptor_(descriptor) {}
    ~HeldFile();
    HeldFile(const HeldFile&) = delete;
    HeldFile& operator=(const HeldFile&) = delete;

    int descriptor() const { return descriptor_; }
    /// A path that opens it for reading or writing, as far as this user may: `/proc/self/fd/7`.
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

/// The begin of a file that a process has mapped shared and for writing, as it has the header of its recording.
struct MappedRecording {
    std::uint32_t major = 0, minor = 0;  ///< of the file system, as the kernel knows it; stat may say another
    std::uint64_t inode = 0;
    std::string name;  ///< as /proc/PID/maps has it: ends in ` (deleted)` where it is gone
};

/// What is mapped under a name that a recording can have, each file once; at most 256 of them.
std::vector<MappedRecording> mapped_recordings(std::int32_t pid);

struct FoundFile {
    std::shared_ptr<const HeldFile> file;  ///< nullptr: it has no name any more, and no descriptor
    std::string name;                      ///< for people
};

/// Finds the file of a mapping of process `pid`: by its name, or by the descriptor that the process still has.
FoundFile find_mapped_file(std::int32_t pid, const MappedRecording& mapped);

}  // namespace fp32shim::record
