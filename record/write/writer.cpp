#include "record/write/writer.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>

#include "record/format/identity.hpp"
#include "record/write/memory.hpp"
#include "system/io_error.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"
#include "system/this_process.hpp"

namespace fp32shim::record {

using format::CounterRecord;
using format::CounterSegment;
using format::EventSegment;
using format::SegmentKind;
using format::Text;

static_assert(std::is_standard_layout_v<ThreadWriter>, "all zeros is a state of its own: a forked child sees that");

namespace {

constexpr std::size_t first_by_row_capacity = 512;

/// The first of every slot.
constexpr CountersNumber overflow_counters = 0;

void add_relaxed(std::uint64_t& shared, std::uint64_t value) {
    std::atomic_ref(shared).fetch_add(value, std::memory_order_relaxed);
}

std::uint32_t hash_of_row(std::uint32_t row) { return row * 0x9e3779b1U; }

constexpr format::Architecture architecture =
#if defined(__x86_64__)
    format::Architecture::x86_64;
#else
    format::Architecture::aarch64;
#endif

/// Why a file could not be made.
system::IoError describe_error(int error, std::int64_t group) {
    if (group >= 0 && (error == EPERM || error == EINVAL))
        return {"the file may not be given to the group of [log] group", "name a group that this user is in"};
    return system::describe_io_error(error);
}

using HeaderTexts = std::array<std::string_view, format::text_count>;

/// The texts of a header, cut so that together they fit.
HeaderTexts header_texts(const ProcessFacts& facts, const StartEvent& start) {
    static constexpr std::size_t name_limit = 1024, path_limit = 4096, command_limit = 16384;
    static_assert((format::text_count - 2) * name_limit + path_limit + command_limit <= sizeof(format::Header::text));
    HeaderTexts texts;
    const auto set = [&](Text which, std::string_view text, std::size_t limit) {
        texts[static_cast<std::size_t>(which)] = text.substr(0, limit);
    };
    set(Text::version, start.version, name_limit);
    set(Text::host, facts.host, name_limit);
    set(Text::job_id, facts.job_id, name_limit);
    set(Text::job_id_from, facts.job_id_from, name_limit);
    set(Text::rank_from, facts.rank_from, name_limit);
    set(Text::executable, facts.executable, path_limit);
    set(Text::command, facts.command, command_limit);
    set(Text::policy_name, start.policy_name, name_limit);
    set(Text::policy_revision, start.policy_revision, name_limit);
    set(Text::policy_sha256, start.policy_sha256, name_limit);
    return texts;
}

std::size_t size_of(const HeaderTexts& texts) {
    std::size_t size = 0;
    for (const std::string_view text : texts) size += text.size();
    return size;
}

void put_texts(format::Header& header, const HeaderTexts& texts) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        header.texts[i] = {static_cast<std::uint32_t>(offsetof(format::Header, text) + used),
                           static_cast<std::uint32_t>(texts[i].size())};
        std::memcpy(header.text + used, texts[i].data(), texts[i].size());
        used += texts[i].size();
    }
}

}  // namespace

// ---- open, fork --------------------------------------------------------------------------------------------------

Recording::Recording(std::string name, const ProcessFacts& facts, const StartEvent& start,
                     const RecordingSettings& settings, std::int64_t group)
    : rows_(file_), name_(std::move(name)), facts_(facts), start_(start), settings_(settings), group_(group) {}

