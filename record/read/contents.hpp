// Contents of a recording, which read/reader.hpp hands out. Rows, texts and events are read on demand.
// Every access to the file is a copy, so that neither a hostile file nor a running writer can do harm.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record/format/format.hpp"
#include "record/format/identity.hpp"
#include "record/read/decisions.hpp"
#include "record/read/event_cursor.hpp"
#include "record/read/reader.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Contents of a recording, read once. For one thread; each RecordingReader::refresh() makes new ones.
class RecordingContents {
  public:
    /// Keeps a reference to `file`.
    explicit RecordingContents(RecordingBytes& file) : bytes(file), decisions(file, problems) {}
    RecordingContents(const RecordingContents&) = delete;
    RecordingContents& operator=(const RecordingContents&) = delete;

    /// Reads facts, counters and changes, and locates the rest. Returns an error if nothing is readable. Call once.
    std::string read();

    /// Returns the loaded objects, which the first call reads.
    const RecordedObjects& objects();
    /// Returns a row; nullptr if it is missing, which is noted as a problem if calls are counted under it. Valid
    /// until the next call of row().
    const RecordedRow* row(std::uint32_t id);
    /// Returns the counters of a row; nullptr: it has no calls.
    const format::CounterRecord* counters_of(std::uint32_t row) const;
    RecordedCounters to_counters(const format::CounterRecord& record) const;
    RecordedEvent to_event(const EventCursor::Event& event, std::uint32_t slot) const;
    std::uint64_t duration_ns(std::uint64_t ticks) const;
    std::int64_t realtime_of(std::uint64_t ticks) const;

    RecordingBytes& bytes;
    ProblemList problems;
    RecordingDecisions decisions;
    RecordingFacts facts;
    std::vector<format::CounterRecord> counters;  ///< one for each row with calls, by rising row
    std::vector<RecordedSlot> slots;
    std::vector<RecordedChange> changes;
    std::uint32_t lost_changes = 0;
    std::vector<RecordedChild> children;
    std::uint32_t missed_children = 0;
    std::map<std::uint32_t, SlotEvents> slot_events;
    std::uint64_t total_calls = 0, uncounted_calls = 0, uncounted_events = 0;

  private:
    std::string why_no_recording(const format::Header& header, std::size_t header_bytes) const;
    void read_segments(const format::Header& header);
    void read_facts(const format::Header& header, std::size_t header_bytes);
    std::string text(const format::Header& header, format::Text which, std::size_t header_bytes);
    std::string variable_name(const format::Header& header, format::Text which, std::size_t header_bytes);
    void measure_ticks(const format::Header& header);
    std::uint32_t next_segment() const;
    void read_counters(const SegmentIndex& index);
    bool add_counters(const SegmentPlace& place, std::size_t first, std::vector<std::uint32_t>& places);
    void read_rings(const SegmentIndex& index);
    void look_at_ring(const SegmentPlace& place, SlotEvents& events);
    SlotEvents& events_of(std::uint32_t slot);
    void read_changes(const format::Header& header);
    void read_children(const format::Header& header);
    void check_completeness(const SegmentIndex& index, std::uint32_t in_use);
    void arrange_events(const SegmentIndex& index);
    void keep_rising_segments(SlotEvents& events);
    void leave_appended_out(SlotEvents& events);
    void count_missing(const SlotEvents& events);
    void read_objects();
    RecordedChange make_change(const format::ChangeRecord& record, std::uint64_t offset);

    std::int64_t start_realtime_ns_ = 0;
    std::uint64_t start_ticks_ = 0, objects_looked_at_ = 0;
    bool has_exited_ = false, are_objects_read_ = false;
    std::vector<SegmentPlace> object_segments_;
    RecordedObjects objects_;
    std::map<std::uint32_t, RecordedSlot> slots_by_number_;
};

}  // namespace fp32shim::record
