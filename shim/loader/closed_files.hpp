// The files of libraries that the program closed while this process had no recording: what they bound to cannot be
// read once they are unloaded. They go into the recording when it begins, or into the mark of a process without one.
#pragma once

#include <atomic>

#include "record/write/objects.hpp"

namespace fp32shim {

/// The closed files of this process, each once. Lock-free, async-signal-safe. Never shrinks.
class ClosedFiles {
  public:
    struct File {
        record::LoadedFile file;
        const File* next;
    };

    /// Adds a file that is not there yet, unless there are too many, or no memory is left: then lacks_files().
    void add(const record::LoadedFile& file);
    /// Returns the newest; nullptr: there is none.
    const File* newest() const { return newest_.load(std::memory_order_acquire); }
    bool lacks_files() const { return lacks_files_.load(std::memory_order_relaxed); }

  private:
    bool has(const record::LoadedFile& file) const;

    std::atomic<const File*> newest_{nullptr};
    std::atomic<unsigned> count_{0};
    std::atomic<bool> lacks_files_{false};
};

}  // namespace fp32shim
