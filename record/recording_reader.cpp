#include "record/recording_reader.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "record/io_error.hpp"
#include "record/recording_contents.hpp"
#include "record/recording_event_cursor.hpp"
#include "record/recording_identity.hpp"
#include "record/recording_processes.hpp"
#include "record/recording_segments.hpp"

namespace fp32shim::record {

namespace {

/// A process of another namespace: if it is seen here at all, then in /proc.
RecordingState find_in_proc(const ProcessIdentity& recorded) {
    for (const std::int32_t pid : list_processes())
        if (identify(pid) == recorded) return RecordingState::live;
    return RecordingState::unknown;
}

}  // namespace

std::string_view to_string(RecordingState state) {
    switch (state) {
        case RecordingState::live:
            return "live";
        case RecordingState::ended:
            return "ended";
        case RecordingState::unknown:
            return "unknown";
    }
    return {};
}

RecordingReader::RecordingReader(int descriptor)
    : descriptor_(descriptor), contents_(std::make_unique<RecordingContents>(descriptor)) {}

RecordingReader::~RecordingReader() { close(descriptor_); }

RecordingReader::Opened RecordingReader::open(const std::string& path) {
    // O_NONBLOCK: a pipe without a writer must not be waited for.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor >= 0) return open_descriptor(descriptor);
    const int error = errno;
    switch (error) {
        case EACCES:
        case EPERM:
            return {nullptr,
                    "this user may not read it; ask its owner, or have it recorded with [log] mode and group"};
        case ENOENT:
            return {nullptr, "no such file; look at its name"};
        default:
            return {nullptr, "cannot be opened: " + std::string(describe_io_error(error).meaning)};
    }
}

RecordingReader::Opened RecordingReader::open_descriptor(int descriptor) {
    std::unique_ptr<RecordingReader> reader(new RecordingReader(descriptor));
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return {nullptr, "not a regular file; name a .fp32rec file"};
    std::string error = reader->contents_->read();
    if (!error.empty()) return {nullptr, std::move(error)};
    return {std::move(reader), {}};
}

bool RecordingReader::refresh() {
    auto fresh = std::make_unique<RecordingContents>(descriptor_);
    if (!fresh->read().empty()) return false;
    contents_ = std::move(fresh);
    return true;
}

RecordingState RecordingReader::state() const {
    const ProcessIdentity recorded = contents_->identity();
    const ProcessIdentity self = identify_self();
    if (recorded.start == 0 || self.start == 0) return RecordingState::unknown;
    if (!recorded.has_boot_of(self)) {
        utsname names{};
        const bool is_same_host = uname(&names) == 0 && contents_->facts.process.host == names.nodename;
        return is_same_host ? RecordingState::ended : RecordingState::unknown;  // before a restart; elsewhere
    }
    // In another namespace the process has another id here, or none.
    if (recorded.pid_namespace != self.pid_namespace) return find_in_proc(recorded);
    const std::uint64_t start = identify(recorded.pid).start;
    if (start == recorded.start) return RecordingState::live;
    // /proc can hide other users' processes (hidepid).
    const bool is_hidden = start == 0 && kill(recorded.pid, 0) != 0 && errno == EPERM;
    return is_hidden ? RecordingState::unknown : RecordingState::ended;
}

const RecordingFacts& RecordingReader::facts() const { return contents_->facts; }
const std::vector<Problem>& RecordingReader::problems() const { return contents_->problems.all(); }
const std::vector<RecordedRow>& RecordingReader::rows() const { return contents_->rows; }
const std::vector<RecordingReader::RowCounters>& RecordingReader::counters() const { return contents_->row_counters; }
const std::vector<LaneCounters>& RecordingReader::lane_counters() const { return contents_->lane_counters; }
const std::vector<RecordedLane>& RecordingReader::lanes() const { return contents_->lanes; }
const std::vector<RecordedChange>& RecordingReader::changes() const { return contents_->changes; }
std::uint32_t RecordingReader::lost_changes() const { return contents_->lost_changes; }
const RecordedObjects& RecordingReader::objects() const { return contents_->objects; }
std::uint32_t RecordingReader::missed_children() const { return contents_->header.children_missed; }

std::vector<RecordedChild> RecordingReader::children() const {
    std::vector<RecordedChild> children;
    for (const format::ChildRecord& record : contents_->header.children) {
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
    return children;
}

std::uint64_t RecordingReader::total_calls() const { return contents_->total_calls; }
std::uint64_t RecordingReader::uncounted_calls() const { return contents_->header.uncounted_calls; }
std::int64_t RecordingReader::realtime_of(std::uint64_t ticks) const { return contents_->realtime_of(ticks); }

const RecordedRow* RecordingReader::row(std::uint32_t id) const {
    const auto place = std::lower_bound(contents_->rows.begin(), contents_->rows.end(), id,
                                        [](const RecordedRow& row, std::uint32_t wanted) { return row.id < wanted; });
    return place != contents_->rows.end() && place->id == id ? &*place : nullptr;
}

std::uint64_t RecordingReader::dropped_events() const {
    std::uint64_t sum = contents_->header.uncounted_events;
    for (const RecordedLane& lane : contents_->lanes) sum += lane.dropped;
    return sum;
}

std::uint64_t RecordingReader::overwritten_events() const {
    std::uint64_t sum = 0;
    for (const RecordedLane& lane : contents_->lanes) sum += lane.overwritten;
    return sum;
}

std::uint64_t RecordingReader::event_count() const {
    std::uint64_t sum = 0;
    for (const auto& [number, events] : contents_->lane_events) {
        sum += events.in_ring.size();
        for (const SegmentPlace& place : events.segments) sum += place.header.count;
    }
    return sum;
}

void RecordingReader::visit_events(const EventVisitor& visitor, std::optional<std::uint32_t> lane,
                                   const std::vector<std::uint64_t>& after) {
    struct Pending {
        EventCursor::Event event;
        EventCursor* cursor;
        bool operator<(const Pending& other) const {  // the earliest on top
            return std::pair(event.record.time, cursor->lane()) >
                   std::pair(other.event.record.time, other.cursor->lane());
        }
    };
    std::vector<std::unique_ptr<EventCursor>> cursors;
    std::priority_queue<Pending> pending;
    for (const auto& [number, events] : contents_->lane_events) {
        if (lane && number != *lane) continue;
        const std::uint64_t seen = number < after.size() ? after[number] : 0;
        cursors.push_back(std::make_unique<EventCursor>(contents_->bytes, events, seen, contents_->problems));
        if (const auto event = cursors.back()->next()) pending.push({*event, cursors.back().get()});
    }
    while (!pending.empty()) {
        const Pending first = pending.top();
        pending.pop();
        RecordedEvent event;
        event.ticks = first.event.record.time;
        event.end_ns = contents_->realtime_of(event.ticks);
        event.row = format::row_of(first.event.record);
        const std::uint64_t duration = format::duration_of(first.event.record);
        event.is_timed = duration != format::untimed;
        if (event.is_timed) {
            event.duration_ns = contents_->duration_ns(duration);
        } else if (const auto mean = contents_->mean_ticks_by_row.find(event.row);
                   mean != contents_->mean_ticks_by_row.end()) {
            event.duration_ns = contents_->duration_ns(mean->second);
            const auto most = static_cast<std::uint64_t>(farthest_time_ns - event.end_ns);
            event.end_ns += static_cast<std::int64_t>(std::min(event.duration_ns, most));
        }
        event.lane = first.cursor->lane();
        event.thread = first.event.thread;
        if (!visitor(event)) return;
        if (const auto next = first.cursor->next()) pending.push({*next, first.cursor});
    }
}

}  // namespace fp32shim::record
