// The first step of reading: which segments a recording has. Every access to the file goes through here, by copying.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::record {

/// Bytes of a file, by pread: a file that shrinks gives fewer. For one thread.
class RecordingBytes {
  public:
    /// Takes the descriptor. `path`: where the file can be opened again; empty: nowhere.
    RecordingBytes(int descriptor, std::string path);
    ~RecordingBytes();
    RecordingBytes(const RecordingBytes&) = delete;
    RecordingBytes& operator=(const RecordingBytes&) = delete;

    /// How many bytes there were.
    std::size_t read(std::uint64_t offset, void* to, std::size_t size) const;
    /// What the file does not have is zero. False: it has not all.
    template <class T>
    bool read_into(std::uint64_t offset, T& to) const {
        to = T{};
        return read(offset, &to, sizeof to) == sizeof to;
    }
    /// 0 where the kernel does not tell.
    std::uint64_t size() const;

    /// Where the next byte is that stands on disk, from `offset` on; UINT64_MAX: none. `offset` itself where the file
    /// has no holes to speak of, or the file system does not tell them.
    std::uint64_t next_data(std::uint64_t offset) const;

    /// Closes the file until the next read.
    void rest();
    bool is_open() const { return descriptor_ >= 0; }
    /// Whether it could not be opened again: it was deleted or replaced.
    bool is_lost() const { return is_lost_; }

  private:
    bool open_again() const;

    mutable int descriptor_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    char begin_[64] = {};  ///< of the file: an inode is soon used again
    bool has_holes_ = false;
    mutable bool is_lost_ = false;
    mutable std::uint64_t data_begin_ = 0, data_end_ = 0;  ///< between holes: where next_data() looked last
};

/// Part of a file, read in one piece: what is looked up next often stands beside what was looked up last.
class RecordingWindow {
  public:
    static constexpr std::size_t size = 4096;

    explicit RecordingWindow(const RecordingBytes& bytes) : bytes_(bytes) {}

    /// `wanted` bytes at `offset`, `size` at most; fewer where the file ends. Valid until the next call.
    std::string_view at(std::uint64_t offset, std::size_t wanted);
    /// Forgets what it has: the file may have changed since.
    void forget();

  private:
    const RecordingBytes& bytes_;
    std::uint64_t begin_ = 0;
    std::vector<char> held_;
};

/// Problems in the order of their offsets, and not too many of them.
class ProblemList {
  public:
    void add(std::uint64_t offset, std::string what);
    const std::vector<Problem>& all() const { return problems_; }

  private:
    std::vector<Problem> problems_;
};

/// What of a segment's header is needed to find it and what is in it.
struct SegmentPlace {
    std::uint64_t offset = 0;
    std::uint64_t first_time = 0, last_time = 0;
    format::SegmentKind kind = format::SegmentKind::unused;
    std::uint32_t slot = 0, sequence = 0, count = 0;
    std::int32_t thread = 0;

    /// Whether that is where it still is: the oldest events give way to newer ones.
    bool is_of(const format::SegmentHeader& header) const {
        return header.kind == static_cast<std::uint32_t>(kind) && header.slot == slot && header.sequence == sequence;
    }
};

/// The segments of each kind, in the order of the file.
struct SegmentIndex {
    std::vector<SegmentPlace> strings, rows, counters, rings, events, objects;
    std::uint32_t whole_count = 0;  ///< that the file has to their ends
};

/// Reads the headers of all segments that `next_segment` and the size of the file allow. Slots are below
/// format::segment_limit: segments of others are left out, and become problems.
SegmentIndex index_segments(const RecordingBytes& bytes, std::uint32_t next_segment, ProblemList& problems);

/// By rising sequence. Of several with the same one the first is kept, and the others become problems: `what` is what
/// they hold.
void sort_by_sequence(std::vector<SegmentPlace>& places, const char* what, ProblemList& problems);
/// nullptr: there is none with that sequence.
const SegmentPlace* find_sequence(const std::vector<SegmentPlace>& places, std::uint32_t sequence);

}  // namespace fp32shim::record
