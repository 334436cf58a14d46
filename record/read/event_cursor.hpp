// Iterates over the events of one slot of a recording, in the order in which they are stored. A slot is the part of
// the file that one thread writes to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/format/format.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// The places in the file where the events of one slot are: segments with copies of full rings, by rising sequence,
/// and then the ring in use.
struct SlotEventPlaces {
    std::uint32_t slot = 0;
    std::vector<IndexedSegment> segments;
    std::optional<IndexedSegment> ring;  ///< the ring in use; its `count` says how often the ring has been full
    std::uint32_t ring_begin = 0;        ///< index of the ring's first entry without a copy in `segments`
    std::uint32_t ring_end = 0;          ///< index after the ring's last complete entry
    std::uint64_t ring_last = 0;         ///< time of the ring's last complete entry
    std::uint64_t last_appended = 0;     ///< time of the last event in `segments`

    std::uint64_t count() const;
};

/// Returns true if `event` is later than `time_before`, the time of the preceding event. If `event` is not later, it
/// is left over from an earlier use of its place in the ring.
inline bool is_event_after(std::uint64_t time_before, const format::EventRecord& event) {
    return event.time > time_before;
}

/// Reads the entries from `begin` up to but not including `end`, but at most 256 entries, of the segment at the
/// offset `segment`. Returns the number of entries that were read.
std::size_t read_events(const RecordingByteReader& bytes, std::uint64_t segment, std::size_t begin, std::size_t end,
                        std::vector<format::EventRecord>& events);

/// Iterates over the events of one slot, in order, and reads the file in pieces. Only one thread may use a cursor.
class EventCursor {
  public:
    struct Event {
        format::EventRecord record;
        std::int32_t thread;  ///< id of the calling thread; 0: unknown
    };

    /// Makes a cursor that leaves out the events up to the time `after`, in ticks. `bytes`, `events` and `problems`
    /// must outlive the cursor.
    EventCursor(const RecordingByteReader& bytes, const SlotEventPlaces& events, std::uint64_t after,
                ProblemList& problems);

    std::uint32_t slot() const { return events_.slot; }
    /// Returns the event of the next call, or nullopt at the end. Skips events that only mark a change of thread.
    std::optional<Event> next();

  private:
    bool load_events();
    bool begin_segment();
    bool begin_ring();
    void begin_entries(const IndexedSegment& segment, std::size_t first, std::size_t end);
    void continue_in_copied_ring();
    void drop_misordered_events();

    const RecordingByteReader& bytes_;
    const SlotEventPlaces& events_;
    ProblemList& problems_;
    std::uint64_t last_time_;
    std::size_t next_segment_ = 0;
    bool has_begun_ring_ = false;

    // The segment that is being read. Its next unread entry is `piece_begin_`.
    IndexedSegment segment_;
    std::size_t piece_begin_ = 0, piece_end_ = 0;  ///< range of the segment's unread entries
    std::uint64_t last_in_segment_ = 0;
    std::uint64_t latest_ = UINT64_MAX;  ///< time of the newest event to return; later events are left out
    std::int32_t thread_ = 0;
    std::size_t position_ = 0;
    std::vector<format::EventRecord> loaded_;
};

}  // namespace fp32shim::record
