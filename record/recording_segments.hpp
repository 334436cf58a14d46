// The first step of reading: which segments a recording has. Every access to the file goes through here, by copying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/recording_format.hpp"
#include "record/recording_reader.hpp"

namespace fp32shim::record {

/// Bytes of a file, by pread: a file that shrinks gives fewer.
class RecordingBytes {
  public:
    /// `descriptor` stays the caller's.
    explicit RecordingBytes(int descriptor) : descriptor_(descriptor) {}

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

  private:
    int descriptor_;
};

/// Problems in the order of their offsets, and not too many of them.
class ProblemList {
  public:
    void add(std::uint64_t offset, std::string what);
    const std::vector<Problem>& all() const { return problems_; }

  private:
    std::vector<Problem> problems_;
};

struct SegmentPlace {
    std::uint64_t offset = 0;
    format::SegmentHeader header{};
};

/// The segments of each kind, in the order of the file.
struct SegmentIndex {
    std::vector<SegmentPlace> strings, rows, counters, rings, events, objects;
    std::uint32_t whole_count = 0;  ///< that the file has to their ends
};

/// Reads the headers of all segments that `next_segment` and the size of the file allow. Lanes are below
/// format::segment_limit: segments of others are left out, and become problems.
SegmentIndex index_segments(const RecordingBytes& bytes, std::uint32_t next_segment, ProblemList& problems);

}  // namespace fp32shim::record
