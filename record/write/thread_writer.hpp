// Writes to the slot of one thread, which is the thread's part of a recording's file, with counters and a ring of
// events. The table of the keys that the thread has counted is in private memory. Class Recording decides how a call
// is counted, and ThreadWriter stores the result.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/format/clock.hpp"
#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/keys.hpp"
#include "system/reentrancy.hpp"

namespace fp32shim::record {

/// The newest segment of a slot for one kind of records of single calls (audits, fingerprints or operand hashes). If
/// there is no segment yet, all members are zeros.
template <class Entry>
struct CallRecordSegment {
    format::Segment<Entry>* segment;
    std::uint32_t used;      // number of used entries in `segment`
    std::uint32_t segments;  // number of segments that were made so far
    std::uint32_t wanted;    // number of the thread's records so far, including those for which there was no space
    std::uint64_t retry_at;  // time in ticks before which no space is requested
};

/// A table that stores one number for each row (distinct decision). The table grows, and lies in private pages. An
/// object of zeros is an empty table.
class RowNumberTable {
  public:
    /// Returns a pointer to the number that is stored for a row, which is 0 at first. Returns nullptr if there is no
    /// memory.
    std::uint32_t* number_of(std::uint32_t row);
    std::uint32_t number_or_0(std::uint32_t row) const { return row < capacity_ ? numbers_[row] : 0; }

  private:
    std::uint32_t* numbers_;
    std::size_t capacity_;
};

/// Stores the calls of one thread. Recording::attach_thread() makes a writer in zeroed pages; a writer of zeros has
/// no slot yet. In a forked child, the kernel zeroes all writers again.
class alignas(64) ThreadWriter {
  public:
    ThreadWriter(const ThreadWriter&) = delete;
    ThreadWriter& operator=(const ThreadWriter&) = delete;

    /// Returns a pointer that code outside of record/ may set. It is nullptr at first and in a forked child. If a
    /// later thread continues the slot, it gets the same pointer. `use_` does not guard it.
    void*& attached_memory() { return attached_memory_; }
    /// Returns a reference to a pointer to the counters of the call that the thread counted most recently. The
    /// pointer is nullptr if no call was counted. When record_observed_product() counts a kernel or an execution of
    /// oneDNN, it leaves the pointer as it was.
    const format::CounterRecord*& last_product() { return last_product_; }

  private:
    friend class Recording;

    format::CounterRecord& counters(CountersNumber number) const {
        return counter_segments_[number >> counters_index_bits]->entries[number & ((1U << counters_index_bits) - 1)];
    }
    /// Returns the counters of a key, or nullptr if the key is not in `keys_`. Precondition: the caller has called
    /// use_.begin_use().
    [[gnu::always_inline]] format::CounterRecord* find_counters(std::uint64_t key) {
        const CountersNumber number = keys_.find(key);
        return number == CountersByKey::none ? nullptr : &counters(number);
    }
    /// Returns the number of a row's counters. If the row has no counters in this slot, assigns unused counters to
    /// it. Returns overflow_counters if there is no space.
    CountersNumber counters_of_row(RecordingFile& file, std::uint32_t row);