Recording::Opened Recording::open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                                  const RecordingSettings& settings) {
    const auto refuse = [&](std::string_view why) {
        return Opened{nullptr, "recording " + std::string(name) + ": " + std::string(why)};
    };
    const ClockPoint begun = read_clocks();
    if (settings.max_size < smallest_recording)
        return refuse("max_size is " + std::to_string(settings.max_size) + " bytes; a recording needs at least " +
                      std::to_string(smallest_recording) + ": raise [log] max_size");
    const std::int64_t group = settings.group.empty() ? -1 : find_group(settings.group);
    if (group < 0 && !settings.group.empty())
        return refuse("the group \"" + settings.group +
                      "\" is not in /etc/group; nothing is recorded; name one that is, or a group's number");
    std::string buffers(2 * path_capacity, '\0');
    const std::span<char> room(buffers);
    const std::string_view absolute = make_absolute(name, room.first(path_capacity), room.subspan(path_capacity));
    if (absolute.empty()) return refuse(describe_problem({{}, PathProblem::too_long, 0}));
    // Without this a forked child would go on in its parent's file.
    if (!system::knows_forked_children())
        return refuse(
            "this kernel has no MADV_WIPEONFORK; nothing is recorded; use Linux 4.14 or newer, or a .jsonl log");
    auto* recording = new (std::nothrow) Recording(std::string(absolute), facts, start, settings, group);
    if (recording == nullptr) return refuse("out of memory; nothing is recorded");
    const std::int32_t self = system::raw::getpid();
    recording->facts_.pid = self;  // the facts may have been gathered before a fork
    const ExpandedPath expanded = expand_path(recording->name_, recording->facts_, recording->expanded_);
    std::string error;
    if (expanded.problem != PathProblem::none) {
        error = "recording " + std::string(name) + ": " + describe_problem(expanded);
    } else if (const int number = recording->start_file(self, 0, expanded.path, {&start, {}, {}}, begun);
               number != 0) {
        const system::IoError description = describe_error(number, group);
        error = "recording " + std::string(expanded.path) + ": " + std::string(description.meaning) +
                "; nothing is recorded; " + std::string(description.remedy);
    }
    if (!error.empty()) {
        delete recording;
        return {nullptr, error};
    }
    recording->owner_.store(system::this_process(), std::memory_order_release);
    recording->look_at_objects();
    recording->measure_rate();
    return {recording, {}};
}

/// Makes the file of this process. 0 or an errno.
int Recording::start_file(std::int32_t self, std::int32_t forked_from, std::string_view path, const InForce& settings,
                          const ClockPoint& begun) {
    RecordingFile::Limits limits;
    limits.segments = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(settings_.max_size / format::segment_size, format::segment_limit));
    limits.overwrites = settings_.on_full == policy::OnFull::overwrite;
    limits.mode = settings_.mode;
    limits.group = group_;
    format::Header* fresh = nullptr;
    const std::size_t text_size = size_of(header_texts(facts_, *settings.start));
    if (const int error = file_.create(path, limits, text_size, fresh); error != 0) return error;
    if (const int error = rows_.start(*fresh, settings_.row_limit); error != 0) {
        file_.discard();
        return error;
    }
    fill_header(*fresh, self, forked_from, *settings.start, begun);
    put_carried_over(*fresh, settings.precision, settings.floor);
    command_taken_.store(0, std::memory_order_relaxed);
    objects_stamp_.store(0, std::memory_order_relaxed);
    object_count_ = 0;
    std::atomic_ref(fresh->magic).store(format::magic, std::memory_order_release);
    file_.install(fresh);
    return file_.is_open() ? 0 : ENOMEM;
}

