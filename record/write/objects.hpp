// Maintains the list of loaded programs and libraries in a recording. From this list `fp32shim verify` tells which
// programs and libraries may have multiplied without the shim.
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
    std::string_view path;  ///< path that the loader has for the file; empty: the file is the program itself
    std::span<const std::uint8_t> build_id;  ///< build id of the file; empty: the file has no build id
    std::uint32_t flags = 0;                 ///< what is known about the file: bits format::object_…
    format::ShortHash<2> layout{};           ///< hash of the program headers in memory
};

/// The list of loaded files in a recording (Recording::objects()), which has each file once. Thread-safe, except for
/// begin_list().
class LoadedFileList {
  public:
    /// `program` is the path of the program that this process runs.
    LoadedFileList(RecordingFile& file, RowTable& rows, const std::string& program)
        : file_(file), rows_(rows), program_(program) {}

    /// Adds loaded files one after the other. While a LockedAdder exists, signals are blocked and other adders wait.
    class LockedAdder {
      public:
        explicit LockedAdder(LoadedFileList& objects) : objects_(objects), held_(objects.lock_) {}
        /// Adds `file` if it is not yet in the list, and otherwise adds its flags to its entry. Never calls malloc.
        void add(const LoadedFile& file);

      private:
        LoadedFileList& objects_;
        const system::HeldLock held_;
        std::uint32_t next_ = 0;  // the probable index of the next file, because files are added in the same order
                                  // each time
    };
    void add(const LoadedFile& file) { LockedAdder(*this).add(file); }

    /// Notes that the list now has every loaded file. `stamp` is a number that changes whenever a file is loaded, and
    /// is never 0.
    void mark_complete(std::uint64_t stamp);
    /// Returns the stamp that the latest call of mark_complete() passed, or 0 if there was no call.
    std::uint64_t stamp() const { return stamp_.load(std::memory_order_acquire); }
    /// Notes that some loaded file could not be listed.
    void mark_incomplete() { file_.set_flag(format::flag_objects_missed); }
    /// Notes that the program got the address of a library's own function. The program's calls by this address bypass
    /// the shim.
    void mark_bypassing_lookup() { file_.set_flag(format::flag_lookup_past); }

    /// Begins an empty list for a new file. No other thread may use the file yet.
    void begin_list();

  private:
    format::ObjectRecord* find_entry(const LoadedFile& file, format::StringId path, std::uint32_t& next) const;
    void add_entry(const LoadedFile& file, format::StringId id, std::string_view path);

    RecordingFile& file_;
    RowTable& rows_;
    const std::string& program_;
    std::atomic<std::uint64_t> stamp_{0};
    // `records_` has the complete entries, and `count_` is their number. `lock_` guards both.
    system::ForkSafeLock lock_;
    std::uint32_t count_ = 0;
    SegmentList<format::ObjectRecord, format::object_segment_limit> records_;
};

}  // namespace fp32shim::record
