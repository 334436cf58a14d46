// Last step of reading: the events of one slot, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Places of one slot's events: the segments of full rings by rising sequence, then the ring in use.
struct SlotEvents {
    std::uint32_t slot = 0;
    std::vector<SegmentPlace> segments;
    std::optional<SegmentPlace> ring;  ///< its `count`: how often it had been full when this was read
    std::uint32_t ring_begin = 0;      ///< the first of its entries that `segments` do not have
    std::uint32_t ring_end = 0;        ///< place behind the last whole entry
    std::uint64_t ring_last = 0;       ///< time of that last entry
    std::uint64_t last_appended = 0;   ///< time of the last event in `segments`

    std::uint64_t count() const;
};

/// Returns true if an event belongs to the same round of a ring as the one before it.
inline bool goes_on(std::uint64_t time_before, const format::EventRecord& event) { return event.time > time_before; }

/// Reads entries `begin` to `end` of an `events` or `ring` segment, at most some 256. Returns how many.
std::size_t read_events(const RecordingBytes& bytes, std::uint64_t segment, std::size_t begin, std::size_t end,
                        std::vector<format::EventRecord>& events);

/// Reads one piece of a segment after the other. For one thread.
class EventCursor {
  public:
    struct Event {
        format::EventRecord record;
        std::int32_t thread;  ///< 0: unknown
    };

    /// Leaves out events up to time `after`. Everything referenced outlives the cursor.
    EventCursor(const RecordingBytes& bytes, const SlotEvents& events, std::uint64_t after, ProblemList& problems);

    std::uint32_t slot() const { return events_.slot; }
    /// Returns the next event, passing over thread changes; nothing at the end.
    std::optional<Event> next();

  private:
    bool load();
    bool begin_segment();
    bool begin_ring();
    void begin(const SegmentPlace& place, std::size_t first, std::size_t end);
    void find_moved_ring();
    void keep_rising();

    const RecordingBytes& bytes_;
    const SlotEvents& events_;
    ProblemList& problems_;
    std::uint64_t last_time_;
    std::size_t next_segment_ = 0;
    bool has_begun_ring_ = false;

    // Segment that is being read, from `piece_begin_` on.
    SegmentPlace place_;
    std::size_t piece_begin_ = 0, piece_end_ = 0;  ///< entries still to be read
    std::uint64_t last_in_segment_ = 0;
    std::uint64_t latest_ = UINT64_MAX;  ///< time after which events are left out
    std::int32_t thread_ = 0;
    std::size_t position_ = 0;
    std::vector<format::EventRecord> loaded_;
};

}  // namespace fp32shim::record
