// Iterates over the audits or fingerprints in a recording, one slot after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Iterates over records of single calls, reading the file in pieces. For one thread.
template <class Entry>
class CallRecordCursor {
  public:
    /// `segments`: the segments with the records, in reading order. All objects must outlive the cursor.
    CallRecordCursor(const RecordingByteReader& bytes, std::span<const IndexedSegment> segments)
        : bytes_(&bytes), segments_(segments) {}

    /// Returns the next record, valid until the next call; nullptr after the last.
    const Entry* next() {
        while (position_ == piece_.size()) {
            if (first_ == capacity && !begin_segment()) return nullptr;
            load_piece();
        }
        return &piece_[position_++];
    }
    /// Returns the slot of the record that next() returned last.
    std::uint32_t slot() const { return slot_; }
    /// Returns that record's offset in the file, in bytes.
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

    /// Reads a piece of the current segment: up to its end, or to the first unused entry.
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
    std::span<const IndexedSegment> segments_;  ///< segments that are not yet begun
    std::uint64_t offset_ = 0;                  ///< offset of the current segment
    std::uint32_t slot_ = 0;                    ///< slot of the current segment
    std::uint32_t first_ = capacity;            ///< index of the current segment's first unread entry
    std::uint32_t piece_first_ = 0;             ///< index of the first entry of `piece_`
    std::vector<Entry> piece_;
    std::size_t position_ = 0;
};

}  // namespace fp32shim::record
