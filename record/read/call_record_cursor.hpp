// Iterates over the audits or fingerprints in a recording, one slot (the records of one thread) after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Iterates over records of single calls. Reads the file in pieces. Only one thread may use a cursor.
template <class Entry>
class CallRecordCursor {
  public:
    /// `segments` are the segments with the records, in the order in which the cursor reads them. `bytes` and
    /// `segments` must outlive the cursor.
    CallRecordCursor(const RecordingByteReader& bytes, std::span<const IndexedSegment> segments)
        : bytes_(&bytes), segments_(segments) {}

    /// Returns the next record, or nullptr after the last one. The record is valid until the next call of next().
    const Entry* next() {
        while (position_ == piece_.size()) {
            if (first_ == capacity && !begin_segment()) return nullptr;
            load_piece();
        }
        return &piece_[position_++];
    }
    /// Returns the slot of the record that the latest call of next() returned.
    std::uint32_t slot() const { return slot_; }
    /// Returns the offset in the file, in bytes, of the record that the latest call of next() returned.
    std::uint64_t offset() const {
        return offset_ + format::offset_of_entry<Entry>(piece_first_ + static_cast<std::uint32_t>(position_) - 1);
    }

  private:
    static constexpr std::uint32_t capacity = format::Segment<Entry>::capacity;
    static constexpr std::uint32_t entries_of_a_piece = 64;

    bool begin_segment() {
        if (segments_.empty()) return false;
        offset_ = segments_.front().offset;
        slot_ = segments_.front().slot;
        segments_ = segments_.subspan(1);
        first_ = 0;
        return true;
    }

    /// Reads the next entries of the current segment into `piece_`, up to the end of the segment or the first unused
    /// entry, but at most entries_of_a_piece.
    void load_piece() {
        position_ = 0;
        piece_first_ = first_;
        piece_.resize(std::min(entries_of_a_piece, capacity - first_));
        const std::size_t read = bytes_->read(offset_ + format::offset_of_entry<Entry>(first_), piece_.data(),
                                              piece_.size() * sizeof(Entry));
        const auto unused = std::find_if(piece_.begin(), piece_.begin() + read / sizeof(Entry),
                                         [](const Entry& entry) { return entry.time == 0; });
        const bool is_whole = unused == piece_.end();
        piece_.erase(unused, piece_.end());
        first_ = is_whole ? first_ + static_cast<std::uint32_t>(piece_.size()) : capacity;
    }

    const RecordingByteReader* bytes_;
    std::span<const IndexedSegment> segments_;  ///< segments of which no entry has been read yet
    std::uint64_t offset_ = 0;                  ///< offset of the current segment
    std::uint32_t slot_ = 0;                    ///< slot of the current segment
    std::uint32_t first_ = capacity;            ///< index of the current segment's first unread entry
    std::uint32_t piece_first_ = 0;             ///< index of the first entry of `piece_`
    std::vector<Entry> piece_;
    std::size_t position_ = 0;
};

}  // namespace fp32shim::record
