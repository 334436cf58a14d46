// Last step of reading: the events of one slot, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Locations of a slot's events: the segments with copies of full rings, by rising sequence, then the ring in use.
struct SlotEvents {
    std::uint32_t slot = 0;
    std::vector<IndexedSegment> segments;
    std::optional<IndexedSegment> ring;  ///< the ring in use; its `count`: how often it was full before
    std::uint32_t ring_begin = 0;        ///< index of the first entry of the ring that has no copy in `segments`
    std::uint32_t ring_end = 0;          ///< index after the last whole entry of the ring
    std::uint64_t ring_last = 0;         ///< time of the last whole entry of the ring
    std::uint64_t last_appended = 0;     ///< time of the last event in `segments`

    std::uint64_t count() const;
};

/// Returns true if `event` is newer than the one before it, and not left from an earlier round of the ring.
inline bool is_event_after(std::uint64_t time_before, const format::EventRecord& event) {
    return event.time > time_before;
}

/// Reads entries `begin` to `end`, at most 256, of the segment at offset `segment`. Returns how many it has read.
std::size_t read_events(const RecordingBytes& bytes, std::uint64_t segment, std::size_t begin, std::size_t end,
                        std::vector<format::EventRecord>& events);

/// Iterates over the events of one slot, in order, and reads the file in pieces. For one thread.
class EventCursor {
  public:
    struct Event {
        format::EventRecord record;
        std::int32_t thread;  ///< id of the calling thread; 0: unknown
    };

    /// Leaves out events up to time `after`. All objects passed by reference must outlive the cursor.
    EventCursor(const RecordingBytes& bytes, const SlotEvents& events, std::uint64_t after, ProblemList& problems);

    std::uint32_t slot() const { return events_.slot; }
    /// Returns the next call's event, skipping the marks of thread changes; nullopt at the end.
    std::optional<Event> next();

  private:
    bool load();
    bool begin_segment();
    bool begin_ring();
    void begin(const IndexedSegment& segment, std::size_t first, std::size_t end);
    void find_moved_ring();
    void drop_misordered_events();

    const RecordingBytes& bytes_;
    const SlotEvents& events_;
    ProblemList& problems_;
    std::uint64_t last_time_;
    std::size_t next_segment_ = 0;
    bool has_begun_ring_ = false;

    // Segment that is being read, from `piece_begin_` on.
    IndexedSegment segment_;
    std::size_t piece_begin_ = 0, piece_end_ = 0;  ///< entries of the segment still to be read
    std::uint64_t last_in_segment_ = 0;
    std::uint64_t latest_ = UINT64_MAX;  ///< time of the newest event to be given; later ones are left out
    std::int32_t thread_ = 0;
    std::size_t position_ = 0;
    std::vector<format::EventRecord> loaded_;
};

}  // namespace fp32shim::record
