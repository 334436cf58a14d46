// The last step of reading: the events of one lane, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "record/recording_format.hpp"
#include "record/recording_segments.hpp"

namespace fp32shim::record {

/// The events of one lane: those of its full rings, by rising sequence, then those of the ring.
struct LaneEvents {
    std::uint32_t lane = 0;
    std::vector<SegmentPlace> segments;
    std::vector<format::EventRecord> in_ring;
    std::int32_t ring_thread = 0;     ///< that had the lane at the first event of the ring; 0: unknown
    std::uint32_t full_count = 0;     ///< how often the ring was full
    std::uint64_t last_appended = 0;  ///< time of the last event in `segments`
};

/// Whether two entries that follow each other belong to one round of a ring.
inline bool goes_on(std::uint64_t time_before, const format::EventRecord& event) { return event.time > time_before; }

/// How many events at the begin of a segment are of its own round: fewer than it says where writing it was cut short.
std::size_t count_whole_events(const format::EventSegment& segment);

/// Reads one segment after the other. For one thread.
class EventCursor {
  public:
    struct Event {
        format::EventRecord record;
        std::int32_t thread;  ///< 0: unknown
    };

    /// Events up to time `after` are left out. All referenced outlive the cursor.
    EventCursor(const RecordingBytes& bytes, const LaneEvents& events, std::uint64_t after, ProblemList& problems);

    std::uint32_t lane() const { return events_.lane; }
    /// The next event, which is no thread change; nothing at the end.
    std::optional<Event> next();

  private:
    bool load_next_segment();

    const RecordingBytes& bytes_;
    const LaneEvents& events_;
    ProblemList& problems_;
    std::uint64_t last_time_;
    std::size_t next_segment_ = 0;
    bool is_in_ring_ = false;
    std::int32_t thread_ = 0;
    std::size_t position_ = 0;
    std::vector<format::EventRecord> loaded_;
};

}  // namespace fp32shim::record
