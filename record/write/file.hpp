// Makes the file of a recording, manages its name, its descriptor and its disk space, and maps or writes its
// segments.
//
// All input and output uses raw system calls, while SIGPIPE and SIGXFSZ are held back. Disk space is allocated before
// it is mapped. So a full disk is an error in this code and does not cause SIGBUS in a product of the program.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "record/format/clock.hpp"
#include "record/format/format.hpp"
#include "record/log_path.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/own_descriptor.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::record {

/// The file of a recording, and its segments. Errors are returned as errnos. Thread-safe, except for create(),
/// remove_new_file(), install_header() and replace_header_by_zeros(), which only the thread that makes the file may
/// call.
class RecordingFile {
  public:
    RecordingFile() = default;
    /// Closes the file. Its mapped segments stay mapped.
    ~RecordingFile();
    RecordingFile(const RecordingFile&) = delete;
    RecordingFile& operator=(const RecordingFile&) = delete;

    struct Limits {
        std::uint32_t segments = 0;  ///< largest number of segments in the file
        bool overwrites = false;     ///< new events replace the oldest events when the file is full
        std::uint32_t mode = 0600;   ///< permission bits of the file
        std::int64_t group = -1;     ///< number of the group that the file is given to; -1: the group is not changed
    };

    /// Makes the file `path`. If `path` exists, makes `NAME.1.fp32rec` or a file with another number
    /// (number_of_attempt()). Allocates disk space for the header and the first segments. Maps a zeroed header for
    /// install_header(), and sets `header` to it. In a forked child, first closes the parent's descriptor. Returns 0
    /// or an errno. On failure, no file is left behind.
    int create(std::string_view path, const Limits& limits, format::Header*& header);
    /// Removes the file that create() has made.
    void remove_new_file();
    /// Starts using the new file, whose header is `filled`. If another header was in use, maps the new one at the
    /// same address, which other threads may be using.
    void install_header(format::Header* filled);
    /// Replaces the mapped header by private zeros. A forked child that could not make a file calls this, so
    /// that it no longer changes its parent's header.
    void replace_header_by_zeros();
    /// Ends the recording. Must be called when a store to a mapped part of its file has failed. Reports the failure
    /// once on stderr, unless writing to stderr would block or fail. Async-signal-safe; does not wait.
    void end_lost_recording();

    bool is_open() const { return is_open_.load(std::memory_order_acquire); }
    format::Header* header() const { return header_.load(std::memory_order_relaxed); }
    std::string_view path() const { return path_; }
    /// Sets a bit of Header::flags.
    void set_flag(std::uint32_t flag) { std::atomic_ref(header()->flags).fetch_or(flag, std::memory_order_relaxed); }
    /// Returns the time one second from now, in ticks. If disk space was refused, callers do not ask again before
    /// this time.
    std::uint64_t one_second_from_now() const {
        return ticks() + std::atomic_ref(header()->ticks_per_second).load(std::memory_order_relaxed);
    }

    /// Maps segment 1 or segment 2 of a new file, for which create() has allocated disk space. Must be called before
    /// install_header(). Returns nullptr if there is no memory.
    void* map_first_segment(std::uint32_t number) { return map_segment(number); }
    /// Publishes a mapped segment by storing its kind. All its other fields must be complete, because readers see the
    /// segment from then on.
    static void publish_segment(format::Header& header, format::SegmentHeader& segment, format::SegmentKind kind);
    void publish_segment(format::SegmentHeader& segment, format::SegmentKind kind) {
        publish_segment(*header(), segment, kind);
    }
    static constexpr std::uint32_t first_segments = 2;  ///< number of segments that map_first_segment() maps

    /// Maps a new segment of zeros that has disk space. Returns nullptr if the disk or the file (max_size) is full,
    /// there is no memory, or the program has closed the descriptor. The reason is reported in one line on stderr,
    /// once per process.
    void* map_new_segment() { return map_new_segment_below(limits_.segments); }
    /// Works like map_new_segment(), but for records of single calls: leaves some space of the file to counters, rows
    /// and rings.
    void* map_new_segment_for_calls();

