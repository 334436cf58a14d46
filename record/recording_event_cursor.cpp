#include "record/recording_event_cursor.hpp"

#include <algorithm>
#include <string>

namespace fp32shim::record {

using format::EventRecord;
using format::EventSegment;

std::size_t count_whole_events(const EventSegment& segment) {
    const std::size_t limit = std::min<std::size_t>(segment.header.count, EventSegment::capacity);
    std::uint64_t last = 0;
    std::size_t count = 0;
    while (count < limit && goes_on(last, segment.entries[count])) last = segment.entries[count++].time;
    return count;
}

EventCursor::EventCursor(const RecordingBytes& bytes, const LaneEvents& events, std::uint64_t after,
                         ProblemList& problems)
    : bytes_(bytes), events_(events), problems_(problems), last_time_(after) {}

std::optional<EventCursor::Event> EventCursor::next() {
    for (;;) {
        if (position_ == loaded_.size()) {
            if (!load_next_segment()) return std::nullopt;
            continue;
        }
        const EventRecord record = loaded_[position_++];
        if (format::row_of(record) == format::thread_change)
            thread_ = static_cast<std::int32_t>(format::duration_of(record));
        if (!goes_on(last_time_, record)) continue;  // asked to be left out
        last_time_ = record.time;
        if (format::row_of(record) != format::thread_change) return Event{record, thread_};
    }
}

bool EventCursor::load_next_segment() {
    position_ = 0;
    loaded_.clear();
    while (next_segment_ < events_.segments.size()) {
        const SegmentPlace& place = events_.segments[next_segment_++];
        if (place.header.last_time <= last_time_) continue;
        const auto segment = std::make_unique<EventSegment>();
        bytes_.read_into(place.offset, *segment);
        if (segment->header.kind != place.header.kind || segment->header.lane != place.header.lane ||
            segment->header.sequence != place.header.sequence) {
            problems_.add(place.offset, "these events were overwritten while they were read; they are left out");
            continue;
        }
        const std::size_t count = count_whole_events(*segment);
        // Of the newest one, what was cut short is still in the ring.
        if (count < segment->header.count && next_segment_ < events_.segments.size())
            problems_.add(place.offset + sizeof(format::SegmentHeader) + count * sizeof(EventRecord),
                          "the times of the events of lane " + std::to_string(place.header.lane) +
                              " do not rise here; the rest of the segment, " +
                              std::to_string(segment->header.count - count) + " events, is left out");
        thread_ = segment->header.thread;
        loaded_.assign(segment->entries, segment->entries + count);
        return true;
    }
    if (is_in_ring_) return false;
    is_in_ring_ = true;
    thread_ = events_.ring_thread;
    loaded_ = events_.in_ring;
    return true;
}

}  // namespace fp32shim::record
