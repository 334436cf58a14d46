// What a recording says, read once from its begin to its end: recording_reader.hpp gives it out. Every access to the
// file is a copy, so that neither a hostile file nor a running writer can do harm.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/recording_event_cursor.hpp"
#include "record/recording_format.hpp"
#include "record/recording_identity.hpp"
#include "record/recording_reader.hpp"
#include "record/recording_segments.hpp"

namespace fp32shim::record {

/// Everything that was read. For one thread; made anew by each refresh().
class RecordingContents {
  public:
    explicit RecordingContents(int descriptor) : bytes(descriptor) {}
    RecordingContents(const RecordingContents&) = delete;
    RecordingContents& operator=(const RecordingContents&) = delete;

    /// All but the events of full rings. An error where there is nothing that can be read. Once only.
    std::string read();

    ProcessIdentity identity() const;
    std::uint64_t duration_ns(std::uint64_t ticks) const;
    std::int64_t realtime_of(std::uint64_t ticks) const;

    RecordingBytes bytes;
    ProblemList problems;
    format::Header header{};
    RecordingFacts facts;
    std::vector<RecordedRow> rows;
    std::vector<LaneCounters> lane_counters;
    std::vector<RecordingReader::RowCounters> row_counters;
    std::unordered_map<std::uint32_t, std::uint64_t> mean_ticks_by_row;
    std::vector<RecordedLane> lanes;
    std::vector<RecordedChange> changes;
    std::uint32_t lost_changes = 0;
    RecordedObjects objects;
    std::map<std::uint32_t, LaneEvents> lane_events;
    std::uint64_t total_calls = 0;

  private:
    std::string why_no_recording(std::size_t header_bytes) const;
    void read_facts(std::size_t header_bytes);
    std::string text(format::Text which, std::size_t header_bytes);
    std::string variable_name(format::Text which, std::size_t header_bytes);
    void measure_ticks();
    void read_counters(const SegmentIndex& index);
    RecordedCounters make_counters(const format::CounterRecord& record) const;
    void read_rings(const SegmentIndex& index);
    LaneEvents& events_of(std::uint32_t lane);
    void read_changes();
    void check_completeness(const SegmentIndex& index, std::uint32_t in_use);
    void arrange_events(SegmentIndex& index);
    void count_missing(const LaneEvents& events);
    void read_rows(const SegmentIndex& index);
    void read_objects(const SegmentIndex& index);
    void read_strings(const SegmentIndex& index);
    std::string_view string(format::StringId id, std::uint64_t referred_from);
    RecordedRow make_row(std::uint32_t id, const format::RowContent& content, std::uint64_t offset);
    RecordedChange make_change(const format::ChangeRecord& record, std::uint64_t offset);
    void check_rows_of_counters();

    // Read before the texts that they refer to, each with its place in the file.
    struct PublishedRow {
        std::uint32_t id;
        std::uint64_t offset;
        format::RowContent content;
    };
    std::vector<PublishedRow> published_rows_;
    std::vector<std::pair<std::uint64_t, format::ChangeRecord>> change_records_;
    std::vector<std::pair<std::uint64_t, format::ObjectRecord>> object_records_;
    std::map<std::uint32_t, RecordedLane> lanes_by_number_;
    std::map<std::uint32_t, std::vector<char>> strings_;  // segments, by sequence
};

}  // namespace fp32shim::record