void Recording::fill_header(format::Header& header, std::int32_t self, std::int32_t forked_from,
                            const StartEvent& start, const ClockPoint& begun) {
    header.version = format::version;
    header.byte_order = format::byte_order;
    header.segment_size = format::segment_size;
    header.pid = self;
    header.forked_from = forked_from;
    header.rank = facts_.rank;
    header.start_realtime_ns = begun.realtime_ns;
    header.start_monotonic_ns = begun.monotonic_ns;
    header.start_ticks = begun.ticks;
    const ProcessIdentity identity = identify_self();
    header.process_start = identity.start;
    header.pid_namespace = identity.pid_namespace;
    std::memcpy(header.boot_id, identity.boot_id, sizeof header.boot_id);
    header.max_size = settings_.max_size;
    header.architecture = static_cast<std::uint8_t>(architecture);
    header.default_precision = static_cast<std::uint8_t>(start.default_precision);
    header.floor = static_cast<std::uint8_t>(start.floor);
    header.cpu_mode = static_cast<std::uint8_t>(start.cpu_mode);
    header.tf32_rounding = static_cast<std::uint8_t>(start.tf32_rounding);
    header.level = static_cast<std::uint8_t>(start.log_level);
    header.on_full = static_cast<std::uint8_t>(settings_.on_full);
    header.pins = static_cast<std::uint8_t>(facts_.pins);
    header.more_pins = static_cast<std::uint8_t>(facts_.pins >> 8);
    header.run = facts_.run;
    header.facts_ns = facts_.start_ns;

    put_texts(header, header_texts(facts_, start));

    // From when the file began to be made, and so not yet exact.
    if (ticks_per_second_.load(std::memory_order_relaxed) == 0)
        ticks_per_second_.store(measure_ticks_per_second(begun), std::memory_order_relaxed);
    const std::uint64_t rate = ticks_per_second_.load(std::memory_order_relaxed);
    header.ticks_per_second = rate;
    short_ticks_ = rate / short_calls_per_second;
    started_ = begun;
    refine_at_.store(begun.ticks + rate / 1000, std::memory_order_relaxed);
}

/// The rate of the counter is the better known the longer it was watched.
void Recording::measure_rate() {
    const std::uint64_t measured = ticks_per_second(started_, read_clocks());
    if (measured == 0) return;
    ticks_per_second_.store(measured, std::memory_order_relaxed);
    std::atomic_ref(header()->ticks_per_second).store(measured, std::memory_order_relaxed);
}

/// Measures the rate whenever the time that it was watched for has doubled.
[[gnu::noinline, gnu::cold]] void Recording::refine_ticks_per_second(std::uint64_t now) {
    std::uint64_t due = refine_at_.load(std::memory_order_relaxed);
    if (now < due) return;
    const std::uint64_t next = now + (now - started_.ticks);
    if (refine_at_.compare_exchange_strong(due, next, std::memory_order_relaxed)) measure_rate();
}

bool Recording::is_of(std::uint32_t process) const { return owner_.load(std::memory_order_acquire) == process; }

/// Whether this process has a file; a forked child makes its own here.
bool Recording::is_own_process() {
    const std::uint32_t self = system::this_process();
    if (!is_of(self)) {
        const system::SignalHold hold(system::SignalHold::all);
        if (!lock_.acquire()) return false;
        if (!is_of(self)) enter_child();
        lock_.release();
    }
    return file_.is_open();
}

/// The first call of a forked child. Under the lock.
void Recording::enter_child() {
    const ClockPoint begun = read_clocks();
    writers_.store(nullptr, std::memory_order_relaxed);
    slot_count_.store(0, std::memory_order_relaxed);
    const std::int32_t self = system::raw::getpid();
    const std::int32_t parent = facts_.pid;
    facts_.pid = self;
    const ExpandedPath expanded = expand_path(name_, facts_, expanded_);
    const InForce settings =
        settings_.settings_in_force != nullptr ? settings_.settings_in_force() : InForce{&start_, {}, {}};
    const int error = expanded.problem == PathProblem::none ? start_file(self, parent, expanded.path, settings, begun)
                                                            : ENAMETOOLONG;
    if (error != 0) {
        command_taken_.store(0, std::memory_order_relaxed);
        file_.abandon();
        const system::IoError description = describe_error(error, group_);
        char buffer[1024];
        system::LineWriter out(buffer);
        out.text("recording ").escaped(expanded.path, 600).text(": ").text(description.meaning);
        out.text("; this forked process records nothing; ").text(description.remedy);
        system::stderr_line(out.view());
    }
    owner_.store(system::this_process(), std::memory_order_release);
}

void Recording::note_left(const Recording* next) {
    if (!is_of_this_process()) return;
    if (next != nullptr && next->is_of_this_process())
        std::atomic_ref(header()->went_on_at).store(next->header()->start_ticks, std::memory_order_relaxed);
    std::atomic_ref(header()->flags).fetch_or(format::flag_left, std::memory_order_release);
}

