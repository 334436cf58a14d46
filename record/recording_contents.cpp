#include "record/recording_contents.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "record/recording_clock.hpp"
#include "record/recording_identity.hpp"

namespace fp32shim::record {

using format::CounterRecord;
using format::CounterSegment;
using format::EventRecord;
using format::EventSegment;
using format::ObjectSegment;
using format::RowSegment;
using format::segment_size;
using format::Text;

namespace {

constexpr std::size_t stable_header_size = 4096;  // that all versions agree upon

__extension__ using Wide = __int128;

std::int64_t clamped_time(Wide nanoseconds) {
    return static_cast<std::int64_t>(std::clamp<Wide>(nanoseconds, -farthest_time_ns, farthest_time_ns));
}

/// Of an estimate, never negative: where it has more than 64 bits, the largest number.
std::uint64_t to_integer(double estimate) {
    constexpr double beyond = 0x1p64;
    return estimate < beyond ? static_cast<std::uint64_t>(estimate) : UINT64_MAX;
}

std::string hex(std::uint64_t value) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[value >> shift & 0xf];
    return text;
}

std::uint64_t byte_swapped(std::uint64_t value) { return __builtin_bswap64(value); }

/// Sums of one row and lane or of one row: `more` happened as well.
void add(CounterRecord& sum, const CounterRecord& more) {
    if (sum.calls == 0) {
        sum = more;
        return;
    }
    sum.calls += more.calls;
    sum.total += more.total;
    sum.shortest = std::min(sum.shortest, more.shortest);
    sum.longest = std::max(sum.longest, more.longest);
    sum.first = std::min(sum.first, more.first);
    sum.last = std::max(sum.last, more.last);
    sum.untimed += more.untimed;
    sum.timed += more.timed;
}

/// Adds the calls since the last timed one, which `total` does not know yet: each as long as the mean of the others,
/// in which the longest counts as at most outlier_factor times the mean of the rest.
void complete_total(CounterRecord& counters) {
    const auto untimed = static_cast<double>(counters.untimed);
    const double known = static_cast<double>(counters.calls) - untimed;
    if (untimed == 0 || known < 1) return;
    const auto total = static_cast<double>(counters.total);
    const double longest = std::min(static_cast<double>(counters.longest), total);
    const double rest = known > 1 ? (total - longest) / (known - 1) : longest;
    const double typical = (total - longest + std::min(longest, format::outlier_factor * rest)) / known;
    counters.total = to_integer(total + untimed * typical);
    counters.untimed = 0;
}

std::uint64_t mean_duration(const CounterRecord& counters) {
    return counters.calls == 0 ? 0 : counters.total / counters.calls;
}

}  // namespace

std::string RecordingContents::why_no_recording(std::size_t header_bytes) const {
    if (header_bytes == 0) return "the file is empty: no recording, or one whose process was killed while it made it";
    if (header.magic == 0)
        return "offset 0: no recording yet: its process is just making it, or was killed while it did";
    if (header_bytes < sizeof header.magic || header.magic != format::magic) {
        if (header_bytes >= sizeof header.magic && header.magic == byte_swapped(format::magic))
            return "offset 0: recorded on a machine with another byte order; read it on one like that";
        return "offset 0: not a recording of fp32shim (they begin with \"FP32REC\", this with " + hex(header.magic) +
               "); name a .fp32rec file";
    }
    if (header_bytes < stable_header_size)
        return "offset " + std::to_string(header_bytes) + ": the file ends within its header, of which " +
               std::to_string(stable_header_size) + " bytes are needed; nothing of it can be read";
    if (header.byte_order != format::byte_order)
        return "offset 12: byte order " + hex(header.byte_order) + ", expected " + hex(format::byte_order) +
               "; the file is corrupt";
    return {};
}

