// First step of reading: the segments of a recording. Every access to the file goes through this code, and copies
// bytes.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "record/format/format.hpp"

namespace fp32shim::record {

/// An error in a recording's file.
struct Problem {
    std::uint64_t offset;  ///< bytes from the start of the file
    std::string what;      ///< message: what was found, what was expected, and which part of the file is left out
};

/// Reads bytes of a file by pread, and returns fewer than requested if the file has shrunk. For one thread.
class RecordingBytes {
  public:
    /// Owns the descriptor from now on. `path`: path for opening the file again after release_memory(); empty:
    /// release_memory() leaves the file open.
    RecordingBytes(int descriptor, std::string path);
    ~RecordingBytes();
    RecordingBytes(const RecordingBytes&) = delete;
    RecordingBytes& operator=(const RecordingBytes&) = delete;

    /// Reads up to `size` bytes. Returns the number of bytes read, which is smaller at the file's end.
    std::size_t read(std::uint64_t offset, void* to, std::size_t size) const;
    /// Reads an object. Bytes past the file's end become zeros. Returns false if bytes were missing.
    template <class T>
    bool read_into(std::uint64_t offset, T& to) const {
        to = T{};
        return read(offset, &to, sizeof to) == sizeof to;
    }
    /// Returns the file's size in bytes; 0: the kernel does not tell it.
    std::uint64_t size() const;

    /// Returns the offset of the first byte at or after `offset` that is not in a hole; UINT64_MAX: there is none. If
    /// the file seems to have no holes, returns `offset` itself.
    std::uint64_t next_data_offset(std::uint64_t offset) const;

    /// Closes the file until the next read, which opens it again.
    void release_memory();
    bool is_open() const { return descriptor_ >= 0; }
    /// Returns true if the file could not be opened again, because it was deleted or replaced.
    bool is_lost() const { return is_lost_; }

  private:
    bool open_again() const;

    mutable int descriptor_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    char begin_[64] = {};  ///< first bytes of the file, to recognize it when it is opened again, since the kernel
                           ///< reuses inode numbers
    bool has_holes_ = false;
    mutable bool is_lost_ = false;
    mutable std::uint64_t data_begin_ = 0, data_end_ = 0;  ///< last range without holes that next_data_offset() found
};

/// Caches a piece of a file, so that neighbouring look-ups cost one read.
class RecordingWindow {
  public:
    static constexpr std::size_t size = 4096;

    explicit RecordingWindow(const RecordingBytes& bytes) : bytes_(bytes) {}

    /// Returns `wanted` bytes at `offset`, at most `size`; fewer at the file's end. Valid until the next call.
    std::string_view at(std::uint64_t offset, std::size_t wanted);
    /// Drops the cached bytes, for when the file may have changed.
    void forget();

  private:
    const RecordingBytes& bytes_;
    std::uint64_t begin_ = 0;
    std::vector<char> cached_;
};

/// List of the first 100 different problems found in a recording's file, by rising offset.
class ProblemList {
  public:
    void add(std::uint64_t offset, std::string what);
    const std::vector<Problem>& all() const { return problems_; }

  private:
    std::vector<Problem> problems_;
};

/// Offset of a segment, and the fields of its header that readers need.
struct IndexedSegment {
    std::uint64_t offset = 0;
    std::uint64_t first_time = 0, last_time = 0;
    format::SegmentKind kind = format::SegmentKind::unused;
    std::uint32_t slot = 0, sequence = 0, count = 0;
    std::int32_t thread = 0;

    /// Returns true if `header`, read again from `offset`, still describes this segment. Newer events may have
    /// replaced it.
    bool matches(const format::SegmentHeader& header) const {
        return header.kind == static_cast<std::uint32_t>(kind) && header.slot == slot && header.sequence == sequence;
    }
};

/// Segments of each kind, in the order of the file.
struct SegmentIndex {
    std::array<std::vector<IndexedSegment>, format::segment_kind_count> by_kind;
    std::uint32_t whole_count = 0;  ///< number of segments that lie completely within the file

    std::vector<IndexedSegment>& operator[](format::SegmentKind kind) {
        return by_kind[static_cast<std::size_t>(kind)];
    }
};

/// Reads the headers of all segments that the file has now. Segments of unknown kinds, or with slot numbers from
/// format::segment_limit on, are skipped and reported as problems.
SegmentIndex index_segments(const RecordingBytes& bytes, ProblemList& problems);

/// Sorts segments by rising sequence. Of several with the same sequence, keeps the first and reports the others as
/// problems. `what`: the kind of segment, for the messages.
void sort_by_sequence(std::vector<IndexedSegment>& segments, const char* what, ProblemList& problems);
/// Returns the segment whose sequence is `sequence`; nullptr: there is none. Precondition: `segments` are sorted.
const IndexedSegment* find_sequence(const std::vector<IndexedSegment>& segments, std::uint32_t sequence);

}  // namespace fp32shim::record
