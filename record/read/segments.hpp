// Finds the segments of a recording, and reads bytes of the file. All readers use this code, which copies bytes and
// does not map the file.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "record/format/format.hpp"

namespace fp32shim::record {

/// An error in a recording's file.
struct FileProblem {
    std::uint64_t offset;  ///< offset of the error, in bytes from the start of the file
    std::string what;      ///< message that tells what was found, what was expected, and which part of the file is
                           ///< left out
};

/// Reads bytes of a file by pread. Reading returns fewer bytes than requested if the file has shrunk. Only one thread
/// may use a reader.
class RecordingByteReader {
  public:
    /// Takes ownership of the descriptor. `path` is used for opening the file again after close_until_next_read(). If
    /// `path` is empty, close_until_next_read() leaves the file open.
    RecordingByteReader(int descriptor, std::string path);
    ~RecordingByteReader();
    RecordingByteReader(const RecordingByteReader&) = delete;
    RecordingByteReader& operator=(const RecordingByteReader&) = delete;

    /// Reads up to `size` bytes from `offset` to `to`. Returns the number of bytes that were read, which is smaller
    /// than `size` at the file's end.
    std::size_t read(std::uint64_t offset, void* to, std::size_t size) const;
    /// Reads an object from `offset` into `to`. Bytes past the file's end become zeros. Returns false if the file
    /// ended before the object did.
    template <class T>
    bool read_into(std::uint64_t offset, T& to) const {
        to = T{};
        return read(offset, &to, sizeof to) == sizeof to;
    }
    /// Returns the file's size in bytes, or 0 if the kernel does not tell the size.
    std::uint64_t size() const;

    /// Returns the offset of the first byte at or after `offset` that is not in a hole of the file, or UINT64_MAX if
    /// there is none. If the file seems to have no holes, returns `offset` itself.
    std::uint64_t next_data_offset(std::uint64_t offset) const;

    /// Closes the file until the next read, which opens it again.
    void close_until_next_read();
    bool is_open() const { return descriptor_ >= 0; }
    /// Returns true if the file could not be opened again, because it was deleted or replaced.
    bool is_lost() const { return is_lost_; }

  private:
    bool reopen() const;

    mutable int descriptor_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    char begin_[64] = {};  ///< first bytes of the file, by which it is recognized when it is opened again, because
                           ///< the kernel reuses inode numbers
    bool has_holes_ = false;
    mutable bool is_lost_ = false;
    mutable std::uint64_t data_begin_ = 0, data_end_ = 0;  ///< the range without holes that the latest search of
                                                           ///< next_data_offset() found
};

/// Caches a piece of a file, so that look-ups of neighbouring bytes need only one read.
class RecordingReadCache {
  public:
    static constexpr std::size_t size = 4096;

    explicit RecordingReadCache(const RecordingByteReader& bytes) : bytes_(bytes) {}

    /// Returns `wanted` bytes at `offset`, where `wanted` is at most `size`. Returns fewer bytes at the file's end.
    /// The result is valid until the next call.
    std::string_view bytes_at(std::uint64_t offset, std::size_t wanted);
    /// Drops the cached bytes. This is needed when the file may have changed.
    void drop_cached_bytes();

  private:
    const RecordingByteReader& bytes_;
    std::uint64_t begin_ = 0;
    std::vector<char> cached_;
};

/// The first 100 different problems that were found in a recording's file, sorted by offset.
class ProblemList {
  public:
    void add(std::uint64_t offset, std::string what);
    const std::vector<FileProblem>& all() const { return problems_; }

  private:
    std::vector<FileProblem> problems_;
};

/// The offset of a segment in the file, and the fields of its header that readers need.
struct IndexedSegment {
    std::uint64_t offset = 0;
    std::uint64_t first_time = 0, last_time = 0;
    format::SegmentKind kind = format::SegmentKind::unused;
    std::uint32_t slot = 0, sequence = 0, count = 0;
    std::int32_t thread = 0;

    /// Returns true if `header`, which was read again from `offset`, belongs to this segment. The process may have
    /// overwritten the segment with newer events.
    bool matches(const format::SegmentHeader& header) const {
        return header.kind == static_cast<std::uint32_t>(kind) && header.slot == slot && header.sequence == sequence;
    }
};

/// The segments of a file, separated by kind and in the order of the file.
struct SegmentIndex {
    std::array<std::vector<IndexedSegment>, format::segment_kind_count> by_kind;
    std::uint32_t whole_count = 0;  ///< number of segments in use that do not extend beyond the end of the file

    std::vector<IndexedSegment>& operator[](format::SegmentKind kind) {
        return by_kind[static_cast<std::size_t>(kind)];
    }
};

/// Reads the headers of all segments that the file has now. Segments of unknown kinds, and segments with slot numbers
/// that are not below format::segment_limit, are skipped and reported as problems.
SegmentIndex index_segments(const RecordingByteReader& bytes, ProblemList& problems);

/// Sorts segments by rising sequence. If several segments have the same sequence, keeps the first one and reports the
/// others as problems. `what` is the kind of the segments, for the messages.
void sort_by_sequence(std::vector<IndexedSegment>& segments, const char* what, ProblemList& problems);
/// Returns the segment whose sequence is `sequence`, or nullptr if there is none. Precondition: `segments` is sorted
/// by sequence.
const IndexedSegment* find_by_sequence(const std::vector<IndexedSegment>& segments, std::uint32_t sequence);

}  // namespace fp32shim::record