std::string RecordingContents::read() {
    const std::size_t header_bytes = bytes.read(0, &header, sizeof header);
    facts.file_size = bytes.size();
    if (std::string why = why_no_recording(header_bytes); !why.empty()) return why;
    facts.format_version = header.version;
    read_facts(header_bytes);
    if (header.version != format::version) {
        problems.add(
            8, "format version " + std::to_string(header.version) + ", this fp32shim reads version " +
                   std::to_string(format::version) +
                   "; only the facts about the process are shown; use the fp32shim that recorded it, or a newer one");
        return {};
    }
    if (header.segment_size != segment_size) {
        problems.add(16, "segments of " + std::to_string(header.segment_size) + " bytes, expected " +
                             std::to_string(segment_size) + "; only the facts about the process are shown");
        return {};
    }
    if (header_bytes < sizeof header)
        problems.add(header_bytes, "the file ends within its header; only the facts about the process are shown");

    // The order matters while the process runs: whatever is read refers only to what was published before, so that is
    // read later.
    const std::uint32_t in_use = header.segments_in_use;
    SegmentIndex index = index_segments(bytes, header.next_segment, problems);
    read_counters(index);
    read_rings(index);
    read_changes();
    bytes.read(offsetof(format::Header, next_segment), &header.next_segment, sizeof header.next_segment);
    index = index_segments(bytes, header.next_segment, problems);
    check_completeness(index, in_use);
    arrange_events(index);
    read_rows(index);
    read_objects(index);
    bytes.read(offsetof(format::Header, next_segment), &header.next_segment, sizeof header.next_segment);
    index = index_segments(bytes, header.next_segment, problems);
    read_strings(index);

    for (const PublishedRow& row : published_rows_) rows.push_back(make_row(row.id, row.content, row.offset));
    for (const auto& [offset, record] : change_records_) changes.push_back(make_change(record, offset));
    for (const auto& [offset, record] : object_records_) {
        const auto size = std::min<std::size_t>(record.build_id_size, format::build_id_limit);
        objects.all.push_back({std::string(string(record.path, offset)),
                               {record.build_id, record.build_id + size},
                               realtime_of(record.first_seen),
                               (record.flags & format::object_is_bound_past) != 0});
    }
    check_rows_of_counters();
    return {};
}

void RecordingContents::check_rows_of_counters() {
    for (const LaneCounters& entry : lane_counters) {
        if (std::binary_search(published_rows_.begin(), published_rows_.end(), PublishedRow{entry.row, 0, {}},
                               [](const PublishedRow& a, const PublishedRow& b) { return a.id < b.id; }))
            continue;
        problems.add(facts.file_size,
                     "counters name row " + std::to_string(entry.row) +
                         ", which is not in the file; their calls are counted without saying what they were");
    }
}

std::string RecordingContents::text(Text which, std::size_t header_bytes) {
    const format::TextRange& range = header.texts[static_cast<std::size_t>(which)];
    const std::uint64_t end = std::uint64_t{range.offset} + range.size;
    if (end <= header_bytes) return {reinterpret_cast<const char*>(&header) + range.offset, range.size};
    const std::uint64_t place =
        offsetof(format::Header, texts) + sizeof(format::TextRange) * static_cast<std::size_t>(which);
    problems.add(place, "a text of the header is said to stand at " + std::to_string(range.offset) + " to " +
                            std::to_string(end) + ", beyond the header's " + std::to_string(header_bytes) +
                            " bytes; it is left out");
    return {};
}

