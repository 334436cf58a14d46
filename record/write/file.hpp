// The file of a recording: its name, its descriptor and its disk space. It hands out segments, which are mapped or
// written.
//
// All I/O is by raw system calls with SIGPIPE and SIGXFSZ held back. Disk space is allocated before it is mapped. So
// a full disk is an error in this code and never SIGBUS in a program's product.
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

/// Makes the file of a recording and hands out its segments. Errors are errnos. Thread-safe, except for create(),
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
        bool overwrites = false;     ///< when the file is full, new events replace the oldest ones
        std::uint32_t mode = 0600;   ///< permission bits of the file
        std::int64_t group = -1;     ///< number of the group that gets the file; -1: none
    };

    /// Makes the file `path`; if that exists, `NAME.1.fp32rec` or another number (number_of_attempt()). Allocates
    /// disk space for the header and the first segments. Returns 0; or an errno, and leaves no file. Maps a zeroed
    /// header for install_header(), and sets `header` to it. In a forked child, closes the parent's descriptor first.
    int create(std::string_view path, const Limits& limits, format::Header*& header);
    /// Undoes create(): removes the file.
    void remove_new_file();
    /// Puts the new file, with its filled header, into use. If another header was in use, maps the new one at the
    /// same address, since other threads may still use that address.
    void install_header(format::Header* filled);
    /// Replaces the header by private zeros. For a forked child that could not make a file.
    void replace_header_by_zeros();
    /// Ends the recording after a store to a mapped part of its file failed. Reports this once on stderr, unless
    /// writing there would block or fail. Async-signal-safe; does not wait.
    void end_lost_recording();

    bool is_open() const { return is_open_.load(std::memory_order_acquire); }
    format::Header* header() const { return header_.load(std::memory_order_relaxed); }
    std::string_view path() const { return path_; }
    /// Sets a bit of Header::flags.
    void set_flag(std::uint32_t flag) { std::atomic_ref(header()->flags).fetch_or(flag, std::memory_order_relaxed); }
    /// Returns the time a second from now, in ticks. After a refusal of disk space, none is requested before that
    /// time.
    std::uint64_t one_second_from_now() const {
        return ticks() + std::atomic_ref(header()->ticks_per_second).load(std::memory_order_relaxed);
    }

    /// Maps segment 1 or 2 of a new file, which have disk space. Called before install_header(). Returns nullptr if
    /// there is no memory.
    void* map_first_segment(std::uint32_t number) { return map_segment(number); }
    /// Publishes a mapped segment: stores its kind after all other fields are complete. Readers see the segment from
    /// then on.
    static void publish_segment(format::Header& header, format::SegmentHeader& segment, format::SegmentKind kind);
    void publish_segment(format::SegmentHeader& segment, format::SegmentKind kind) {
        publish_segment(*header(), segment, kind);
    }
    static constexpr std::uint32_t first_segments = 2;  ///< number of segments that map_first_segment() maps

    /// Maps a new segment of zeros that has disk space. Returns nullptr if the disk or the file (max_size) is full,
    /// there is no memory, or the program has closed the descriptor. One line on stderr per process says why.
    void* map_new_segment() { return map_new_segment_below(limits_.segments); }
    /// Maps a new segment as map_new_segment() does, but for entries of single calls. Such segments must leave space
    /// for counters and rows.
    void* map_new_segment_for_calls();

    enum class AppendResult : std::uint8_t {
        appended,
        no_room,     ///< not written, for one of the reasons of map_new_segment()
        superseded,  ///< not written: the file is full, and other threads are overwriting all older events
    };
    /// Writes `segment` (a header) and `events` (a full ring) into a new segment of the file. If the file is full and
    /// Limits::overwrites is set, overwrites the oldest segment of events.
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
    std::atomic<bool> is_lost_{false};  // a store to a part of the file has failed
    std::atomic<format::Header*> header_{nullptr};
    system::OwnDescriptor descriptor_;
    std::atomic<bool> reopened_{false};  // reopens once per process only: a program that keeps closing the file is
                                         // left alone

    // Queue, in private memory, of the segments with events that may be overwritten, oldest first.
    system::ForkSafeLock queue_lock_;
    std::uint32_t* queue_ = nullptr;
    std::uint64_t queue_begin_ = 0;
    std::uint64_t queue_end_ = 0;

    Limits limits_;
    char path_[path_capacity] = {};
    system::OncePerProcess full_warning_, error_warning_, closed_warning_;
};

/// The segments of one kind in a file, with entries that are used one after the other.
template <class Entry, std::uint32_t segment_limit>
class SegmentList {
  public:
    Entry& operator[](std::uint32_t index) const { return segments_[index / capacity]->entries[index % capacity]; }
    /// Returns entry number `index`, the first one that is not in use. Makes a segment for it if needed; nullptr:
    /// there is no space.
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

/// Puts a text into a new header, behind the texts that are already there. `used`: number of bytes of those texts, to
/// which the size of this one is added.
format::TextRange append_header_text(format::Header& header, std::size_t& used, std::string_view text);

/// Prints one line on stderr, which begins with the path of the recording that it is about. Async-signal-safe. Needs
/// 1 KiB of stack.
void warn_about_recording(std::string_view path, std::initializer_list<std::string_view> texts);

/// Allocates disk space in a file, so that a full disk is an error at this point and not SIGBUS at a store. Returns 0
/// or an errno.
int allocate_disk_space(int descriptor, std::uint64_t offset, std::uint64_t size);

/// Writes the path with a number before its extension: `run.2.fp32rec` for `run.fp32rec` and 2. Without that
/// extension the number goes to the end. The number 0 leaves `path` unchanged. Returns false if the result, followed
/// by a NUL, does not fit into `out`.
bool insert_number(std::string_view path, std::uint64_t number, std::span<char> out);

/// Returns the number to put before the extension of a recording's name at the `attempt`th try; 0: no number. The
/// tries are: the name itself, 1 to 15, the process id, then random numbers. So thousands of processes with one name
/// do not try each other's numbers one by one.
std::uint64_t number_of_attempt(int attempt, std::int32_t process);
inline constexpr int attempt_limit = 64;

}  // namespace fp32shim::record
