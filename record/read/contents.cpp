// Reads counters, events, objects, changes of settings, children and other contents of a recording. reader.cpp reads
// the facts about the process in the header.
#include "record/read/reader.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "record/format/entry_fields.hpp"
#include "record/processor.hpp"

namespace fp32shim::record {

using format::AuditRecord;
using format::CounterRecord;
using format::CounterSegment;
using format::EventRecord;
using format::EventSegment;
using format::SegmentKind;

namespace {

constexpr std::uint32_t counters_of_a_piece = 64;

/// Rounds an estimate, which is never negative, down to an integer. An estimate beyond 64 bits becomes the largest
/// integer.
std::uint64_t to_integer(double estimate) {
    constexpr double beyond = 0x1p64;
    return estimate < beyond ? static_cast<std::uint64_t>(estimate) : UINT64_MAX;
}

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

/// Adds an estimate for the untimed calls that `total` does not contain. Each of them is assumed to take as long as
/// the calls in `total` on average. For this average, the longest call counts as at most outlier_factor times the
/// mean of the others.
void add_untimed_estimate(CounterRecord& counters) {
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

/// Counts the events at the start of a segment, as long as their times rise. If the process was killed while it
/// overwrote the segment with new events, older events follow the new ones, and the header's count is too high.
std::size_t count_whole_events(const EventSegment& segment) {
    const std::size_t limit = std::min<std::size_t>(segment.header.count, EventSegment::capacity);
    std::uint64_t last = 0;
    std::size_t count = 0;
    while (count < limit && is_event_after(last, segment.entries[count])) last = segment.entries[count++].time;
    return count;
}

/// Finds the complete entries of a ring that a process may be writing. Reads each piece twice, because an entry that
/// was present at the first reading is complete at the second. If the process overwrites the ring later, the ring's
/// `count` rises, and the EventCursor that reads the events notices this.
void find_complete_events(const RecordingByteReader& bytes, SlotEventPlaces& events) {
    std::vector<EventRecord> before, now;
    while (events.ring_end < EventSegment::capacity) {
        read_events(bytes, events.ring->offset, events.ring_end, EventSegment::capacity, before);
        const std::size_t read =
            read_events(bytes, events.ring->offset, events.ring_end, EventSegment::capacity, now);
        std::size_t whole = 0;
        while (whole < std::min(before.size(), read) && is_event_after(events.ring_last, now[whole]) &&
               now[whole].time == before[whole].time)
            events.ring_last = now[whole++].time;
        events.ring_end += static_cast<std::uint32_t>(whole);
        if (whole == 0 || whole < before.size()) break;
    }
}

/// Excludes from a ring the events with times up to `last_appended`, because other segments of the file have copies
/// of them. If no event came after the full ring was copied, all its events are excluded. If the process was killed
/// while it copied the ring, only the ring's first events are excluded.
void exclude_appended_events(const RecordingByteReader& bytes, SlotEventPlaces& events) {
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

std::vector<IndexedSegment> sorted_by_slot(std::vector<IndexedSegment> segments) {
    std::ranges::stable_sort(segments, {},
                             [](const IndexedSegment& segment) { return std::pair(segment.slot, segment.sequence); });
    return segments;
}

/// Calls `visit(entry, offset)` for each published entry in `segments`. `offset` is the entry's offset in the file.
template <class Entry>
void visit_published(const RecordingByteReader& bytes, std::span<const IndexedSegment> segments, const auto& visit) {
    const auto segment = std::make_unique<format::Segment<Entry>>();
    for (const IndexedSegment& indexed : segments) {
        bytes.read_into(indexed.offset, *segment);
        for (std::uint32_t i = 0; i < segment->capacity; ++i)
            if (segment->entries[i].published == 1)
                visit(segment->entries[i], indexed.offset + format::offset_of_entry<Entry>(i));
    }
}

/// Reports a problem if another recording was appended to this one, because the appended recording is not read.
void report_appended_recording(const RecordingByteReader& bytes, std::uint32_t next_segment, ProblemList& problems) {
    constexpr std::uint64_t segment_size = format::segment_size;
    std::uint64_t offset = std::max(std::uint64_t{next_segment}, std::uint64_t{1}) * segment_size;
    while (offset < bytes.size()) {
        offset = bytes.next_data_offset(offset) / segment_size * segment_size;
        std::uint64_t begin = 0;
        if (!bytes.read_into(offset, begin)) return;
        if (begin == format::magic) {
            problems.add(offset, "another recording begins here, as if two files had been joined; it is not read");
            return;
        }
        offset += segment_size;
    }
}

}  // namespace

/// Reads the segments in an order that is safe while the process records. An entry refers only to entries that were
/// published before it. So a segment whose entries refer to others is read before the segments that contain the
/// others.
void RecordingReader::read_segments(const format::Header& header) {
    uncounted_calls_ = header.uncounted_calls;
    dropped_events_ = header.uncounted_events;
    if (header.objects_looked_at != 0) objects_.looked_at_ns = realtime_of(header.objects_looked_at);
    objects_.until_exit = header.exited_at != 0;
    {
        SegmentIndex index = index_segments(*bytes_, *problems_);
        read_gpu_times(index[SegmentKind::gpu_times]);
        read_counters(index[SegmentKind::counters]);
        read_rings(index[SegmentKind::ring]);
    }
    SegmentIndex index = index_segments(*bytes_, *problems_);
    check_completeness(index.whole_count, header.segments_in_use);
    report_appended_recording(*bytes_, header.next_segment, *problems_);
    arrange_events(index[SegmentKind::events]);
    object_segments_ = std::move(index[SegmentKind::objects]);
    rule_segments_ = std::move(index[SegmentKind::rules]);
    sort_by_sequence(rule_segments_, "rules", *problems_);
    audit_segments_ = sorted_by_slot(std::move(index[SegmentKind::audits]));
    lost_audits_ = header.lost_audits;
    searched_calls_ = header.searched_calls;
    fingerprint_segments_ = sorted_by_slot(std::move(index[SegmentKind::fingerprints]));
    lost_fingerprints_ = header.lost_fingerprints;
    operand_segments_ = sorted_by_slot(std::move(index[SegmentKind::operands]));
    std::vector<IndexedSegment> rows = std::move(index[SegmentKind::rows]);
    index = index_segments(*bytes_, *problems_);
    row_reader_->set_segments(std::move(rows), std::move(index[SegmentKind::strings]), counters_.size());
    read_changes(header);
    read_children(header);
    read_environment(header);
    if ((header.flags & format::flag_children_only) != 0) read_marks(header);
}

void RecordingReader::visit_audits(const std::function<void(const RecordedAudit&)>& visitor) const {
    CallRecordCursor<AuditRecord> cursor(*bytes_, audit_segments_);
    std::map<std::uint32_t, std::uint64_t> left_out = left_out_audits_;
    while (const AuditRecord* const entry = cursor.next()) {
        const auto earlier = left_out.find(cursor.slot());
        if (earlier != left_out.end() && earlier->second > 0) {
            --earlier->second;
            continue;
        }
        visitor({entry->row, realtime_of(entry->time), cursor.slot(), format::load_audit(*entry)});
    }
}

std::vector<std::uint32_t> RecordingReader::slots_with_fingerprints() const {
    std::vector<std::uint32_t> slots;
    for (const IndexedSegment& segment : fingerprint_segments_)
        if (slots.empty() || slots.back() != segment.slot) slots.push_back(segment.slot);
    return slots;
}

FingerprintCursor RecordingReader::fingerprints(std::uint32_t slot) const {
    const auto of_slot = [&](const std::vector<IndexedSegment>& segments) {
        return std::span(std::ranges::lower_bound(segments, slot, {}, &IndexedSegment::slot),
                         std::ranges::upper_bound(segments, slot, {}, &IndexedSegment::slot));
    };
    return {*this, {*bytes_, of_slot(fingerprint_segments_)}, {*bytes_, of_slot(operand_segments_)}};
}

const format::OperandsRecord* FingerprintCursor::operands_of(const format::FingerprintRecord& entry) {
    // Fingerprints and operand hashes are both in the order of the calls, but some calls have only one of the two. So
    // operand hashes of earlier calls are skipped.
    while (has_more_operands_) {
        if (next_operands_ == nullptr) next_operands_ = operands_.next();
        has_more_operands_ = next_operands_ != nullptr;
        if (!has_more_operands_ || next_operands_->time > entry.time) break;
        const format::OperandsRecord& found = *std::exchange(next_operands_, nullptr);
        if (found.time == entry.time && found.thread == entry.thread && found.number == entry.number) return &found;
    }
    return nullptr;
}

std::optional<RecordedFingerprint> FingerprintCursor::next() {
    const format::FingerprintRecord* const entry = cursor_.next();
    if (entry == nullptr) return std::nullopt;
    const format::OperandsRecord* const operands = operands_of(*entry);
    RecordedFingerprint found{entry->row,
                              reader_->realtime_of(entry->time),
                              entry->number,
                              entry->thread,
                              cursor_.offset(),
                              format::load_fingerprint(*entry),
                              operands == nullptr ? std::nullopt : std::optional(operands->hashes)};
    if (operands != nullptr) found.fingerprint.rows = operands->rows;
    return found;
}

std::size_t RecordingReader::read_fingerprints(std::uint64_t offset,
                                               std::span<format::FingerprintRecord> entries) const {
    return bytes_->read(offset, entries.data(), entries.size_bytes()) / sizeof(format::FingerprintRecord);
}

void RecordingReader::read_counters(const std::vector<IndexedSegment>& segments) {
    counters_.reserve(std::min<std::size_t>(segments.size() * CounterSegment::capacity, format::row_limit));
    std::vector<std::uint32_t> counters_by_row;  // index in `counters_` plus 1, by row; 0: the row has no counters
                                                 // yet
    for (const IndexedSegment& segment : segments) {
        slots_.insert(segment.slot);
        // A slot uses its entries in order, so only unused entries follow a piece without used entries.
        for (std::uint32_t first = 0; first < CounterSegment::capacity; first += counters_of_a_piece)
            if (!add_counters(segment, first, counters_by_row)) break;
    }
    std::ranges::sort(counters_, {}, &CounterRecord::row_plus_one);
    total_calls_ += uncounted_calls_;
}

/// Adds a piece of a segment's counters to `counters_`. The piece begins at the entry number `first` and has at most
/// counters_of_a_piece entries. `counters_by_row[row]` is the index of the row's counters in `counters_` plus 1, or 0
/// if the row has no counters yet. Returns false if no entry of the piece is in use.
bool RecordingReader::add_counters(const IndexedSegment& segment, std::uint32_t first,
                                   std::vector<std::uint32_t>& counters_by_row) {
    CounterRecord piece[counters_of_a_piece];
    const std::size_t count = std::min<std::size_t>(counters_of_a_piece, CounterSegment::capacity - first);
    const std::uint64_t offset = segment.offset + format::offset_of_entry<CounterRecord>(first);
    const std::size_t read = bytes_->read(offset, piece, count * sizeof(CounterRecord)) / sizeof(CounterRecord);
    bool is_in_use = false;
    for (std::size_t i = 0; i < read; ++i) {
        CounterRecord& record = piece[i];
        if (record.row_plus_one == 0) continue;
        is_in_use = true;
        if (record.calls == 0) continue;
        add_untimed_estimate(record);
        const std::uint32_t row = record.row_plus_one - 1;
        if (row >= format::row_limit) {
            problems_->add(offset + i * sizeof(CounterRecord),
                           "counters of row " + std::to_string(row) + ", but there are at most " +
                               std::to_string(format::row_limit) + "; they are left out");
            continue;
        }
        if (row >= counters_by_row.size())
            counters_by_row.resize(std::max<std::size_t>(row + 1, counters_by_row.size() * 2));
        total_calls_ += record.calls;
        if (counters_by_row[row] == 0) {
            counters_.push_back(record);
            counters_by_row[row] = static_cast<std::uint32_t>(counters_.size());
        } else {
            add(counters_[counters_by_row[row] - 1], record);
        }
    }
    return is_in_use;
}

void RecordingReader::read_rings(const std::vector<IndexedSegment>& rings) {
    for (const IndexedSegment& segment : rings) {
        format::SegmentHeader header;
        bytes_->read_into(segment.offset, header);
        SlotEventPlaces& events = events_[segment.slot];
        if (events.ring) {
            problems_->add(segment.offset,
                           "a second ring of slot " + std::to_string(segment.slot) + "; it is left out");
            continue;
        }
        slots_.insert(segment.slot);
        dropped_events_ += header.dropped;
        events.ring = segment;
        events.ring->count = header.count;
        events.ring->thread = header.thread;
        find_complete_events(*bytes_, events);
    }
}

/// Sorts the segments with copies of full rings by slot and sequence. Excludes the events in these segments from the
/// rings of their slots.
void RecordingReader::arrange_events(const std::vector<IndexedSegment>& full_rings) {
    for (const IndexedSegment& segment : full_rings) events_[segment.slot].segments.push_back(segment);
    for (auto& [number, events] : events_) {
        events.slot = number;
        drop_misordered_segments(events);
        exclude_appended_events(*bytes_, events);
        count_missing_events(events);
    }
}

void RecordingReader::drop_misordered_segments(SlotEventPlaces& events) {
    std::vector<IndexedSegment>& segments = events.segments;
    std::ranges::sort(segments, {},
                      [](const IndexedSegment& segment) { return std::pair(segment.sequence, segment.offset); });
    std::uint64_t before_last = 0;
    const auto does_not_follow = [&](const IndexedSegment& segment) {
        const bool rises = segment.first_time > events.last_appended && segment.last_time >= segment.first_time;
        if (segment.count > EventSegment::capacity || !rises) {
            problems_->add(segment.offset, "events of slot " + std::to_string(events.slot) +
                                               " that do not follow those before them; the segment is left out");
            return true;
        }
        before_last = std::exchange(events.last_appended, segment.last_time);
        return false;
    };
    std::erase_if(segments, does_not_follow);
    if (segments.empty()) return;
    const auto newest = std::make_unique<EventSegment>();
    bytes_->read_into(segments.back().offset, *newest);
    const std::size_t whole = count_whole_events(*newest);
    events.last_appended = whole == 0 ? before_last : newest->entries[whole - 1].time;
}

/// Finds out how many full rings of a slot have no copy in the file. Counts the missing events as overwritten if the
/// recording overwrites old events, and otherwise reports a problem.
void RecordingReader::count_missing_events(const SlotEventPlaces& events) {
    std::uint64_t expected = events.ring ? events.ring->count : 0;
    if (!events.segments.empty())
        expected = std::max<std::uint64_t>(expected, std::uint64_t{events.segments.back().sequence} + 1);
    const std::uint64_t missing = expected - std::min<std::uint64_t>(expected, events.segments.size());
    if (missing == 0) return;
    if (facts_.on_full == policy::OnFull::overwrite)
        overwritten_events_ += missing * EventSegment::capacity;
    else
        problems_->add(facts_.file_size, std::to_string(missing) + (missing == 1 ? " segment" : " segments") +
                                             " with events of slot " + std::to_string(events.slot) +
                                             (missing == 1 ? " is" : " are") +
                                             " not in the file; the events are lost");
}

void RecordingReader::check_completeness(std::uint32_t whole, std::uint32_t in_use) {
    if (whole >= in_use) return;
    problems_->add(facts_.file_size, "the file ends here; " + std::to_string(whole) + " of " +
                                         std::to_string(in_use) + (in_use == 1 ? " segment is" : " segments are") +
                                         " complete, and everything after this point is lost");
}

const RecordedObjectList& RecordingReader::objects() const {
    if (object_segments_.empty()) return objects_;
    std::vector<IndexedSegment> unread = std::exchange(object_segments_, {});
    if (unread.size() > format::object_segment_limit) {
        problems_->add(unread[format::object_segment_limit].offset,
                       std::to_string(unread.size()) + " segments with objects, but there are at most " +
                           std::to_string(format::object_segment_limit) + "; those from here on are left out");
        unread.resize(format::object_segment_limit);
    }
    visit_published<format::ObjectRecord>(
        *bytes_, unread, [&](const format::ObjectRecord& record, std::uint64_t offset) {
            const auto size = std::min<std::size_t>(record.build_id_size, format::build_id_limit);
            objects_.all.push_back({row_reader_->text(record.path, offset),
                                    {record.build_id, record.build_id + size},
                                    realtime_of(record.first_seen),
                                    record.flags,
                                    record.file});
        });
    return objects_;
}

std::vector<RecordedRule> RecordingReader::rules() const {
    std::vector<RecordedRule> rules;
    const auto beyond =
        std::ranges::lower_bound(rule_segments_, format::rule_segment_limit, {}, &IndexedSegment::sequence);
    visit_published<format::RuleRecord>(
        *bytes_, {rule_segments_.begin(), beyond}, [&](const format::RuleRecord& record, std::uint64_t offset) {
            if ((record.flags & format::rule_is_withdrawn) != 0) return;
            rules.push_back({row_reader_->text(record.name, offset), row_reader_->text(record.file, offset),
                             record.line, (record.flags & format::rule_is_used) != 0});
        });
    return rules;
}

/// Reads the recorded changes of settings into `changes_`. The oldest change comes first.
void RecordingReader::read_changes(const format::Header& header) {
    const std::uint32_t count = header.change_count;
    const std::uint32_t kept = std::min<std::uint32_t>(count, format::change_limit);
    for (std::uint32_t number = count - kept; number != count; ++number) {
        const std::size_t index = number % format::change_limit;
        if (header.changes[index].time != 0)
            changes_.push_back(
                to_recorded_change(header.changes[index],
                                   offsetof(format::Header, changes) + index * sizeof(format::SettingsChangeRecord)));
    }
    // Changes that a thread is still writing, or did not finish because it was killed, count as lost, too.
    lost_changes_ = count - static_cast<std::uint32_t>(changes_.size());
}

void RecordingReader::read_environment(const format::Header& header) {
    for (std::size_t i = 0; i < format::environment_limit; ++i) {
        const format::EnvironmentRecord& entry = header.environment[i];
        const std::uint64_t offset = offsetof(format::Header, environment) + i * sizeof entry;
        if (facts_.file_size < sizeof header) break;  // without a complete header, no entry is used
        // Unused entries, and facts that only newer versions of fp32shim know, are left out.
        if (entry.fact == 0 || entry.fact > static_cast<std::uint32_t>(EnvironmentFact::gpu)) continue;
        std::string value = row_reader_->text(entry.value, offset);
        if (value.empty()) continue;  // the part of the file with the text is missing
        environment_.push_back(
            {static_cast<EnvironmentFact>(entry.fact), row_reader_->text(entry.subject, offset), std::move(value)});
    }
    if (std::string names = feature_names(header.processor); !names.empty())
        environment_.push_back({EnvironmentFact::features, {}, std::move(names)});
    if ((header.processor & amx_was_asked) != 0)
        environment_.push_back(
            {EnvironmentFact::amx, {}, (header.processor & amx_is_permitted) != 0 ? "permitted" : "not permitted"});
}

void RecordingReader::read_children(const format::Header& header) {
    missed_children_ = header.children_missed;
    for (const format::ChildRecord& record : header.children) {
        const bool is_whole = record.state == format::child_is_whole &&
                              record.path_size + record.detail_size <= static_cast<int>(sizeof record.text);
        if (!is_whole || record.count == 0) continue;
        RecordedChild child;
        child.path.assign(record.text, record.path_size);
        const std::string detail(record.text + record.path_size, record.detail_size);
        const auto kind = static_cast<format::ChildDetail>(record.detail_kind & ~format::child_has_own_libraries);
        child.has_own_libraries = (record.detail_kind & format::child_has_own_libraries) != 0;
        if (kind == format::ChildDetail::folder) child.folder = detail;
        if (kind == format::ChildDetail::interpreter) child.interpreter = detail;
        child.why_unseen = static_cast<WhyUnseen>(record.why);
        child.count = record.count;
        child.pid = record.pid;
        child.first_ns = std::clamp(record.first_ns, -farthest_time_ns, farthest_time_ns);
        child.last_ns = std::clamp(record.last_ns, -farthest_time_ns, farthest_time_ns);
        // If several processes recorded starts of the same program at the same time, the program may have several
        // records, which are joined here.
        const auto known = std::ranges::find_if(children_, [&](const RecordedChild& other) {
            return other.path == child.path && other.folder == child.folder &&
                   other.interpreter == child.interpreter && other.why_unseen == child.why_unseen &&
                   other.has_own_libraries == child.has_own_libraries;
        });
        if (known == children_.end()) {
            children_.push_back(std::move(child));
            continue;
        }
        known->count += child.count;
        if (child.first_ns < known->first_ns) {
            known->first_ns = child.first_ns;
            known->pid = child.pid;
        }
        known->last_ns = std::max(known->last_ns, child.last_ns);
    }
}

RecordedSettingsChange RecordingReader::to_recorded_change(const format::SettingsChangeRecord& record,
                                                           std::uint64_t offset) {
    RecordedSettingsChange change;
    change.time_ns = realtime_of(record.time);
    change.kind = static_cast<format::SettingsChangeKind>(record.kind);
    change.origin = static_cast<format::SettingsChangeOrigin>(record.origin);
    change.was_done = record.result == static_cast<std::uint32_t>(format::CommandResult::done);
    change.requester = record.requester;
    if (change.kind == format::SettingsChangeKind::set_precision && record.precision != format::no_precision)
        change.precision = static_cast<policy::Precision>(record.precision);
    change.floor = static_cast<policy::Floor>(record.floor);
    if (change.kind == format::SettingsChangeKind::reload && record.has_settings == 1)
        change.settings = {static_cast<policy::Precision>(record.default_precision),
                           static_cast<policy::Floor>(record.settings_floor),
                           static_cast<policy::CpuMode>(record.cpu_mode), record.allows_bf16x9 == 1};
    change.floor_exception = row_reader_->text(record.floor_exception, offset);
    change.policy_name = row_reader_->text(record.policy_name, offset);
    change.policy_revision = row_reader_->text(record.policy_revision, offset);
    change.policy_sha256 = row_reader_->text(record.policy_sha256, offset);
    change.message = row_reader_->text(record.message, offset);
    return change;
}

}  // namespace fp32shim::record
