// The file of a recording: its name, its descriptor, its space. Segments come from here, mapped or written.
//
// All I/O is by raw system calls with SIGPIPE and SIGXFSZ held back. Space is allocated before it is mapped, so that
// a full disk is an error here and never SIGBUS in a program's product.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "record/format/clock.hpp"
#include "record/format/format.hpp"
#include "record/log_path.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/own_descriptor.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::record {

/// Makes the file of a recording and hands out its segments. Errors are errnos. Thread-safe, but for create(),
/// discard(), install() and abandon(), which only the thread that makes the file may call.
class RecordingFile {
  public:
    RecordingFile() = default;
    /// Closes the file; its mapped segments stay mapped.
    ~RecordingFile();
    RecordingFile(const RecordingFile&) = delete;
    RecordingFile& operator=(const RecordingFile&) = delete;

    struct Limits {
        std::uint32_t segments = 0;  ///< largest number of segments in the file
        bool overwrites = false;     ///< in a full file, new events replace the oldest ones
        std::uint32_t mode = 0600;   ///< permission bits of the file
        std::int64_t group = -1;     ///< number of the group that gets the file; -1: none
    };

    /// A mapped segment. Only its first `room` bytes may be stored to: the rest has no disk space yet (see grow()).
    struct Segment {
        void* address = nullptr;  ///< nullptr: no segment could be mapped
        std::uint32_t number = 0;
        std::uint32_t room = 0;  ///< bytes that have disk space
    };

    /// Makes the file `path`; if that exists, `NAME.1.fp32rec` or another number (number_of_attempt()). Returns 0; or
    /// an errno, and leaves no file. `text_size`: bytes of texts for which the header gets disk space. Maps a zeroed
    /// header for install(), and points `header` at it. In a forked child, closes the parent's descriptor first.
    int create(std::string_view path, const Limits& limits, std::size_t text_size, format::Header*& header);
    /// Undoes create(): removes the file.
    void discard();
    /// Puts the new file into use, whose header is `filled`. If there was a header before, maps the new one at its
    /// address instead, since other threads may still use that address.
    void install(format::Header* filled);
    /// Replaces the header by private zeros, in a forked child that could not make a file.
    void abandon();
    /// Ends the recording after a mapped part of its file could not be stored to, and says so once, unless standard
    /// error takes nothing now. Async-signal-safe; does not wait.
    void end_lost_recording();

    bool is_open() const { return is_open_.load(std::memory_order_acquire); }
    format::Header* header() const { return header_.load(std::memory_order_relaxed); }
    std::string_view path() const { return path_; }
    /// Sets a bit of Header::flags.
    void set_flag(std::uint32_t flag) { std::atomic_ref(header()->flags).fetch_or(flag, std::memory_order_relaxed); }
    /// Returns the time a second from now, in ticks. After space was refused, no more is requested before that time.
    std::uint64_t one_second_from_now() const {
        return ticks() + std::atomic_ref(header()->ticks_per_second).load(std::memory_order_relaxed);
    }

    /// Maps segment 1 or 2 of a new file, with disk space for its beginning, before install(). Returns 0 or an errno.
    int map_first_segment(std::uint32_t number, Segment& segment);
    /// Stores the kind of a mapped segment, whose other fields are complete: from then on readers see it.
    static void publish(format::Header& header, format::SegmentHeader& segment, format::SegmentKind kind);
    void publish(format::SegmentHeader& segment, format::SegmentKind kind) { publish(*header(), segment, kind); }
    static constexpr std::uint32_t first_segments = 2;  ///< number of segments that map_first_segment() maps

    enum class Space : std::uint8_t {
        whole,      ///< disk space for all of the segment
        as_needed,  ///< disk space for the beginning only, in the file's first few segments; in others like `whole`
    };
    /// Maps a new segment of zeros. Without disk space, `address` is null; one line on stderr per process says so.
    Segment map_new_segment(Space space);
    /// Does the same for entries of single calls, which leave room for counters and rows.
    Segment map_new_segment_for_calls();
    /// Gets disk space for at least the first `size` bytes of a segment. Updates `room`, the bytes that have space.
    /// Without space, returns false, and says so on stderr once per process. For one thread at a time.
    bool grow(std::uint32_t number, std::uint32_t size, std::uint32_t& room);

    enum class Appended : std::uint8_t {
        yes,
        no_room,     ///< no disk space; said on stderr once per process
        superseded,  ///< left out: the file is full, and other threads are overwriting all older events
    };
    /// Writes `segment` (a header) and `events` (a full ring) into a new segment of the file; with
    /// Limits::overwrites, in a full file, over the oldest one.
    Appended append_events(const format::SegmentHeader& segment, std::span<const format::EventRecord> events);

  private:
    Segment map_new_segment_below(std::uint32_t limit, Space space);
    std::uint32_t reserve(std::uint32_t limit, int& error);
    void return_segment(std::uint32_t number);
    int make_space_for_header(std::size_t text_size);
    void* map_segment(std::uint32_t number);
    std::uint32_t space_of(std::uint32_t number, Space space) const;
    int write_events(std::uint32_t number, const format::SegmentHeader& segment,
                     std::span<const format::EventRecord> events) const;
    std::uint32_t next_unused_segment();
    void remember(std::uint32_t number);
    bool has_descriptor();
    int open_new(std::string_view path);
    void warn_no_space(int error);

    std::atomic<bool> is_open_{false};
    std::atomic<bool> is_lost_{false};  // a part of the file could not be stored to
    std::atomic<format::Header*> header_{nullptr};
    system::OwnDescriptor descriptor_;
    std::atomic<bool> reopened_{false};  // once per process: a program that keeps closing it does not want it

    // Numbers of the segments with events, oldest first, where they are to be overwritten: a queue in private memory.
    system::ForkSafeLock queue_lock_;
    std::uint32_t* queue_ = nullptr;
    std::uint64_t queue_begin_ = 0;
    std::uint64_t queue_end_ = 0;

    Limits limits_;
    std::uint32_t sparse_until_ = 0;  // segments before this one get their space as they need it
    char path_[path_capacity] = {};
    system::OncePerProcess said_full_, said_error_, said_closed_;
};

/// Gets disk space in a file, so that a full disk is an error here and no SIGBUS at a store. Returns 0 or an errno.
int allocate_space(int descriptor, std::uint64_t offset, std::uint64_t size);

/// Returns the number before the extension of a recording's name at the `attempt`th try; 0: none. First comes the
/// name itself, then 1, 2, … up to 15, then the process id, then random numbers: thousands of processes that were
/// given one name must not try each other's numbers one by one.
std::uint64_t number_of_attempt(int attempt, std::int32_t process);
inline constexpr int attempt_limit = 64;

/// Returns the number of a group: `text` itself if it is a number, else as /etc/group has it. -1: there is no such
/// group. Allocates nothing.
std::int64_t find_group(std::string_view text);

}  // namespace fp32shim::record
