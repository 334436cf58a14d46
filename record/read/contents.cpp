#include "record/read/contents.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "record/format/clock.hpp"
#include "record/format/identity.hpp"

namespace fp32shim::record {

using format::CounterRecord;
using format::CounterSegment;
using format::EventRecord;
using format::EventSegment;
using format::ObjectSegment;
using format::segment_size;
using format::Text;

namespace {

constexpr std::size_t counters_of_a_piece = 64;

constexpr std::size_t stable_header_size = 4096;  // the part of the header that is alike in all versions

__extension__ using Wide = __int128;

std::int64_t clamped_time(Wide nanoseconds) {
    return static_cast<std::int64_t>(std::clamp<Wide>(nanoseconds, -farthest_time_ns, farthest_time_ns));
}

/// Rounds an estimate, which is never negative, down to an integer; one of more than 64 bits gives the largest.
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

/// Adds an estimate for the calls that `total` lacks: each counts as the mean of the calls in `total`. In that mean,
/// the longest call is limited to outlier_factor times the mean of the others.
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

/// Counts the events at a segment's begin whose times rise. If writing was interrupted, older events follow, and the
/// count in the header is too high.
std::size_t count_whole_events(const EventSegment& segment) {
    const std::size_t limit = std::min<std::size_t>(segment.header.count, EventSegment::capacity);
    std::uint64_t last = 0;
    std::size_t count = 0;
    while (count < limit && goes_on(last, segment.entries[count])) last = segment.entries[count++].time;
    return count;
}

}  // namespace

std::string RecordingContents::why_no_recording(const format::Header& header, std::size_t header_bytes) const {
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
    const auto header = std::make_unique<format::Header>();
    const std::size_t header_bytes = bytes.read(0, header.get(), sizeof *header);
    facts.file_size = bytes.size();
    if (std::string why = why_no_recording(*header, header_bytes); !why.empty()) return why;
    facts.format_version = header->version;
    start_realtime_ns_ = header->start_realtime_ns;
    start_ticks_ = header->start_ticks;
    read_facts(*header, header_bytes);
    if (header->version != format::version) {
        problems.add(
            8, "format version " + std::to_string(header->version) + ", this fp32shim reads version " +
                   std::to_string(format::version) +
                   "; only the facts about the process are shown; use the fp32shim that recorded it, or a newer one");
        return {};
    }
    if (header->segment_size != segment_size) {
        problems.add(16, "segments of " + std::to_string(header->segment_size) + " bytes, expected " +
                             std::to_string(segment_size) + "; only the facts about the process are shown");
        return {};
    }
    if (header_bytes < sizeof *header)
        problems.add(header_bytes, "the file ends within its header; only the facts about the process are shown");
    read_segments(*header);
    return {};
}

/// Reads the segments in an order that is safe while the process records: an entry refers only to entries published
/// before it, so segments with references are read before those that they refer to.
void RecordingContents::read_segments(const format::Header& header) {
    uncounted_calls = header.uncounted_calls;
    uncounted_events = header.uncounted_events;
    objects_looked_at_ = header.objects_looked_at;
    has_exited_ = header.exited_at != 0;
    {
        const SegmentIndex index = index_segments(bytes, header.next_segment, problems);
        read_counters(index);
        read_rings(index);
    }
    SegmentIndex index = index_segments(bytes, next_segment(), problems);
    check_completeness(index, header.segments_in_use);
    arrange_events(index);
    object_segments_ = std::move(index.objects);
    std::vector<SegmentPlace> rows = std::move(index.rows);
    index = index_segments(bytes, next_segment(), problems);
    decisions.start(std::move(rows), std::move(index.strings), counters.size());
    read_changes(header);
    read_children(header);
}

std::uint32_t RecordingContents::next_segment() const {
    std::uint32_t number = 0;
    bytes.read_into(offsetof(format::Header, next_segment), number);
    return number;
}

const RecordedRow* RecordingContents::row(std::uint32_t id) {
    const RecordedRow* found = decisions.row(id);
    if (found == nullptr && counters_of(id) != nullptr)
        problems.add(facts.file_size,
                     "counters name row " + std::to_string(id) +
                         ", which is not in the file; their calls are counted without saying what they were");
    return found;
}

std::string RecordingContents::text(const format::Header& header, Text which, std::size_t header_bytes) {
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

/// Reads a variable's name from the header. Replaces other texts by an empty one, since names are shown unescaped.
std::string RecordingContents::variable_name(const format::Header& header, Text which, std::size_t header_bytes) {
    constexpr std::size_t longest = 64;
    std::string name = text(header, which, header_bytes);
    const bool is_name =
        name.size() <= longest && std::all_of(name.begin(), name.end(), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (is_name) return name;
    problems.add(header.texts[static_cast<std::size_t>(which)].offset,
                 "a text that is no name of an environment variable, as it should be; it is left out");
    return {};
}

void RecordingContents::read_facts(const format::Header& header, std::size_t header_bytes) {
    facts.process.pid = header.pid;
    facts.process.forked_from = header.forked_from;
    facts.process.host = text(header, Text::host, header_bytes);
    facts.process.job_id = text(header, Text::job_id, header_bytes);
    facts.process.job_id_from = variable_name(header, Text::job_id_from, header_bytes);
    facts.process.rank = header.rank;
    facts.process.rank_from = variable_name(header, Text::rank_from, header_bytes);
    facts.process.executable = text(header, Text::executable, header_bytes);
    facts.process.command = text(header, Text::command, header_bytes);
    facts.process.pins = static_cast<std::uint16_t>(header.pins | header.more_pins << 8);
    facts.process.run = header.run;
    facts.process.start_ns = clamped_time(header.facts_ns);
    facts.start.version = text(header, Text::version, header_bytes);
    facts.start.policy_name = text(header, Text::policy_name, header_bytes);
    facts.start.policy_revision = text(header, Text::policy_revision, header_bytes);
    facts.start.policy_sha256 = text(header, Text::policy_sha256, header_bytes);
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
    facts.identity = {header.pid, header.process_start, header.pid_namespace, {}};
    std::memcpy(facts.identity.boot_id, header.boot_id, sizeof facts.identity.boot_id);
    facts.opened_ticks = header.start_ticks;
    facts.went_on_ticks = header.went_on_at;
    measure_ticks(header);
}

/// Measures the rate of the processor's counter, if this machine recorded and was not restarted since: the longer ago
/// the recording began, the more exactly.
void RecordingContents::measure_ticks(const format::Header& header) {
    facts.ticks_per_second = header.ticks_per_second;
    if (facts.ticks_per_second == 0) {
        problems.add(offsetof(format::Header, ticks_per_second),
                     "the rate of the processor's counter is 0; times are as if it were 1 GHz");
        facts.ticks_per_second = 1'000'000'000;
    }
    if (!facts.identity.has_boot_of(identify_self())) return;
    const ClockPoint started{header.start_ticks, header.start_monotonic_ns, header.start_realtime_ns};
    const std::uint64_t measured = ticks_per_second(started, read_clocks());
    // A larger difference means that the machine slept or was moved.
    const std::uint64_t tolerance = facts.ticks_per_second / 1000;
    if (measured + tolerance >= facts.ticks_per_second && measured <= facts.ticks_per_second + tolerance)
        facts.ticks_per_second = measured;
}

std::int64_t RecordingContents::realtime_of(std::uint64_t ticks) const {
    const Wide since_start = static_cast<Wide>(ticks) - static_cast<Wide>(start_ticks_);
    return clamped_time(since_start * 1'000'000'000 / static_cast<Wide>(facts.ticks_per_second) +
                        static_cast<Wide>(start_realtime_ns_));
}

std::uint64_t RecordingContents::duration_ns(std::uint64_t ticks) const {
    const Wide nanoseconds = static_cast<Wide>(ticks) * 1'000'000'000 / static_cast<Wide>(facts.ticks_per_second);
    return static_cast<std::uint64_t>(std::min<Wide>(nanoseconds, INT64_MAX));
}

RecordedCounters RecordingContents::to_counters(const CounterRecord& record) const {
    return {record.calls,
            duration_ns(record.total),
            duration_ns(record.shortest),
            duration_ns(record.longest),
            realtime_of(record.first),
            realtime_of(record.last),
            record.timed};
}

RecordedEvent RecordingContents::to_event(const EventCursor::Event& recorded, std::uint32_t slot) const {
    RecordedEvent event;
    event.ticks = recorded.record.time;
    event.end_ns = realtime_of(event.ticks);
    event.row = format::row_of(recorded.record);
    event.slot = slot;
    event.thread = recorded.thread;
    const std::uint64_t duration = format::duration_of(recorded.record);
    event.is_timed = duration != format::untimed;
    if (event.is_timed) {
        event.duration_ns = duration_ns(duration);
    } else if (const CounterRecord* counted = counters_of(event.row)) {
        event.duration_ns = duration_ns(mean_duration(*counted));
        const auto most = static_cast<std::uint64_t>(farthest_time_ns - event.end_ns);
        event.end_ns += static_cast<std::int64_t>(std::min(event.duration_ns, most));
    }
    return event;
}

const CounterRecord* RecordingContents::counters_of(std::uint32_t row) const {
    if (counters.empty() || row + 1 < counters.front().row_plus_one) return nullptr;
    // Most recordings have calls under every row, so the place is known.
    const std::size_t guess = row + 1 - counters.front().row_plus_one;
    if (guess < counters.size() && counters[guess].row_plus_one == row + 1) return &counters[guess];
    const auto found =
        std::lower_bound(counters.begin(), counters.end(), row + 1,
                         [](const CounterRecord& a, std::uint32_t wanted) { return a.row_plus_one < wanted; });
    return found != counters.end() && found->row_plus_one == row + 1 ? &*found : nullptr;
}

void RecordingContents::read_counters(const SegmentIndex& index) {
    counters.reserve(std::min<std::size_t>(index.counters.size() * CounterSegment::capacity, format::row_limit));
    std::vector<std::uint32_t> places;  // in `counters`, plus one, by row
    for (const SegmentPlace& place : index.counters) {
        RecordedSlot& slot = slots_by_number_[place.slot];
        slot.slot = place.slot;
        if (place.sequence == 0) slot.thread = place.thread;
        // A slot fills its entries one after the other.
        for (std::size_t first = 0; first < CounterSegment::capacity; first += counters_of_a_piece)
            if (!add_counters(place, first, places)) break;
    }
    std::sort(counters.begin(), counters.end(),
              [](const CounterRecord& a, const CounterRecord& b) { return a.row_plus_one < b.row_plus_one; });
    total_calls += uncounted_calls;
}

/// Adds a piece of a segment's counters, from entry `first` on, to `counters`. `places[row]`: the row's index there
/// plus 1; 0: none yet. Returns false if no entry of the piece was in use.
bool RecordingContents::add_counters(const SegmentPlace& place, std::size_t first,
                                     std::vector<std::uint32_t>& places) {
    CounterRecord piece[counters_of_a_piece];
    const std::size_t count = std::min(counters_of_a_piece, CounterSegment::capacity - first);
    const std::uint64_t offset = place.offset + sizeof(format::SegmentHeader) + first * sizeof(CounterRecord);
    const std::size_t read = bytes.read(offset, piece, count * sizeof(CounterRecord)) / sizeof(CounterRecord);
    bool is_in_use = false;
    for (std::size_t i = 0; i < read; ++i) {
        CounterRecord& record = piece[i];
        if (record.row_plus_one == 0) continue;
        is_in_use = true;
        if (record.calls == 0) continue;
        complete_total(record);
        const std::uint32_t row = record.row_plus_one - 1;
        if (row >= format::row_limit) {
            problems.add(offset + i * sizeof(CounterRecord),
                         "counters of row " + std::to_string(row) + ", but there are at most " +
                             std::to_string(format::row_limit) + "; they are left out");
            continue;
        }
        if (row >= places.size()) places.resize(std::max<std::size_t>(row + 1, places.size() * 2));
        total_calls += record.calls;
        if (places[row] == 0) {
            counters.push_back(record);
            places[row] = static_cast<std::uint32_t>(counters.size());
        } else {
            add(counters[places[row] - 1], record);
        }
    }
    return is_in_use;
}

SlotEvents& RecordingContents::events_of(std::uint32_t slot) {
    SlotEvents& events = slot_events[slot];
    events.slot = slot;
    return events;
}

void RecordingContents::read_rings(const SegmentIndex& index) {
    for (const SegmentPlace& place : index.rings) {
        format::SegmentHeader header;
        bytes.read_into(place.offset, header);
        RecordedSlot& slot = slots_by_number_[place.slot];
        slot.slot = place.slot;
        slot.dropped = header.dropped;
        SlotEvents& events = events_of(place.slot);
        if (events.ring) {
            problems.add(place.offset, "a second ring of slot " + std::to_string(place.slot) + "; it is left out");
            continue;
        }
        SegmentPlace now = place;
        now.count = header.count;
        now.thread = header.thread;
        look_at_ring(now, events);
    }
}

/// Finds the complete entries of a ring that a process may be writing. Each piece is read twice: an entry of the
/// first reading is complete in the second. A ring that is overwritten later has a higher count.
void RecordingContents::look_at_ring(const SegmentPlace& place, SlotEvents& events) {
    std::vector<EventRecord> before, now;
    events.ring = place;
    while (events.ring_end < EventSegment::capacity) {
        read_events(bytes, place.offset, events.ring_end, EventSegment::capacity, before);
        const std::size_t read = read_events(bytes, place.offset, events.ring_end, EventSegment::capacity, now);
        std::size_t whole = 0;
        while (whole < std::min(before.size(), read) && goes_on(events.ring_last, now[whole]) &&
               now[whole].time == before[whole].time)
            events.ring_last = now[whole++].time;
        events.ring_end += static_cast<std::uint32_t>(whole);
        if (whole == 0 || whole < before.size()) break;
    }
}

/// Sorts each slot's segments of events, and excludes from its ring the events that these segments also have.
void RecordingContents::arrange_events(const SegmentIndex& index) {
    for (const SegmentPlace& place : index.events) events_of(place.slot).segments.push_back(place);
    for (auto& [number, events] : slot_events) {
        keep_rising_segments(events);
        leave_appended_out(events);
        count_missing(events);
    }
    for (const auto& [number, slot] : slots_by_number_) slots.push_back(slot);
    slots_by_number_.clear();
}

void RecordingContents::keep_rising_segments(SlotEvents& events) {
    std::vector<SegmentPlace>& segments = events.segments;
    std::sort(segments.begin(), segments.end(), [](const SegmentPlace& a, const SegmentPlace& b) {
        return std::pair(a.sequence, a.offset) < std::pair(b.sequence, b.offset);
    });
    std::uint64_t before_last = 0;
    const auto does_not_follow = [&](const SegmentPlace& place) {
        const bool rises = place.first_time > events.last_appended && place.last_time >= place.first_time;
        if (place.count > EventSegment::capacity || !rises) {
            problems.add(place.offset, "events of slot " + std::to_string(events.slot) +
                                           " that do not follow those before them; the segment is left out");
            return true;
        }
        before_last = std::exchange(events.last_appended, place.last_time);
        return false;
    };
    segments.erase(std::remove_if(segments.begin(), segments.end(), does_not_follow), segments.end());
    if (segments.empty()) return;
    const auto newest = std::make_unique<EventSegment>();
    bytes.read_into(segments.back().offset, *newest);
    const std::size_t whole = count_whole_events(*newest);
    events.last_appended = whole == 0 ? before_last : newest->entries[whole - 1].time;
}

/// Excludes from a ring the events that a segment of the file also has: all, if none came after the ring was copied;
/// the first ones, if writing the copy was interrupted.
void RecordingContents::leave_appended_out(SlotEvents& events) {
    if (events.ring_last <= events.last_appended) events.ring_end = 0;
    std::vector<EventRecord> piece;
    while (events.ring_begin < events.ring_end) {
        read_events(bytes, events.ring->offset, events.ring_begin, events.ring_end, piece);
        std::uint32_t appended = 0;
        while (appended < piece.size() && piece[appended].time <= events.last_appended) ++appended;
        events.ring_begin += appended;
        if (appended == 0 || appended < piece.size()) return;
    }
}

/// Counts a slot's full rings of which the file has no copy: it was overwritten, or there was no space for it.
void RecordingContents::count_missing(const SlotEvents& events) {
    std::uint64_t expected = events.ring ? events.ring->count : 0;
    if (!events.segments.empty())
        expected = std::max<std::uint64_t>(expected, std::uint64_t{events.segments.back().sequence} + 1);
    const std::uint64_t missing = expected - std::min<std::uint64_t>(expected, events.segments.size());
    if (missing == 0) return;
    if (facts.on_full == policy::OnFull::overwrite) {
        RecordedSlot& slot = slots_by_number_[events.slot];
        slot.slot = events.slot;
        slot.overwritten = missing * EventSegment::capacity;
    } else {
        problems.add(facts.file_size, std::to_string(missing) + " segments with events of slot " +
                                          std::to_string(events.slot) +
                                          " are not in the file; what they had is lost");
    }
}

void RecordingContents::check_completeness(const SegmentIndex& index, std::uint32_t in_use) {
    if (index.whole_count >= in_use) return;
    problems.add(facts.file_size, "the file ends here, with " + std::to_string(index.whole_count) +
                                      " whole segments of " + std::to_string(in_use) +
                                      " that are in use; what was behind is lost");
}

const RecordedObjects& RecordingContents::objects() {
    if (!std::exchange(are_objects_read_, true)) read_objects();
    return objects_;
}

void RecordingContents::read_objects() {
    const auto segment = std::make_unique<ObjectSegment>();
    if (object_segments_.size() > format::object_segment_limit) {
        problems.add(object_segments_[format::object_segment_limit].offset,
                     std::to_string(object_segments_.size()) + " segments with objects, but there are at most " +
                         std::to_string(format::object_segment_limit) + "; those from here on are left out");
        object_segments_.resize(format::object_segment_limit);
    }
    for (const SegmentPlace& place : object_segments_) {
        bytes.read_into(place.offset, *segment);
        for (std::size_t i = 0; i < ObjectSegment::capacity; ++i) {
            const format::ObjectRecord& record = segment->entries[i];
            if (record.published != 1) continue;
            const std::uint64_t offset =
                place.offset + sizeof(format::SegmentHeader) + i * sizeof(format::ObjectRecord);
            const auto size = std::min<std::size_t>(record.build_id_size, format::build_id_limit);
            objects_.all.push_back({decisions.text(record.path, offset),
                                    {record.build_id, record.build_id + size},
                                    realtime_of(record.first_seen),
                                    (record.flags & format::object_is_bound_past) != 0});
        }
    }
    if (objects_looked_at_ != 0) objects_.looked_at_ns = realtime_of(objects_looked_at_);
    objects_.until_exit = has_exited_;
    objects_.are_missing = (facts.flags & format::flag_objects_missed) != 0;
    objects_.had_lookup_past = (facts.flags & format::flag_lookup_past) != 0;
}

/// Reads the recorded changes of settings, oldest first.
void RecordingContents::read_changes(const format::Header& header) {
    const std::uint32_t count = header.change_count;
    const std::uint32_t kept = std::min<std::uint32_t>(count, format::change_limit);
    for (std::uint32_t number = count - kept; number != count; ++number) {
        const std::size_t place = number % format::change_limit;
        if (header.changes[place].time != 0)
            changes.push_back(make_change(header.changes[place],
                                          offsetof(format::Header, changes) + place * sizeof(format::ChangeRecord)));
    }
    // A change whose writer is at work, or was killed, counts as lost too.
    lost_changes = count - static_cast<std::uint32_t>(changes.size());
}

void RecordingContents::read_children(const format::Header& header) {
    missed_children = header.children_missed;
    for (const format::ChildRecord& record : header.children) {
        const bool is_whole = record.state == format::child_is_whole &&
                              record.path_size + record.detail_size <= static_cast<int>(sizeof record.text);
        if (!is_whole || record.count == 0) continue;
        RecordedChild child;
        child.path.assign(record.text, record.path_size);
        const std::string detail(record.text + record.path_size, record.detail_size);
        const auto kind = static_cast<format::ChildDetail>(record.detail_kind);
        if (kind == format::ChildDetail::folder) child.folder = detail;
        if (kind == format::ChildDetail::interpreter) child.interpreter = detail;
        child.why = static_cast<WhyUnseen>(record.why);
        child.count = record.count;
        child.pid = record.pid;
        child.first_ns = std::clamp(record.first_ns, -farthest_time_ns, farthest_time_ns);
        child.last_ns = std::clamp(record.last_ns, -farthest_time_ns, farthest_time_ns);
        children.push_back(std::move(child));
    }
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
    change.policy_name = decisions.text(record.policy_name, offset);
    change.policy_revision = decisions.text(record.policy_revision, offset);
    change.policy_sha256 = decisions.text(record.policy_sha256, offset);
    change.message = decisions.text(record.message, offset);
    return change;
}

}  // namespace fp32shim::record