/// A text that is the name of an environment variable: whoever writes it need not escape anything.
std::string RecordingContents::variable_name(Text which, std::size_t header_bytes) {
    constexpr std::size_t longest = 64;
    std::string name = text(which, header_bytes);
    const bool is_name =
        name.size() <= longest && std::all_of(name.begin(), name.end(), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (is_name) return name;
    problems.add(header.texts[static_cast<std::size_t>(which)].offset,
                 "a text that is no name of an environment variable, as it should be; it is left out");
    return {};
}

void RecordingContents::read_facts(std::size_t header_bytes) {
    facts.process.pid = header.pid;
    facts.process.forked_from = header.forked_from;
    facts.process.host = text(Text::host, header_bytes);
    facts.process.job_id = text(Text::job_id, header_bytes);
    facts.process.job_id_from = variable_name(Text::job_id_from, header_bytes);
    facts.process.rank = header.rank;
    facts.process.rank_from = variable_name(Text::rank_from, header_bytes);
    facts.process.executable = text(Text::executable, header_bytes);
    facts.process.command = text(Text::command, header_bytes);
    facts.process.pins = static_cast<std::uint16_t>(header.pins | header.more_pins << 8);
    facts.process.run = header.run;
    facts.process.start_ns = clamped_time(header.facts_ns);
    facts.start.version = text(Text::version, header_bytes);
    facts.start.policy_name = text(Text::policy_name, header_bytes);
    facts.start.policy_revision = text(Text::policy_revision, header_bytes);
    facts.start.policy_sha256 = text(Text::policy_sha256, header_bytes);
    facts.start.default_precision = static_cast<policy::Precision>(header.default_precision);
    facts.start.floor = static_cast<policy::Floor>(header.floor);
    facts.start.cpu_mode = static_cast<policy::CpuMode>(header.cpu_mode);
    facts.start.tf32_rounding = static_cast<policy::Tf32Rounding>(header.tf32_rounding);
    facts.start.log_level = static_cast<policy::LogLevel>(header.level);
    facts.opened_ns = clamped_time(header.start_realtime_ns);
    facts.on_full = static_cast<policy::OnFull>(header.on_full);
    facts.max_size = header.max_size;
    facts.architecture = static_cast<format::Architecture>(header.architecture);
    facts.flags = header.flags;
    facts.last_error = header.last_error;
    facts.identity = identity();
    facts.opened_ticks = header.start_ticks;
    facts.went_on_ticks = header.went_on_at;
    measure_ticks();
}

/// On the machine that recorded, and since the same boot, this reader can look at the counter itself: the longer ago
/// the recording began, the better.
void RecordingContents::measure_ticks() {
    facts.ticks_per_second = header.ticks_per_second;
    if (facts.ticks_per_second == 0) {
        problems.add(offsetof(format::Header, ticks_per_second),
                     "the rate of the processor's counter is 0; times are as if it were 1 GHz");
        facts.ticks_per_second = 1'000'000'000;
    }
    if (!identity().has_boot_of(identify_self())) return;
    const ClockPoint started{header.start_ticks, header.start_monotonic_ns, header.start_realtime_ns};
    const std::uint64_t measured = ticks_per_second(started, read_clocks());
    // Beyond a thousandth it is something else: a machine that slept, or was moved.
    const std::uint64_t tolerance = facts.ticks_per_second / 1000;
    if (measured + tolerance >= facts.ticks_per_second && measured <= facts.ticks_per_second + tolerance)
        facts.ticks_per_second = measured;
}

ProcessIdentity RecordingContents::identity() const {
    ProcessIdentity identity{header.pid, header.process_start, header.pid_namespace, {}};
    std::memcpy(identity.boot_id, header.boot_id, sizeof identity.boot_id);
    return identity;
}

std::int64_t RecordingContents::realtime_of(std::uint64_t ticks) const {
    const Wide since_start = static_cast<Wide>(ticks) - static_cast<Wide>(header.start_ticks);
    return clamped_time(since_start * 1'000'000'000 / static_cast<Wide>(facts.ticks_per_second) +
                        static_cast<Wide>(header.start_realtime_ns));
}

std::uint64_t RecordingContents::duration_ns(std::uint64_t ticks) const {
    const Wide nanoseconds = static_cast<Wide>(ticks) * 1'000'000'000 / static_cast<Wide>(facts.ticks_per_second);
    return static_cast<std::uint64_t>(std::min<Wide>(nanoseconds, INT64_MAX));
}

RecordedCounters RecordingContents::make_counters(const CounterRecord& record) const {
    return {record.calls,
            duration_ns(record.total),
            duration_ns(record.shortest),
            duration_ns(record.longest),
            realtime_of(record.first),
            realtime_of(record.last),
            record.timed};
}

void RecordingContents::read_counters(const SegmentIndex& index) {
    std::map<std::uint32_t, CounterRecord> by_row;
    const auto segment = std::make_unique<CounterSegment>();
    for (const SegmentPlace& place : index.counters) {
        bytes.read_into(place.offset, *segment);
        RecordedLane& lane = lanes_by_number_[place.header.lane];
        lane.lane = place.header.lane;
        if (place.header.sequence == 0) lane.thread = segment->header.thread;
        for (CounterRecord& record : segment->entries) {
            if (record.row_plus_one == 0 || record.calls == 0) continue;
            complete_total(record);
            const std::uint32_t row = record.row_plus_one - 1;
            if (row >= format::row_limit) {
                const auto position = static_cast<std::uint64_t>(&record - segment->entries);
                problems.add(place.offset + sizeof(format::SegmentHeader) + position * sizeof(CounterRecord),
                             "counters of row " + std::to_string(row) + ", but there are at most " +
                                 std::to_string(format::row_limit) + "; they are left out");
                continue;
            }
            lane_counters.push_back({place.header.lane, row, make_counters(record)});
            add(by_row[row], record);
            total_calls += record.calls;
        }
    }
    for (const auto& [row, record] : by_row) {
        row_counters.push_back({row, make_counters(record)});
        mean_ticks_by_row[row] = mean_duration(record);
    }
    total_calls += header.uncounted_calls;
}

LaneEvents& RecordingContents::events_of(std::uint32_t lane) {
    LaneEvents& events = lane_events[lane];
    events.lane = lane;
    return events;
}

/// Twice, since a running process goes on writing: an entry that was there at the first reading is whole at the
/// second, unless the ring has gone round meanwhile, which its time tells.
void RecordingContents::read_rings(const SegmentIndex& index) {
    const auto before = std::make_unique<EventSegment>();
    const auto now = std::make_unique<EventSegment>();
    for (const SegmentPlace& place : index.rings) {
        bytes.read_into(place.offset, *before);
        bytes.read_into(place.offset, *now);
        const std::uint32_t number = place.header.lane;
        RecordedLane& lane = lanes_by_number_[number];
        lane.lane = number;
        lane.dropped = now->header.dropped;
        LaneEvents& events = events_of(number);
        if (!events.in_ring.empty()) {
            problems.add(place.offset, "a second ring of lane " + std::to_string(number) + "; it is left out");
            continue;
        }
        events.ring_thread = now->header.thread;
        events.full_count = now->header.count;
        std::uint64_t last = 0;
        for (std::size_t i = 0; i < EventSegment::capacity; ++i) {
            if (!goes_on(last, now->entries[i]) || now->entries[i].time != before->entries[i].time) break;
            last = now->entries[i].time;
            events.in_ring.push_back(now->entries[i]);
        }
    }
}

/// Puts the full rings of each lane into their order, and leaves of its ring what they do not have.
void RecordingContents::arrange_events(SegmentIndex& index) {
    for (const SegmentPlace& place : index.events) events_of(place.header.lane).segments.push_back(place);
    const auto newest = std::make_unique<EventSegment>();
    for (auto& [number, events] : lane_events) {
        std::vector<SegmentPlace>& segments = events.segments;
        std::sort(segments.begin(), segments.end(), [](const SegmentPlace& a, const SegmentPlace& b) {
            return std::pair(a.header.sequence, a.offset) < std::pair(b.header.sequence, b.offset);
        });
        std::vector<SegmentPlace> kept;
        for (const SegmentPlace& place : segments) {
            const format::SegmentHeader& header_here = place.header;
            const bool rises =
                header_here.first_time > events.last_appended && header_here.last_time >= header_here.first_time;
            if (header_here.count > EventSegment::capacity || !rises) {
                problems.add(place.offset, "events of lane " + std::to_string(number) +
                                               " that do not follow those before them; the segment is left out");
                continue;
            }
            events.last_appended = header_here.last_time;
            kept.push_back(place);
        }
        segments = std::move(kept);
        if (!segments.empty()) {
            bytes.read_into(segments.back().offset, *newest);
            const std::size_t whole = count_whole_events(*newest);
            events.last_appended = whole == 0 ? 0 : newest->entries[whole - 1].time;
            if (whole == 0 && segments.size() > 1)
                events.last_appended = segments[segments.size() - 2].header.last_time;
        }
        const std::uint64_t last_appended = events.last_appended;
        const auto is_appended = [&](const EventRecord& event) { return event.time <= last_appended; };
        // Where the ring has gone on, everything in its new round is newer; where it has not, a cut segment has its
        // begin.
        std::erase_if(events.in_ring, is_appended);
    }
    for (const auto& [number, events] : lane_events) count_missing(events);
    for (const auto& [number, lane] : lanes_by_number_) lanes.push_back(lane);
}

/// Full rings of a lane that the file does not have any more, or never had.
void RecordingContents::count_missing(const LaneEvents& events) {
    std::uint64_t expected = events.full_count;
    if (!events.segments.empty())
        expected = std::max<std::uint64_t>(expected, std::uint64_t{events.segments.back().header.sequence} + 1);
    const std::uint64_t missing = expected - std::min<std::uint64_t>(expected, events.segments.size());
    if (missing == 0) return;
    if (facts.on_full == policy::OnFull::overwrite) {
        RecordedLane& lane = lanes_by_number_[events.lane];
        lane.lane = events.lane;
        lane.overwritten = missing * EventSegment::capacity;
    } else {
        problems.add(facts.file_size, std::to_string(missing) + " segments with events of lane " +
                                          std::to_string(events.lane) +
                                          " are not in the file; what they had is lost");
    }
}

void RecordingContents::check_completeness(const SegmentIndex& index, std::uint32_t in_use) {
    if (index.whole_count >= in_use) return;
    problems.add(facts.file_size, "the file ends here, with " + std::to_string(index.whole_count) +
                                      " whole segments of " + std::to_string(in_use) +
                                      " that are in use; what was behind is lost");
}

void RecordingContents::read_rows(const SegmentIndex& index) {
    const auto segment = std::make_unique<RowSegment>();
    for (const SegmentPlace& place : index.rows) {
        bytes.read_into(place.offset, *segment);
        const std::uint64_t first = std::uint64_t{place.header.sequence} * RowSegment::capacity;
        for (std::size_t i = 0; i < RowSegment::capacity; ++i) {
            if (segment->entries[i].published != 1 || first + i >= format::row_limit) continue;
            published_rows_.push_back({static_cast<std::uint32_t>(first + i),
                                       place.offset + sizeof(format::SegmentHeader) + i * sizeof(format::RowRecord),
                                       segment->entries[i].content});
        }
    }
    std::stable_sort(published_rows_.begin(), published_rows_.end(),
                     [](const PublishedRow& a, const PublishedRow& b) { return a.id < b.id; });
    const auto is_second = [this](const PublishedRow& a, const PublishedRow& b) {
        if (a.id == b.id) problems.add(b.offset, "a second row " + std::to_string(b.id) + "; it is left out");
        return a.id == b.id;
    };
    published_rows_.erase(std::unique(published_rows_.begin(), published_rows_.end(), is_second),
                          published_rows_.end());
}

void RecordingContents::read_strings(const SegmentIndex& index) {
    for (const SegmentPlace& place : index.strings) {
        std::vector<char> segment(segment_size);
        bytes.read(place.offset, segment.data(), segment.size());
        if (!strings_.emplace(place.header.sequence, std::move(segment)).second)
            problems.add(place.offset, "a second segment of texts with the number " +
                                           std::to_string(place.header.sequence) + "; it is left out");
    }
}

std::string_view RecordingContents::string(format::StringId id, std::uint64_t referred_from) {
    if (id == 0) return {};
    const auto segment = strings_.find(format::sequence_of(id));
    const std::size_t offset = format::offset_of(id);
    if (segment != strings_.end() && offset >= sizeof(format::SegmentHeader)) {
        std::uint32_t size_plus_one = 0;
        std::memcpy(&size_plus_one, segment->second.data() + offset, sizeof size_plus_one);
        const std::size_t begin = offset + sizeof size_plus_one;
        const std::uint32_t size = size_plus_one - 1;
        if (size_plus_one > 1 && size > format::string_limit) {
            problems.add(referred_from, "a text " + std::to_string(format::sequence_of(id)) + ":" +
                                            std::to_string(offset) + " of " + std::to_string(size) +
                                            " bytes, but texts have at most " + std::to_string(format::string_limit) +
                                            "; it is shown as empty");
            return {};
        }
        if (size_plus_one > 1 && size <= segment_size - begin) return {segment->second.data() + begin, size};
    }
    problems.add(referred_from, "a text " + std::to_string(format::sequence_of(id)) + ":" + std::to_string(offset) +
                                    " that is not in the file; it is shown as empty");
    return {};
}

RecordedRow RecordingContents::make_row(std::uint32_t id, const format::RowContent& content, std::uint64_t offset) {
    RecordedRow row;
    row.id = id;
    row.is_folded = (content.flags & format::row_is_folded) != 0;
    row.is_overflow = (content.flags & format::row_is_overflow) != 0;
    DecisionEvent& decision = row.decision;
    decision.call.function = string(content.function, offset);
    decision.call.caller = string(content.caller, offset);
    decision.call.scope = string(content.scope, offset);
    decision.call.dtype = static_cast<policy::Dtype>(content.dtype);
    decision.call.device = static_cast<policy::Device>(content.device);
    decision.call.device_index = content.device_index;
    decision.call.compute_capability = content.compute_capability;
    decision.call.trans_a = content.trans_a;
    decision.call.trans_b = content.trans_b;
    decision.call.m = content.m;
    decision.call.n = content.n;
    decision.call.k = content.k;
    decision.call.batch = content.batch;
    decision.provider = string(content.provider, offset);
    decision.requested = static_cast<policy::Precision>(content.requested);
    decision.source = static_cast<policy::Source>(content.source);
    decision.rule = string(content.rule, offset);
    decision.applied = static_cast<policy::Applied>(content.applied);
    if (content.actual != format::no_actual) decision.actual = static_cast<policy::Applied>(content.actual);
    decision.how = static_cast<How>(content.how);
    decision.reason = static_cast<policy::Reason>(content.reason);
    decision.detail = string(content.detail, offset);
    if (content.status != format::no_status) decision.status = content.status;
    return row;
}

void RecordingContents::read_objects(const SegmentIndex& index) {
    const auto segment = std::make_unique<ObjectSegment>();
    for (std::size_t number = 0; number < index.objects.size(); ++number) {
        const SegmentPlace& place = index.objects[number];
        if (number == format::object_segment_limit) {
            problems.add(place.offset,
                         std::to_string(index.objects.size()) + " segments with objects, but there are at most " +
                             std::to_string(format::object_segment_limit) + "; those from here on are left out");
            break;
        }
        bytes.read_into(place.offset, *segment);
        for (std::size_t i = 0; i < ObjectSegment::capacity; ++i) {
            if (segment->entries[i].published != 1) continue;
            object_records_.emplace_back(
                place.offset + sizeof(format::SegmentHeader) + i * sizeof(format::ObjectRecord), segment->entries[i]);
        }
    }
    if (header.objects_looked_at != 0) objects.looked_at_ns = realtime_of(header.objects_looked_at);
    objects.until_exit = header.exited_at != 0;
    objects.are_missing = (header.flags & format::flag_objects_missed) != 0;
    objects.had_lookup_past = (header.flags & format::flag_lookup_past) != 0;
}

/// Those that are kept, oldest first.
void RecordingContents::read_changes() {
    const std::uint32_t count = header.change_count;
    const std::uint32_t kept = std::min<std::uint32_t>(count, format::change_limit);
    for (std::uint32_t number = count - kept; number != count; ++number) {
        const std::size_t place = number % format::change_limit;
        if (header.changes[place].time != 0)
            change_records_.emplace_back(offsetof(format::Header, changes) + place * sizeof(format::ChangeRecord),
                                         header.changes[place]);
    }
    // Also the one in whose place a writer is at the moment, or was when it was killed.
    lost_changes = count - static_cast<std::uint32_t>(change_records_.size());
}

RecordedChange RecordingContents::make_change(const format::ChangeRecord& record, std::uint64_t offset) {
    RecordedChange change;
    change.time_ns = realtime_of(record.time);
    change.kind = static_cast<format::ChangeKind>(record.kind);
    change.origin = static_cast<format::ChangeOrigin>(record.origin);
    change.was_done = record.result == static_cast<std::uint32_t>(format::CommandResult::done);
    change.requester = record.requester;
    if (change.kind == format::ChangeKind::set_precision && record.precision != format::no_precision)
        change.precision = static_cast<policy::Precision>(record.precision);
    change.floor = static_cast<policy::Floor>(record.floor);
    if (change.kind == format::ChangeKind::reload && record.has_settings == 1)
        change.settings = {static_cast<policy::Precision>(record.default_precision),
                           static_cast<policy::Floor>(record.settings_floor),
                           static_cast<policy::CpuMode>(record.cpu_mode)};
    change.policy_name = string(record.policy_name, offset);
    change.policy_revision = string(record.policy_revision, offset);
    change.policy_sha256 = string(record.policy_sha256, offset);
    change.message = string(record.message, offset);
    return change;
}

}  // namespace fp32shim::record