    [[gnu::always_inline]] bool has_room_for_event() const { return next_event_ != events_end_; }
    /// Returns true if an event can be dropped without looking for space, because there was no space for events less
    /// than a second ago. Precondition: !counter_traps.
    [[gnu::always_inline]] bool is_dropping_events() const {
        return ring_ != nullptr && processor_counter() < retry_at_;
    }
    [[gnu::always_inline]] void drop_event() {
        const std::atomic_ref dropped(ring_->header.dropped);
        dropped.store(dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// Adds an event to the ring. Precondition: has_room_for_event().
    [[gnu::always_inline]] void put_event(std::uint64_t time, std::uint64_t duration_row) {
        // The times of events must rise even if the counter did not, because for a reader the new events in the ring
        // end where the times stop rising.
        if (time <= last_time_) time = last_time_ + 1;
        format::EventRecord& event = *next_event_;
        std::atomic_ref(event.duration_row).store(duration_row, std::memory_order_relaxed);
        std::atomic_ref(event.time).store(time, std::memory_order_release);
        last_time_ = time;
        ++next_event_;
    }

    /// Gives the slot with the number `slot` to a zeroed writer. `first` is the first segment for its counters, whose
    /// entry 0 gets the overflow row.
    void begin_slot(RecordingFile& file, std::uint32_t slot, format::CounterSegment* first);
    /// Makes a segment for the ring of events. Returns false if there is no space.
    bool make_ring(RecordingFile& file);
    /// Copies the full ring into another segment of the file, and empties the ring. Returns false if there is no
    /// space.
    bool append_ring_to_file(RecordingFile& file);

    /// Returns the next unused entry for a record of a single call, or nullptr if there is no space.
    template <class Entry>
    Entry* next_entry(RecordingFile& file, CallRecordSegment<Entry>& records, format::SegmentKind kind);
    template <class Entry>
    bool begin_records(RecordingFile& file, CallRecordSegment<Entry>& records, format::SegmentKind kind);

    /// Returns the entry for the times of a row on the GPU, or nullptr if there is no space.
    format::GpuTimeRecord* gpu_times_of_row(RecordingFile& file, std::uint32_t row);
    CountersNumber assign_counters(std::uint32_t row);
    void begin_counters(RecordingFile& file, format::CounterSegment* segment);
    bool has_room_for_counters(RecordingFile& file);

    // Invariant: next_event_ and events_end_ lie in the ring, or both are null.
    system::ReentrancyFlag use_;  // guards the members from `keys_` to `counters_by_row_`
    CountersByKey keys_;
    format::EventRecord* next_event_;
    format::EventRecord* events_end_;
    std::uint64_t last_time_;  // time of the newest event, in ticks
    const format::CounterRecord* last_product_;

    std::atomic<std::uint32_t> is_taken_;  // 1: a thread uses this writer
    std::int32_t thread_;
    std::uint32_t slot_;
    ThreadWriter* next_;   // next writer in the list Recording::writers_
    ThreadWriter* spare_;  // writer for calls that are made while this writer is in use (Recording::spare_writer())
    std::uint32_t counter_segment_count_;  // number of segments of counters; 0: the writer has no slot, as in a
                                           // forked child
    std::uint32_t counters_used_;          // number of used entries in the newest segment of counters
    format::EventSegment* ring_;
    std::uint32_t event_segment_count_;  // number of full rings that were copied into the file
    std::uint64_t retry_at_;             // time in ticks before which no space for events or for a slot is requested
    std::uint64_t counters_retry_at_;    // time in ticks before which no space for counters is requested
    CallRecordSegment<format::AuditRecord> audits_;
    CallRecordSegment<format::FingerprintRecord> fingerprints_;
    CallRecordSegment<format::OperandsRecord> operands_;
    RowNumberTable counters_by_row_;  // for each row, the number of its counters in the slot (CountersNumber);
                                      // overflow_counters: it has none yet
    void* attached_memory_;
    // The code that sets `attached_memory_` guards the following members.
    RowNumberTable gpu_times_by_row_;   // for each row, the number of its entry in gpu_time_segments_, from 1; 0:
                                        // none
    std::uint32_t gpu_times_used_;      // number of used entries in gpu_time_segments_
    std::uint64_t gpu_times_retry_at_;  // time in ticks before which no space for times on a GPU is requested
    format::GpuTimeSegment* gpu_time_segments_[format::gpu_time_segment_limit];

    // This array is large enough for one CounterRecord for each possible row. It is the last member, because few
    // threads use more than its beginning.
    format::CounterSegment* counter_segments_[format::row_limit / format::CounterSegment::capacity + 1];
};

/// The CountersNumber of the overflow row, whose counters are the first ones of every slot.
inline constexpr CountersNumber overflow_counters = 0;

}  // namespace fp32shim::record
