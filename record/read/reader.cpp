#include "record/read/reader.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "policy/words.hpp"
#include "record/format/identity.hpp"
#include "record/read/contents.hpp"
#include "record/read/event_cursor.hpp"
#include "record/read/processes.hpp"
#include "record/read/segments.hpp"
#include "system/io_error.hpp"

namespace fp32shim::record {

namespace {

/// Looks in /proc for a process of another namespace. One that is not found may still run: `unknown`.
RecordingState find_in_proc(const ProcessIdentity& recorded) {
    for (const std::int32_t pid : list_processes())
        if (identify(pid) == recorded) return RecordingState::live;
    return RecordingState::unknown;
}

}  // namespace

std::string_view to_string(RecordingState state) {
    constexpr policy::Word<RecordingState> words[] = {
        {"live", RecordingState::live}, {"ended", RecordingState::ended}, {"unknown", RecordingState::unknown}};
    return policy::name_of(words, state);
}

RecordingReader::RecordingReader(std::unique_ptr<RecordingBytes> bytes)
    : bytes_(std::move(bytes)), contents_(std::make_unique<RecordingContents>(*bytes_)) {}

RecordingReader::~RecordingReader() = default;

RecordingReader::Opened RecordingReader::open(const std::string& path) {
    // O_NONBLOCK, so that opening a pipe without a writer does not wait.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor >= 0) return read(descriptor, path);
    const int error = errno;
    switch (error) {
        case EACCES:
        case EPERM:
            return {nullptr,
                    "this user may not read it; ask its owner, or have it recorded with [log] mode and group"};
        case ENOENT:
            return {nullptr, "no such file; look at its name"};
        default:
            return {nullptr, "cannot be opened: " + std::string(system::describe_io_error(error).meaning)};
    }
}

RecordingReader::Opened RecordingReader::open_descriptor(int descriptor) { return read(descriptor, {}); }

RecordingReader::Opened RecordingReader::read(int descriptor, const std::string& path) {
    std::unique_ptr<RecordingReader> reader(new RecordingReader(std::make_unique<RecordingBytes>(descriptor, path)));
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return {nullptr, "not a regular file; name a .fp32rec file"};
    std::string error = reader->contents_->read();
    if (!error.empty()) return {nullptr, std::move(error)};
    return {std::move(reader), {}};
}

bool RecordingReader::refresh() {
    auto fresh = std::make_unique<RecordingContents>(*bytes_);
    if (!fresh->read().empty()) return false;
    contents_ = std::move(fresh);
    return true;
}

void RecordingReader::rest() {
    if (!bytes_->is_open()) return;
    contents_->decisions.rest();
    bytes_->rest();
}

RecordingState RecordingReader::state() const {
    const ProcessIdentity recorded = contents_->facts.identity;
    const ProcessIdentity self = identify_self();
    if (recorded.start == 0 || self.start == 0) return RecordingState::unknown;
    if (!recorded.has_boot_of(self)) {
        utsname names{};
        const bool is_same_host = uname(&names) == 0 && contents_->facts.process.host == names.nodename;
        return is_same_host ? RecordingState::ended
                            : RecordingState::unknown;  // ended by a restart, or on another machine
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
const std::vector<RecordedSlot>& RecordingReader::slots() const { return contents_->slots; }
const std::vector<RecordedChange>& RecordingReader::changes() const { return contents_->changes; }
std::uint32_t RecordingReader::lost_changes() const { return contents_->lost_changes; }
const RecordedObjects& RecordingReader::objects() const { return contents_->objects(); }
const std::vector<RecordedChild>& RecordingReader::children() const { return contents_->children; }
std::uint32_t RecordingReader::missed_children() const { return contents_->missed_children; }

std::uint64_t RecordingReader::total_calls() const { return contents_->total_calls; }
std::uint64_t RecordingReader::uncounted_calls() const { return contents_->uncounted_calls; }
std::int64_t RecordingReader::realtime_of(std::uint64_t ticks) const { return contents_->realtime_of(ticks); }
const RecordedRow* RecordingReader::row(std::uint32_t id) const { return contents_->row(id); }

const std::vector<Problem>& RecordingReader::problems() const {
    if (bytes_->is_lost())
        contents_->problems.add(0,
                                "the file was deleted or replaced while it was read; what was still to be read of "
                                "it is left out");
    return contents_->problems.all();
}

std::optional<policy::Applied> RecordingReader::format_of_row(std::uint32_t id) const {
    return contents_->decisions.format_of(id);
}

void RecordingReader::visit_rows(const std::function<bool(const RecordedRow&)>& visitor) const {
    contents_->decisions.visit(visitor);
}

RecordingReader::CountersView RecordingReader::counters() const { return CountersView(*contents_); }
std::size_t RecordingReader::CountersView::size() const { return contents_.counters.size(); }

RecordingReader::RowCounters RecordingReader::CountersView::operator[](std::size_t place) const {
    const format::CounterRecord& record = contents_.counters[place];
    return {record.row_plus_one - 1, contents_.to_counters(record)};
}

std::uint64_t RecordingReader::dropped_events() const {
    std::uint64_t sum = contents_->uncounted_events;
    for (const RecordedSlot& slot : contents_->slots) sum += slot.dropped;
    return sum;
}

std::uint64_t RecordingReader::overwritten_events() const {
    std::uint64_t sum = 0;
    for (const RecordedSlot& slot : contents_->slots) sum += slot.overwritten;
    return sum;
}

std::uint64_t RecordingReader::event_count() const {
    std::uint64_t sum = 0;
    for (const auto& [number, events] : contents_->slot_events) sum += events.count();
    return sum;
}

struct RecordedEvents::Slot {
    std::unique_ptr<EventCursor> cursor;
    EventCursor::Event next;

    bool operator<(const Slot& other) const {  // the earliest is the greatest
        return std::pair(next.record.time, cursor->slot()) > std::pair(other.next.record.time, other.cursor->slot());
    }
};

RecordedEvents::~RecordedEvents() = default;
RecordedEvents::RecordedEvents(RecordedEvents&&) noexcept = default;
RecordedEvents& RecordedEvents::operator=(RecordedEvents&&) noexcept = default;

RecordedEvents::RecordedEvents(RecordingContents& contents, std::optional<std::uint32_t> slot,
                               const std::vector<std::uint64_t>& after)
    : contents_(&contents) {
    for (const auto& [number, events] : contents.slot_events) {
        if (slot && number != *slot) continue;
        const std::uint64_t seen = number < after.size() ? after[number] : 0;
        auto cursor = std::make_unique<EventCursor>(contents.bytes, events, seen, contents.problems);
        if (const auto event = cursor->next()) slots_.push_back({std::move(cursor), *event});
    }
    std::make_heap(slots_.begin(), slots_.end());
}

std::optional<RecordedEvent> RecordedEvents::next() {
    if (slots_.empty()) return std::nullopt;
    if (slots_.size() > 1) std::pop_heap(slots_.begin(), slots_.end());
    Slot& earliest = slots_.back();
    const RecordedEvent event = contents_->to_event(earliest.next, earliest.cursor->slot());
    if (const auto next = earliest.cursor->next()) {
        earliest.next = *next;
        if (slots_.size() > 1) std::push_heap(slots_.begin(), slots_.end());
    } else {
        slots_.pop_back();
    }
    return event;
}

RecordedEvents RecordingReader::events(std::optional<std::uint32_t> slot, const std::vector<std::uint64_t>& after) {
    return {*contents_, slot, after};
}

void RecordingReader::visit_events(const EventVisitor& visitor, std::optional<std::uint32_t> slot,
                                   const std::vector<std::uint64_t>& after) {
    RecordedEvents all = events(slot, after);
    while (const auto event = all.next())
        if (!visitor(*event)) return;
}

}  // namespace fp32shim::record