bool Recording::is_of_this_process() const { return is_of(system::this_process()) && file_.is_open(); }

std::string Recording::path() { return is_own_process() ? std::string(file_.path()) : std::string(); }

// ---- threads -----------------------------------------------------------------------------------------------------

ThreadWriter* Recording::attach() {
    if (is_own_process()) {
        for (ThreadWriter* writer = writers_.load(std::memory_order_acquire); writer != nullptr;
             writer = writer->next_) {
            // Looked at first: thousands of threads that begin at once would take the lines from each other.
            if (writer->is_taken_.load(std::memory_order_relaxed) != 0) continue;
            std::uint32_t taken = 0;
            if (!writer->is_taken_.compare_exchange_strong(taken, 1, std::memory_order_acquire)) continue;
            change_thread(*writer);
            return writer;
        }
    }
    void* pages = map_private_pages(sizeof(ThreadWriter), InChild::zeros);
    return static_cast<ThreadWriter*>(pages);  // zeros are a writer that is not ready
}

void Recording::detach(ThreadWriter* writer) {
    if (writer->counter_segment_count_ == 0) {
        unmap_pages(writer, sizeof(ThreadWriter));
    } else {
        refine_ticks_per_second(ticks());
        writer->is_taken_.store(0, std::memory_order_release);
    }
}

/// From here on a ready writer is the calling thread's.
void Recording::change_thread(ThreadWriter& writer) {
    writer.is_busy_.store(false, std::memory_order_relaxed);
    const std::int32_t thread = system::raw::gettid();
    if (thread == writer.thread_) return;
    writer.thread_ = thread;
    std::atomic_ref(writer.counter_segments_[0]->header.thread).store(thread, std::memory_order_relaxed);
    // Where there is no room for the mark, there is none for the thread's events: the mark itself is no loss.
    if (writer.ring_ != nullptr && (writer.next_event_ != writer.events_end_ || find_room_for_events(writer)))
        put_event(writer, ticks(),
                  format::make_duration_row(static_cast<std::uint64_t>(thread), format::thread_change));
}

/// Gives a zeroed writer its slot, with the overflow row's counters. False: there is no room now.
bool Recording::make_ready(ThreadWriter& writer) {
    if (!is_own_process() || ticks() < writer.retry_at_) return false;
    const RecordingFile::Segment got = file_.map_new_segment(RecordingFile::Space::as_needed);
    if (got.address == nullptr) {
        writer.retry_at_ = in_a_second();
        return false;
    }
    writer.thread_ = system::raw::gettid();
    writer.slot_ = slot_count_.fetch_add(1, std::memory_order_relaxed);
    begin_counters(writer, got);
    use_counters(writer, format::overflow_row);

    writer.is_taken_.store(1, std::memory_order_relaxed);
    writer.next_ = writers_.load(std::memory_order_relaxed);
    while (!writers_.compare_exchange_weak(writer.next_, &writer, std::memory_order_release,
                                           std::memory_order_relaxed)) {
    }
    return true;
}

std::uint64_t Recording::in_a_second() const {
    return ticks() + std::atomic_ref(header()->ticks_per_second).load(std::memory_order_relaxed);
}

// ---- counting, the slow way --------------------------------------------------------------------------------------

void Recording::note_uncounted(bool with_event) {
    if (!is_own_process()) return;
    add_relaxed(header()->uncounted_calls, 1);
    if (with_event) add_relaxed(header()->uncounted_events, 1);
}

