// The list of loaded programs and libraries in a recording. From this list `fp32shim verify` judges which of them may
// have multiplied without the shim.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/rows.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

/// A program or library that is loaded in this process.
struct LoadedFile {
    std::string_view path;                   ///< path by which the loader names it; empty: the program itself
    std::span<const std::uint8_t> build_id;  ///< build id; empty: the file has none
    std::uint32_t flags = 0;                 ///< findings: bits format::object_…
    format::ShortHash<2> layout{};           ///< hash of the program headers in memory
};

/// List of loaded files in a recording; see Recording::objects(). Has each file once. Thread-safe, except for
/// begin_list().
class LoadedFileList {
  public:
    /// `program`: path of the program.
    LoadedFileList(RecordingFile& file, RowTable& rows, const std::string& program)
        : file_(file), rows_(rows), program_(program) {}

    /// Adds loaded files one after the other. While a LockedAdder exists, signals are blocked and other adders wait.
    class LockedAdder {
      public:
        explicit LockedAdder(LoadedFileList& objects) : objects_(objects), held_(objects.lock_) {}
        /// Adds a file that is not yet in the list. Never calls malloc.
        void add(const LoadedFile& file);

      private:
        LoadedFileList& objects_;
        const system::HeldLock held_;
        std::uint32_t next_ = 0;  // likely index of the next file, since files come in the same order as in the last
                                  // walk
    };
    void add(const LoadedFile& file) { LockedAdder(*this).add(file); }

    /// Notes that the list now has every loaded file. `stamp`: a number that changes when files are loaded; not 0.
    void mark_complete(std::uint64_t stamp);
    /// Returns the stamp of the last mark_complete(); 0: there was none.
    std::uint64_t stamp() const { return stamp_.load(std::memory_order_acquire); }
    /// Notes that some loaded file could not be listed.
    void mark_incomplete() { file_.set_flag(format::flag_objects_missed); }
    /// Notes that the program got the address of a library's own function. Its calls by that address bypass the shim.
    void mark_bypassing_lookup() { file_.set_flag(format::flag_lookup_past); }

    /// Begins an empty list, for a new file that no other thread knows yet.
    void begin_list();

  private:
    format::ObjectRecord* find_entry(const LoadedFile& file, format::StringId path, std::uint32_t& next) const;
    void add_entry(const LoadedFile& file, format::StringId id, std::string_view path);

    RecordingFile& file_;
    RowTable& rows_;
    const std::string& program_;
    std::atomic<std::uint64_t> stamp_{0};
    // The published objects, in their segments. lock_ guards these members.
    system::ForkSafeLock lock_;
    std::uint32_t count_ = 0;
    SegmentList<format::ObjectRecord, format::object_segment_limit> records_;
};

}  // namespace fp32shim::record
