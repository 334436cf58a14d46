// Libraries that the program closed while this process had no recording. Their bindings cannot be read once they are
// unloaded. The list goes into the recording when that begins, or into the mark of a process without a recording.
#pragma once

#include <atomic>

#include "record/write/objects.hpp"

namespace fp32shim {

/// The files of closed libraries, each once. Lock-free, async-signal-safe. Never shrinks.
class ClosedFiles {
  public:
    struct File {
        record::LoadedFile file;
        const File* next;
    };

    /// Adds a file unless the list has it. If there are too many files or no memory, lacks_files() becomes true
    /// instead.
    void add(const record::LoadedFile& file);
    /// Returns the file added last, or nullptr if there is none.
    const File* newest() const { return newest_.load(std::memory_order_acquire); }
    bool lacks_files() const { return lacks_files_.load(std::memory_order_relaxed); }

  private:
    bool has(const record::LoadedFile& file) const;

    std::atomic<const File*> newest_{nullptr};
    std::atomic<unsigned> count_{0};
    std::atomic<bool> lacks_files_{false};
};

}  // namespace fp32shim