    enum class AppendResult : std::uint8_t {
        appended,
        no_room,  ///< the events were not written, for one of the reasons for which map_new_segment() returns nullptr
        superseded,  ///< the events were not written, because the file is full and other threads are overwriting all
                     ///< older events
    };
    /// Writes `events`, the content of a full ring, and `segment`, the header for them, into a new segment of the
    /// file. If the file is full and Limits::overwrites is set, overwrites the oldest segment of events.
    AppendResult append_events(const format::SegmentHeader& segment, std::span<const format::EventRecord> events);

  private:
    void* map_new_segment_below(std::uint32_t limit);
    std::uint32_t reserve_segment(std::uint32_t limit, int& error);
    void give_back_segment(std::uint32_t number);
    void* map_segment(std::uint32_t number);
    int write_events(std::uint32_t number, const format::SegmentHeader& segment,
                     std::span<const format::EventRecord> events) const;
    std::uint32_t take_oldest_segment();
    void queue_segment_for_overwriting(std::uint32_t number);
    bool ensure_descriptor();
    int create_file(std::string_view path);
    void warn_no_space(int error);

    std::atomic<bool> is_open_{false};
    std::atomic<bool> is_lost_{false};  // a store to a mapped part of the file has failed
    std::atomic<format::Header*> header_{nullptr};
    system::OwnDescriptor descriptor_;
    std::atomic<bool> reopened_{false};  // the file has been reopened; this happens only once per process, in case
                                         // the program keeps closing it

    // A queue of the segments of events that may be overwritten. The oldest segment is first. The queue is in private
    // memory.
    system::ForkSafeLock queue_lock_;
    std::uint32_t* queue_ = nullptr;
    std::uint64_t queue_begin_ = 0;
    std::uint64_t queue_end_ = 0;

    Limits limits_;
    char path_[path_capacity] = {};
    system::OncePerProcess full_warning_, error_warning_, closed_warning_;
};

/// All segments of one kind in a file. Their entries are used one after the other.
template <class Entry, std::uint32_t segment_limit>
class SegmentList {
  public:
    Entry& operator[](std::uint32_t index) const { return segments_[index / capacity]->entries[index % capacity]; }
    /// Returns the entry number `index`, which must be the first entry that is not in use. Makes a segment for the
    /// entry if needed. Returns nullptr if there is no space.
    Entry* entry_for(std::uint32_t index, RecordingFile& file, format::SegmentKind kind) {
        const std::uint32_t sequence = index / capacity;
        if (sequence >= segment_limit) return nullptr;
        if (index % capacity == 0) {
            auto* const segment = static_cast<format::Segment<Entry>*>(file.map_new_segment());
            if (segment == nullptr) return nullptr;
            segment->header.sequence = sequence;
            file.publish_segment(segment->header, kind);
            segments_[sequence] = segment;
        }
        return &(*this)[index];
    }

  private:
    static constexpr auto capacity = static_cast<std::uint32_t>(format::Segment<Entry>::capacity);
    format::Segment<Entry>* segments_[segment_limit] = {};
};

/// Puts `text` into a new header, behind the texts that the header already has. `used` is the size of these texts in
/// bytes; the function adds the size of `text` to it.
format::TextRange append_header_text(format::Header& header, std::size_t& used, std::string_view text);

/// Prints one line on stderr, which begins with `path`, the path of the recording that the line is about, and ends
/// with `texts`. Async-signal-safe. Needs 1 KiB of stack.
void warn_about_recording(std::string_view path, std::initializer_list<std::string_view> texts);

/// Allocates disk space for a range of a file, so that a full disk is an error of this function and does not cause
/// SIGBUS at a later store. Returns 0 or an errno.
int allocate_disk_space(int descriptor, std::uint64_t offset, std::uint64_t size);

/// Writes `path` to `out`, with `number` before the extension `.fp32rec`. The result for `run.fp32rec` and 2 is
/// `run.2.fp32rec`. If `path` does not have this extension, the number is appended. The number 0 stands for no
/// number. Returns false if the result and a NUL do not fit into `out`.
bool insert_number(std::string_view path, std::uint64_t number, std::span<char> out);

/// Returns the number for the extension of a recording's name (see insert_number()) at the attempt number `attempt`,
/// from 0. The number is 0 at first (no number), then 1 to 15, then the id `process`, and then random. So if
/// thousands of processes use the same name, they do not have to try all numbers that are taken.
std::uint64_t number_of_attempt(int attempt, std::int32_t process);
inline constexpr int attempt_limit = 64;

}  // namespace fp32shim::record
