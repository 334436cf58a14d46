#include "record/write/thread_writer.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <type_traits>

#include "record/write/lost_pages.hpp"
#include "record/write/memory.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::record {

using format::CounterRecord;
using format::CounterSegment;
using format::EventSegment;
using format::SegmentKind;

static_assert(std::is_standard_layout_v<ThreadWriter>, "all zeros is a state of its own: a forked child sees that");

void ThreadWriter::begin_slot(RecordingFile& file, std::uint32_t slot, CounterSegment* first) {
    thread_ = system::raw::gettid();
    slot_ = slot;
    begin_counters(file, first);
    assign_counters(format::overflow_row);
}

// ---- counters ----------------------------------------------------------------------------------------------------

CountersNumber ThreadWriter::counters_of_row(RecordingFile& file, std::uint32_t row) {
    if (row == format::overflow_row) return overflow_counters;
    CountersNumber* const known = counters_by_row_.number_of(row);
    if (known == nullptr) return overflow_counters;
    if (*known == overflow_counters && has_room_for_counters(file)) *known = assign_counters(row);
    return *known;
}

std::uint32_t* RowNumberTable::number_of(std::uint32_t row) {
    if (row < capacity_) return &numbers_[row];
    constexpr std::size_t least = 1024;
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(row + 1, least));
    auto* const pages =
        static_cast<std::uint32_t*>(map_private_pages(capacity * sizeof(std::uint32_t), PagesInChild::none));
    if (pages == nullptr) return nullptr;
    if (numbers_ != nullptr) {
        std::copy_n(numbers_, capacity_, pages);
        unmap_pages(numbers_, capacity_ * sizeof(std::uint32_t));
    }
    numbers_ = pages;
    capacity_ = capacity;
    return &numbers_[row];
}

/// Assigns the next unused CounterRecord of the newest segment to `row`, and returns its number. Precondition: the
/// segment has one.
CountersNumber ThreadWriter::assign_counters(std::uint32_t row) {
    const CountersNumber number = (counter_segment_count_ - 1) << counters_index_bits | counters_used_++;
    CounterRecord& made = counters(number);
    made.shortest = UINT64_MAX;
    std::atomic_ref(made.row_plus_one).store(row + 1, std::memory_order_release);
    return number;
}

/// Returns true if there is space for one more CounterRecord. If needed, makes a new segment.
bool ThreadWriter::has_room_for_counters(RecordingFile& file) {
    if (counters_used_ < CounterSegment::capacity) return true;
    if (ticks() < counters_retry_at_ || counter_segment_count_ == std::size(counter_segments_)) return false;
    auto* const segment = static_cast<CounterSegment*>(file.map_new_segment());
    if (segment != nullptr)
        begin_counters(file, segment);
    else
        counters_retry_at_ = file.one_second_from_now();
    return segment != nullptr;
}

void ThreadWriter::begin_counters(RecordingFile& file, CounterSegment* segment) {
    segment->header.slot = slot_;
    segment->header.sequence = counter_segment_count_;
    segment->header.thread = thread_;
    file.publish_segment(segment->header, SegmentKind::counters);
    counter_segments_[counter_segment_count_++] = segment;
    counters_used_ = 0;
}

// ---- audits and fingerprints -------------------------------------------------------------------------------------

template <class Entry>
Entry* ThreadWriter::next_entry(RecordingFile& file, CallRecordSegment<Entry>& records, SegmentKind kind) {
    ++records.wanted;
    const bool is_full = records.segment == nullptr || records.used == format::Segment<Entry>::capacity;
    if (is_full && !begin_records(file, records, kind)) return nullptr;
    return &records.segment->entries[records.used++];
}

/// Makes a new segment for `records`, records of single calls. Returns false if there is no space.
template <class Entry>
bool ThreadWriter::begin_records(RecordingFile& file, CallRecordSegment<Entry>& records, SegmentKind kind) {
    if (ticks() < records.retry_at) return false;
    const system::SignalHold hold;
    auto* const segment = static_cast<format::Segment<Entry>*>(file.map_new_segment_for_calls());
    if (segment == nullptr) {
        records.retry_at = file.one_second_from_now();
        return false;
    }
    // The earlier segment is unmapped, because it is full and this thread will not store to it again.
    if (records.segment != nullptr) {
        unguard_pages(records.segment);
        unmap_pages(records.segment, format::segment_size);
    }
    segment->header.slot = slot_;
    segment->header.sequence = records.segments++;
    segment->header.thread = thread_;
    file.publish_segment(segment->header, kind);
    records.segment = segment;
    records.used = 0;
    return true;
}

template format::AuditRecord* ThreadWriter::next_entry(RecordingFile& file,
                                                       CallRecordSegment<format::AuditRecord>& records,
                                                       SegmentKind kind);
template format::FingerprintRecord* ThreadWriter::next_entry(RecordingFile& file,
                                                             CallRecordSegment<format::FingerprintRecord>& records,
                                                             SegmentKind kind);
template format::OperandsRecord* ThreadWriter::next_entry(RecordingFile& file,
                                                          CallRecordSegment<format::OperandsRecord>& records,
                                                          SegmentKind kind);

// ---- events ------------------------------------------------------------------------------------------------------

bool ThreadWriter::make_ring(RecordingFile& file) {
    auto* ring = static_cast<EventSegment*>(file.map_new_segment());
    if (ring == nullptr) return false;
    ring->header.slot = slot_;
    ring->header.thread = thread_;
    file.publish_segment(ring->header, SegmentKind::ring);
    ring_ = ring;
    next_event_ = ring->entries;
    events_end_ = ring->entries + EventSegment::capacity;
    return true;
}

bool ThreadWriter::append_ring_to_file(RecordingFile& file) {
    EventSegment& ring = *ring_;
    format::SegmentHeader header{};
    header.kind = static_cast<std::uint32_t>(SegmentKind::events);
    header.slot = slot_;
    header.sequence = event_segment_count_;
    header.count = EventSegment::capacity;
    header.thread = ring.header.thread;
    header.first_time = ring.entries[0].time;
    header.last_time = last_time_;
    if (file.append_events(header, ring.entries) == RecordingFile::AppendResult::no_room) return false;
    std::atomic_ref(ring.header.count).store(++event_segment_count_, std::memory_order_relaxed);
    std::atomic_ref(ring.header.thread).store(thread_, std::memory_order_relaxed);
    next_event_ = ring.entries;
    return true;
}

}  // namespace fp32shim::record