void Recording::count_slowly(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                             bool with_event, const DecisionEvent& decision) {
    if (writer.counter_segment_count_ == 0 && !make_ready(writer)) {
        if (!file_.is_open()) return;
        add_relaxed(header()->uncounted_calls, 1);
        if (with_event) add_relaxed(header()->uncounted_events, 1);
        return;
    }
    refine_ticks_per_second(end);
    RecordingRows::Found found = rows_.row_of(decision);
    if (found.is_new) look_at_objects();
    CountersNumber number = counters_of_row(writer, found.row);
    if (number == overflow_counters && found.row != format::overflow_row) number = make_counters(writer, found.row);
    if (number == overflow_counters && found.row != format::overflow_row) found = {format::overflow_row, false};
    if (found.row == format::overflow_row)
        std::atomic_ref(header()->flags).fetch_or(format::flag_rows_overflowed, std::memory_order_relaxed);
    if (found.is_final) writer.keys_.add(key, number);
    CounterRecord& counters = writer.counters(number);
    if (counters.calls == 0) std::atomic_ref(counters.first).store(end, std::memory_order_relaxed);
    add_call(counters, begin, end);
    if (with_event) add_event(writer, counters, begin, end);
}

/// In a signal handler that interrupted count(): with a writer of its own.
void Recording::count_beside(ThreadWriter&, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                             bool with_event, const DecisionEvent& decision) {
    ThreadWriter* writer = attach();
    if (writer == nullptr) {
        if (!file_.is_open()) return;
        add_relaxed(header()->uncounted_calls, 1);
        if (with_event) add_relaxed(header()->uncounted_events, 1);
        return;
    }
    count(*writer, key, begin, end, with_event, [&](DecisionEvent& described) { described = decision; });
    detach(writer);
}

/// The slot's counters of a row; overflow_counters: it has none.
CountersNumber Recording::counters_of_row(const ThreadWriter& writer, std::uint32_t row) {
    if (row == format::overflow_row || writer.by_row_capacity_ == 0) return overflow_counters;
    const std::size_t mask = writer.by_row_capacity_ - 1;
    for (std::size_t place = hash_of_row(row) & mask; writer.by_row_[place] != 0; place = (place + 1) & mask)
        if (writer.counters(writer.by_row_[place]).row_plus_one == row + 1) return writer.by_row_[place];
    return overflow_counters;
}

/// The next unused counters of the slot's newest segment. Precondition: it has some.
CountersNumber Recording::use_counters(ThreadWriter& writer, std::uint32_t row) {
    const CountersNumber number =
        (writer.counter_segment_count_ - 1) << counters_place_bits | writer.counters_used_++;
    CounterRecord& counters = writer.counters(number);
    counters.shortest = UINT64_MAX;
    std::atomic_ref(counters.row_plus_one).store(row + 1, std::memory_order_release);
    return number;
}

/// overflow_counters: there is no room.
CountersNumber Recording::make_counters(ThreadWriter& writer, std::uint32_t row) {
    if (2 * (writer.by_row_used_ + 1) > writer.by_row_capacity_ && !enlarge_by_row(writer)) return overflow_counters;
    if (!has_room_for_counters(writer)) return overflow_counters;
    const CountersNumber counters = use_counters(writer, row);
    insert_by_row(writer, counters);
    return counters;
}

/// Whether there is a place for one more in the slot's newest segment, which may be a new one.
bool Recording::has_room_for_counters(ThreadWriter& writer) {
    const bool is_full = writer.counters_used_ == CounterSegment::capacity;
    const std::uint32_t end = format::offset_of_entry<CounterRecord>(writer.counters_used_ + 1);
    if (!is_full && end <= writer.counters_room_) return true;
    if (ticks() < writer.counters_retry_at_) return false;
    if (is_full && writer.counter_segment_count_ == std::size(writer.counter_segments_)) return false;
    bool has_room = false;
    if (is_full) {
        const RecordingFile::Segment got = file_.map_new_segment(RecordingFile::Space::whole);
        has_room = got.address != nullptr;
        if (has_room) begin_counters(writer, got);
    } else {
        has_room = file_.grow(writer.newest_counters_, end, writer.counters_room_);
    }
    if (!has_room) writer.counters_retry_at_ = in_a_second();
    return has_room;
}

