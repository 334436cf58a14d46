// Reads the program's files by raw system calls. Uses pread, since reading a mapping raises SIGBUS if another process
// truncates the file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// A file that the constructor opens for reading. is_open() tells if it could be opened. Async-signal-safe.
class RawFile {
  public:
    /// Opens a file. Does not block if the path names a FIFO or a terminal.
    explicit RawFile(const char* path) : descriptor_(raw::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    ~RawFile() {
        if (is_open()) raw::close(descriptor_);
    }
    RawFile(const RawFile&) = delete;
    RawFile& operator=(const RawFile&) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    /// Returns the errno of the failed open, or 0.
    int error() const { return is_open() ? 0 : -descriptor_; }
    /// Returns true if the file is open and regular. Stores its metadata in `status`.
    bool is_regular(struct stat& status) const {
        return is_open() && raw::fstat(descriptor_, status) == 0 && S_ISREG(status.st_mode);
    }

    /// Reads up to `size` bytes from `offset` on into `to`. Returns the number of bytes that it has read, which is
    /// less than `size` at the file's end or after an error.
    std::size_t read(std::uint64_t offset, void* to, std::size_t size) const {
        std::size_t done = 0;
        while (done < size) {
            const long got = raw::retry_if_interrupted([&] {
                return raw::syscall6(SYS_pread64, descriptor_, static_cast<char*>(to) + done, size - done,
                                     offset + done);
            });
            if (got <= 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }
    template <class T>
    bool read_object(std::uint64_t offset, T& value) const {
        return read(offset, &value, sizeof value) == sizeof value;
    }

  private:
    int descriptor_;
};

}  // namespace fp32shim::system
