#include "record/read/event_cursor.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace fp32shim::record {

using format::EventRecord;
using format::EventSegment;
using format::SegmentKind;

namespace {

constexpr std::size_t events_of_a_piece = 256;

}  // namespace

std::uint64_t SlotEventPlaces::count() const {
    std::uint64_t sum = ring_end - ring_begin;
    for (const IndexedSegment& segment : segments) sum += segment.count;
    return sum;
}

std::size_t read_events(const RecordingByteReader& bytes, std::uint64_t segment, std::size_t begin, std::size_t end,
                        std::vector<EventRecord>& events) {
    events.resize(std::min(end - begin, events_of_a_piece));
    const std::uint64_t offset = segment + sizeof(format::SegmentHeader) + begin * sizeof(EventRecord);
    const std::size_t read = bytes.read(offset, events.data(), events.size() * sizeof(EventRecord));
    events.resize(read / sizeof(EventRecord));
    return events.size();
}

EventCursor::EventCursor(const RecordingByteReader& bytes, const SlotEventPlaces& events, std::uint64_t after,
                         ProblemList& problems)
    : bytes_(bytes), events_(events), problems_(problems), last_time_(after) {}

std::optional<EventCursor::Event> EventCursor::next() {
    for (;;) {
        if (position_ == loaded_.size()) {
            if (!load_events()) return std::nullopt;
            continue;
        }
        const EventRecord record = loaded_[position_++];
        if (format::row_of(record) == format::thread_change)
            thread_ = static_cast<std::int32_t>(format::duration_of(record));
        if (!is_event_after(last_time_, record)) continue;  // the caller has already seen this event
        last_time_ = record.time;
        if (format::row_of(record) != format::thread_change) return Event{record, thread_};
    }
}

/// Loads the next piece of the slot's events. Returns false if there are no more events.
bool EventCursor::load_events() {
    position_ = 0;
    loaded_.clear();
    while (piece_begin_ == piece_end_)
        if (!begin_segment() && !begin_ring()) return false;
    read_events(bytes_, segment_.offset, piece_begin_, piece_end_, loaded_);
    // The header is read after the entries, because a writer that replaces entries changes the header first.
    format::SegmentHeader header;
    bytes_.read_into(segment_.offset, header);
    const bool is_ring = segment_.kind == SegmentKind::ring;
    if (segment_.matches(header) && (!is_ring || header.count == segment_.count)) {
        drop_misordered_events();
        return true;
    }
    loaded_.clear();
    piece_begin_ = piece_end_;
    if (is_ring)
        continue_in_copied_ring();
    else
        problems_.add(segment_.offset, "these events were overwritten while they were read; they are left out");
    return true;
}

/// Drops the loaded events from the first event whose time is not later than that of the event before it. Such an
/// event is left over from an earlier use of its entry.
void EventCursor::drop_misordered_events() {
    std::size_t kept = 0;
    while (kept < loaded_.size() && is_event_after(last_in_segment_, loaded_[kept]) && loaded_[kept].time <= latest_)
        last_in_segment_ = loaded_[kept++].time;
    const bool is_whole = kept > 0 && kept == loaded_.size();
    loaded_.resize(kept);
    piece_begin_ += kept;
    if (is_whole) return;
    const std::size_t left_out = piece_end_ - std::exchange(piece_begin_, piece_end_);
    // No problem is reported if the newest segment of events is incomplete, because the ring still has the missing
    // events.
    if (segment_.kind != SegmentKind::events || next_segment_ >= events_.segments.size()) return;
    problems_.add(segment_.offset + sizeof(format::SegmentHeader) + (piece_end_ - left_out) * sizeof(EventRecord),
                  "the times of the events of slot " + std::to_string(segment_.slot) +
                      " do not increase here; the rest of the segment, " + std::to_string(left_out) +
                      (left_out == 1 ? " event" : " events") + ", is left out");
}

bool EventCursor::begin_segment() {
    while (next_segment_ < events_.segments.size()) {
        const IndexedSegment& segment = events_.segments[next_segment_++];
        if (segment.last_time <= last_time_) continue;
        begin_entries(segment, 0, segment.count);
        return true;
    }
    return false;
}

bool EventCursor::begin_ring() {
    if (has_begun_ring_ || !events_.ring) return false;
    has_begun_ring_ = true;
    latest_ = events_.ring_last;
    begin_entries(*events_.ring, events_.ring_begin, events_.ring_end);
    return true;
}

void EventCursor::begin_entries(const IndexedSegment& segment, std::size_t first, std::size_t end) {
    segment_ = segment;
    piece_begin_ = first;
    piece_end_ = std::min(end, EventSegment::capacity);
    last_in_segment_ = 0;
    thread_ = segment.thread;
}

/// Continues in the copy of the ring, because the process has overwritten the ring while this cursor was reading it.
/// The copy is the segment of events whose sequence is the count that the ring had before. Reports a problem if the
/// file has no such segment.
void EventCursor::continue_in_copied_ring() {
    ProblemList ignored;
    SegmentIndex index = index_segments(bytes_, ignored);
    for (const IndexedSegment& segment : index[SegmentKind::events])
        if (segment.slot == segment_.slot && segment.sequence == segment_.count)
            return begin_entries(segment, 0, segment.count);
    problems_.add(segment_.offset, "the newest events of slot " + std::to_string(segment_.slot) +
                                       " were overwritten while they were read; they are left out");
}

}  // namespace fp32shim::record