/// The slot goes on in this segment.
void Recording::begin_counters(ThreadWriter& writer, const RecordingFile::Segment& got) {
    auto* segment = static_cast<CounterSegment*>(got.address);
    segment->header.slot = writer.slot_;
    segment->header.sequence = writer.counter_segment_count_;
    segment->header.thread = writer.thread_;
    file_.publish(segment->header, SegmentKind::counters);
    writer.counter_segments_[writer.counter_segment_count_++] = segment;
    writer.newest_counters_ = got.number;
    writer.counters_room_ = got.room;
    writer.counters_used_ = 0;
}

void Recording::insert_by_row(ThreadWriter& writer, CountersNumber counters) {
    const std::size_t mask = writer.by_row_capacity_ - 1;
    std::size_t place = hash_of_row(writer.counters(counters).row_plus_one - 1) & mask;
    while (writer.by_row_[place] != 0) place = (place + 1) & mask;
    writer.by_row_[place] = counters;
    ++writer.by_row_used_;
}

bool Recording::enlarge_by_row(ThreadWriter& writer) {
    CountersNumber* const before = writer.by_row_;
    const std::size_t capacity_before = writer.by_row_capacity_;
    const std::size_t capacity = capacity_before == 0 ? first_by_row_capacity : 2 * capacity_before;
    auto* pages =
        static_cast<CountersNumber*>(map_private_pages(capacity * sizeof(CountersNumber), InChild::nothing));
    if (pages == nullptr) return false;
    writer.by_row_ = pages;
    writer.by_row_capacity_ = capacity;
    writer.by_row_used_ = 0;
    for (std::size_t place = 0; place < capacity_before; ++place)
        if (before[place] != 0) insert_by_row(writer, before[place]);
    if (before != nullptr) unmap_pages(before, capacity_before * sizeof(CountersNumber));
    return true;
}

// ---- events, the slow way ----------------------------------------------------------------------------------------

/// A place in the ring for one more event; false: there is none.
bool Recording::find_room_for_events(ThreadWriter& writer) {
    if (ticks() < writer.retry_at_) return false;
    if (writer.ring_ == nullptr ? make_ring(writer) : append_ring(writer)) return true;
    writer.retry_at_ = in_a_second();
    return false;
}

/// The same; false, and the event is counted as dropped, where there is none.
bool Recording::make_room_for_events(ThreadWriter& writer) {
    if (find_room_for_events(writer)) return true;
    if (writer.ring_ == nullptr) {
        add_relaxed(header()->uncounted_events, 1);
    } else {
        drop_event(writer);
    }
    return false;
}

bool Recording::make_ring(ThreadWriter& writer) {
    auto* ring = static_cast<EventSegment*>(file_.map_new_segment(RecordingFile::Space::whole).address);
    if (ring == nullptr) return false;
    ring->header.slot = writer.slot_;
    ring->header.thread = writer.thread_;
    file_.publish(ring->header, SegmentKind::ring);
    writer.ring_ = ring;
    writer.next_event_ = ring->entries;
    writer.events_end_ = ring->entries + EventSegment::capacity;
    return true;
}

/// Puts the full ring into the file, and begins it anew. False: there is no room.
bool Recording::append_ring(ThreadWriter& writer) {
    EventSegment& ring = *writer.ring_;
    format::SegmentHeader header{};
    header.kind = static_cast<std::uint32_t>(SegmentKind::events);
    header.slot = writer.slot_;
    header.sequence = writer.event_segments_;
    header.count = EventSegment::capacity;
    header.thread = ring.header.thread;
    header.first_time = ring.entries[0].time;
    header.last_time = writer.last_time_;
    if (file_.append_events(header, ring.entries) == RecordingFile::Appended::no_room) return false;
    std::atomic_ref(ring.header.count).store(++writer.event_segments_, std::memory_order_relaxed);
    std::atomic_ref(ring.header.thread).store(writer.thread_, std::memory_order_relaxed);
    writer.next_event_ = ring.entries;
    refine_ticks_per_second(writer.last_time_);
    look_at_objects();
    return true;
}

}  // namespace fp32shim::record
