#include "record/write/writer.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "record/format/entry_fields.hpp"
#include "record/processor.hpp"
#include "record/write/count_call.hpp"
#include "record/write/memory.hpp"
#include "system/io_error.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/small_files.hpp"
#include "system/stderr_line.hpp"
#include "system/this_process.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::record {

using format::CounterRecord;

namespace {

void add_relaxed(std::uint64_t& shared, std::uint64_t value) {
    std::atomic_ref(shared).fetch_add(value, std::memory_order_relaxed);
}

/// Reports on stderr, once per process, that a recording could not enter a list.
void warn_not_listed(std::string_view path, int error) {
    static constinit system::OncePerProcess said;
    if (said.is_first_call())
        warn_about_recording(path,
                             {system::describe_io_error(error).meaning,
                              "; the other recordings of its run cannot name it, so name it for fp32shim verify"});
}

}  // namespace

// ---- open --------------------------------------------------------------------------------------------------------

Recording::Recording(std::string name, const ProcessFacts& facts, const StartEvent& start,
                     const RecordingSettings& settings, std::int64_t group)
    : name_(std::move(name)), facts_(facts), start_(start), settings_(settings), group_(group) {}

Recording::OpenResult Recording::open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                                      const RecordingSettings& settings) {
    const auto refuse = [&](std::string_view why) {
        return OpenResult{nullptr, "recording " + std::string(name) + ": " + std::string(why)};
    };
    const ClockReading begun = read_clocks();
    if (settings.max_size < smallest_recording)
        return refuse("max_size is " + std::to_string(settings.max_size) + " bytes; a recording needs at least " +
                      std::to_string(smallest_recording) + ": raise [log] max_size");
    const std::int64_t group =
        settings.group.empty()
            ? -1
            : system::find_account_id(system::read_small_file(system::groups_file), settings.group);
    if (group < 0 && !settings.group.empty())
        return refuse("the group \"" + settings.group +
                      "\" is not in /etc/group; nothing is recorded; name a group that is, or its number");
    std::string buffers(2 * path_capacity, '\0');
    const std::span<char> room(buffers);
    const std::string_view absolute =
        make_absolute_name(name, room.first(path_capacity), room.subspan(path_capacity));
    if (absolute.empty()) return refuse(describe_path_problem({{}, PathProblem::too_long, 0}));
    // If forks cannot be detected, a forked child would write into its parent's file.
    if (!system::can_detect_forks())
        return refuse(
            "this kernel has no MADV_WIPEONFORK; nothing is recorded; use Linux 4.14 or newer, or a .jsonl log");
    auto* recording = new (std::nothrow) Recording(std::string(absolute), facts, start, settings, group);
    if (recording == nullptr) return refuse("out of memory; nothing is recorded");
    const std::int32_t self = system::raw::getpid();
    recording->facts_.pid = self;  // `facts` may have been gathered before a fork
    const ExpandedPath expanded = expand_path(recording->name_, recording->facts_, recording->expanded_);
    std::string error;
    if (expanded.problem != PathProblem::none) {
        error = "recording " + std::string(name) + ": " + describe_path_problem(expanded);
    } else if (const int number = recording->start_file(self, 0, expanded.path, {&start, {}, {}}, begun);
               number != 0) {
        const system::IoError description = recording->describe_error(number);
        error = "recording " + std::string(expanded.path) + ": " + std::string(description.meaning) +
                "; nothing is recorded; " + std::string(description.remedy);
    }
    if (!error.empty()) {
        delete recording;
        return {nullptr, error};
    }
    recording->owner_.store(system::fork_generation(), std::memory_order_release);
    recording->record_loaded_objects();
    recording->measure_ticks_rate();
    return {recording, {}};
}

/// Describes the error that prevented a file from being made.
system::IoError Recording::describe_error(int error) const {
    if (group_ >= 0 && (error == EPERM || error == EINVAL))
        return {"the file cannot be given to the group in [log] group", "name a group that this user is in"};
    return system::describe_io_error(error);
}

/// Makes the file of this process at `path`. `self` and `forked_from` are process ids for the header, and `begun` is
/// the start of the recording. `settings` are stored as the settings at its start. Returns 0 or an errno.
int Recording::start_file(std::int32_t self, std::int32_t forked_from, std::string_view path,
                          const SettingsInForce& settings, const ClockReading& begun) {
    RecordingFile::Limits limits;
    limits.segments = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(settings_.max_size / format::segment_size, format::segment_limit));
    limits.overwrites = settings_.on_full == policy::OnFull::overwrite;
    limits.mode = settings_.mode;
    limits.group = group_;
    format::Header* fresh = nullptr;
    if (const int error = file_.create(path, limits, fresh); error != 0) return error;
    if (const int error = rows_.begin_file(*fresh, settings_.row_limit); error != 0) {
        file_.remove_new_file();
        return error;
    }
    fill_header(*fresh, self, forked_from, *settings.start, begun);
    control_.begin_list(*fresh, settings.precision, settings.floor);
    objects_.begin_list();
    rules_.begin_list();
    std::atomic_ref(fresh->magic).store(format::magic, std::memory_order_release);
    enter_list_of_family(*fresh, path);
    file_.install_header(fresh);
    if (!file_.is_open()) return ENOMEM;
    rules_.update_rules(settings.start->rules);
    return 0;
}

/// Enters a new recording, whose header is `fresh`, into the list of its run or family (enter_list()). At this time,
/// `file_.header()` is nullptr or, in a forked child, still the parent's header.
void Recording::enter_list_of_family(format::Header& fresh, std::string_view expanded) {
    if (settings_.process_family == nullptr) return;
    const FamilyFacts family = settings_.process_family();
    int error = enter_list({fresh, file_.path(), expanded, name_, facts_}, file_.header(), family);
    if (error == 0 && facts_.run_is_awaited) error = count_run_recording(family);
    if (error != 0) warn_not_listed(file_.path(), error);
}

/// Measures the rate of the processor's counter since the start of the recording. The longer the recording has
/// lasted, the more exact the rate is.
void Recording::measure_ticks_rate() {
    const std::uint64_t measured = ticks_per_second(start_clocks_, read_clocks());
    if (measured == 0) return;
    ticks_per_second_.store(measured, std::memory_order_relaxed);
    std::atomic_ref(header()->ticks_per_second).store(measured, std::memory_order_relaxed);
}

/// Measures the rate of the processor's counter again if the age of the recording has doubled since the previous
/// measurement. `now` is the time in ticks.
[[gnu::noinline, gnu::cold]] void Recording::refine_ticks_per_second(std::uint64_t now) {
    std::uint64_t due = refine_at_.load(std::memory_order_relaxed);
    if (now < due) return;
    const std::uint64_t next = now + (now - start_clocks_.ticks);
    if (refine_at_.compare_exchange_strong(due, next, std::memory_order_relaxed)) measure_ticks_rate();
}

void Recording::mark_continued_in(const Recording* next) {
    if (!is_of_this_process()) return;
    if (next != nullptr && next->is_of_this_process())
        std::atomic_ref(header()->went_on_at).store(next->header()->start_ticks, std::memory_order_relaxed);
    std::atomic_ref(header()->flags).fetch_or(format::flag_left, std::memory_order_release);
}

void Recording::withdraw_pins(std::uint16_t pins) {
    dropped_pins_.fetch_or(pins, std::memory_order_relaxed);
    if (!is_of_this_process()) return;
    std::atomic_ref(header()->pins).fetch_and(static_cast<std::uint8_t>(~pins), std::memory_order_relaxed);
    std::atomic_ref(header()->more_pins).fetch_and(static_cast<std::uint8_t>(~pins >> 8), std::memory_order_relaxed);
}

void Recording::mark_kernels_missed() {
    if (!ensure_own_file()) return;
    std::atomic_ref(header()->flags).fetch_or(format::flag_kernels_missed, std::memory_order_relaxed);
}

std::string Recording::path() { return ensure_own_file() ? std::string(file_.path()) : std::string(); }

// ---- threads -----------------------------------------------------------------------------------------------------

ThreadWriter* Recording::attach_thread() {
    if (ensure_own_file()) {
        for (ThreadWriter* writer = writers_.load(std::memory_order_acquire); writer != nullptr;
             writer = writer->next_) {
            // `is_taken_` is loaded before the exchange, because otherwise thousands of threads that start at the
            // same time would contend for its cache line.
            if (writer->is_taken_.load(std::memory_order_relaxed) != 0) continue;
            std::uint32_t taken = 0;
            if (!writer->is_taken_.compare_exchange_strong(taken, 1, std::memory_order_acquire)) continue;
            system::note_acquire(writer);
            record_thread_change(*writer);
            return writer;
        }
    }
    void* pages = map_private_pages(sizeof(ThreadWriter), PagesInChild::zeroed);
    return static_cast<ThreadWriter*>(pages);  // a writer of zeros has no slot yet
}

void Recording::detach_thread(ThreadWriter* writer) {
    while (writer != nullptr) {
        ThreadWriter* const spare = std::exchange(writer->spare_, nullptr);
        detach_writer(writer);
        writer = spare;
    }
}

void Recording::detach_writer(ThreadWriter* writer) {
    if (writer->counter_segment_count_ == 0 && writer->attached_memory_ == nullptr) {
        unmap_pages(writer, sizeof(ThreadWriter));
    } else {
        refine_ticks_per_second(ticks());
        system::note_release(writer);
        writer->is_taken_.store(0, std::memory_order_release);
    }
}

/// Assigns a writer that has a slot to the calling thread, and stores the thread's id in the file.
void Recording::record_thread_change(ThreadWriter& writer) {
    writer.use_.end_use();
    writer.last_product_ = nullptr;
    const std::int32_t thread = system::raw::gettid();
    if (thread == writer.thread_) return;
    writer.thread_ = thread;
    writer.fingerprints_.wanted = 0;
    std::atomic_ref(writer.counter_segments_[0]->header.thread).store(thread, std::memory_order_relaxed);
    // If there is no space for events, the change of thread need not be marked, because no event of the new thread
    // will follow.
    if (writer.ring_ != nullptr && (writer.has_room_for_event() || make_room_for_events(writer)))
        writer.put_event(ticks(),
                         format::pack_duration_and_row(static_cast<std::uint64_t>(thread), format::thread_change));
}

/// Gives a slot in the file to a zeroed writer. Returns false if there is no space now.
bool Recording::assign_slot(ThreadWriter& writer) {
    if (!ensure_own_file() || ticks() < writer.retry_at_) return false;
    auto* const first = static_cast<format::CounterSegment*>(file_.map_new_segment());
    if (first == nullptr) {
        writer.retry_at_ = file_.one_second_from_now();
        return false;
    }
    writer.begin_slot(file_, slot_count_.fetch_add(1, std::memory_order_relaxed), first);
    writer.is_taken_.store(1, std::memory_order_relaxed);
    writer.next_ = writers_.load(std::memory_order_relaxed);
    while (!writers_.compare_exchange_weak(writer.next_, &writer, std::memory_order_release,
                                           std::memory_order_relaxed)) {
    }
    return true;
}

// ---- counting on the slow path ----------------------------------------------------------------------------------

void Recording::count_lost_call(bool with_event) {
    if (!ensure_own_file()) return;
    add_relaxed(header()->uncounted_calls, 1);
    if (with_event) add_relaxed(header()->uncounted_events, 1);
}

void Recording::count_on_slow_path(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                                   bool with_event, const DecisionEvent& decision) {
    const system::SignalHold hold;
    if (writer.counter_segment_count_ == 0 && !assign_slot(writer)) return count_lost_call(with_event);
    // If the file was lost (truncated, for example), the call is not counted, because each call would add a row that
    // could not be found again.
    if (!file_.is_open()) return;
    refine_ticks_per_second(end);
    for (const policy::Rule* rule : {decision.decided_by, decision.limited_by})
        if (rule != nullptr) rules_.mark_used(*rule);
    RowTable::FoundRow found = rows_.row_of(decision);
    if (found.is_new) record_loaded_objects();
    const CountersNumber number = writer.counters_of_row(file_, found.row);
    if (number == overflow_counters && found.row != format::overflow_row) found = {format::overflow_row, false};
    if (found.row == format::overflow_row) file_.set_flag(format::flag_rows_overflowed);
    if (found.is_final) writer.keys_.add(key, number);
    CounterRecord& counters = writer.counters(number);
    if (counters.calls == 0) std::atomic_ref(counters.first).store(end, std::memory_order_relaxed);
    add_call(counters, begin, end);
    writer.last_product_ = &counters;
    if (with_event) add_event(writer, counters, begin, end);
}

bool Recording::last_decision(ThreadWriter& writer, DecisionEvent& decision, bool& has_sizes) {
    if (!is_of_this_process() || !writer.use_.begin_use()) return false;
    const CounterRecord* const counters = writer.counter_segment_count_ == 0 ? nullptr : writer.last_product_;
    const bool is_known = counters != nullptr && rows_.decision_of(counters->row_plus_one - 1, decision, has_sizes);
    writer.use_.end_use();
    return is_known;
}

/// Counts a call that is made while the thread's writer, `used`, is in use by another call.
void Recording::count_with_spare_writer(ThreadWriter& used, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                                        bool with_event, const DecisionEvent& decision) {
    ThreadWriter* const writer = spare_writer(used);
    if (writer == nullptr) return count_lost_call(with_event);
    count(*writer, key, begin, end, with_event, [&](DecisionEvent& described) { described = decision; });
}

/// Returns a spare writer for a call that is made while the thread's own `writer` is in use, or nullptr if there is
/// no memory. The writer is in use if the call is made in a signal handler that interrupted count(). After a handler
/// has left count() by siglongjmp, the writer also counts as in use for calls that are made deeper in the stack. The
/// spare writer is kept for later calls, because a program may leave thousands of calls by siglongjmp.
ThreadWriter* Recording::spare_writer(ThreadWriter& writer) {
    const system::SignalHold hold;
    if (writer.spare_ == nullptr) writer.spare_ = attach_thread();
    return writer.spare_;
}

/// Adds a record of the call with the key `key` to `records`. `fill(entry)` sets all fields of the entry except its
/// time and row. If there is no space for the record, adds 1 to the header's field `lost`.
template <class Entry, class Fill>
void Recording::add_record(ThreadWriter& writer, std::uint64_t key, std::uint64_t time,
                           CallRecordSegment<Entry>& records, format::SegmentKind kind,
                           std::uint64_t format::Header::*lost, const Fill& fill) {
    const auto lose = [&] {
        if (ensure_own_file()) add_relaxed(header()->*lost, 1);
    };
    // The writer is in use if a signal handler that interrupted count() multiplies.
    if (!writer.use_.begin_use()) return lose();
    // If there was no space for the row of the call, or if the process was forked after the call was counted, the
    // table does not have the key, and the record is lost.
    const CounterRecord* const counters = writer.find_counters(key);
    Entry* const entry = counters == nullptr ? nullptr : writer.next_entry(file_, records, kind);
    if (entry != nullptr) {
        entry->row = counters->row_plus_one - 1;
        fill(*entry);
        std::atomic_ref(entry->time).store(time, std::memory_order_release);
    }
    writer.use_.end_use();
    if (entry == nullptr) lose();
}

void Recording::add_audit(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Audit& audit) {
    add_record(writer, key, time, writer.audits_, format::SegmentKind::audits, &format::Header::lost_audits,
               [&](format::AuditRecord& entry) { format::store_audit(audit, entry); });
}

void Recording::count_nonfinite_search() {
    if (ensure_own_file()) add_relaxed(header()->searched_calls, 1);
}

void Recording::add_fingerprint(ThreadWriter& writer, std::uint64_t key, std::uint64_t time,
                                const Fingerprint& fingerprint) {
    add_record(writer, key, time, writer.fingerprints_, format::SegmentKind::fingerprints,
               &format::Header::lost_fingerprints, [&](format::FingerprintRecord& entry) {
                   format::store_fingerprint(fingerprint, entry);
                   entry.number = writer.fingerprints_.wanted - 1;
                   entry.thread = writer.thread_;
               });
}

void Recording::add_operands(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const OperandHashes& hashes,
                             std::uint32_t rows) {
    add_record(writer, key, time, writer.operands_, format::SegmentKind::operands, &format::Header::lost_operands,
               [&](format::OperandsRecord& entry) {
                   entry.number = writer.fingerprints_.wanted - 1;
                   entry.thread = writer.thread_;
                   entry.rows = rows;
                   entry.hashes = hashes;
               });
}

/// Makes space for one more event, by making a ring or by copying the full ring into the file. Returns false if that
/// fails.
bool Recording::make_room_for_events(ThreadWriter& writer) {
    if (ticks() < writer.retry_at_) return false;
    const bool is_new = writer.ring_ == nullptr;
    if (is_new ? !writer.make_ring(file_) : !writer.append_ring_to_file(file_)) {
        writer.retry_at_ = file_.one_second_from_now();
        return false;
    }
    if (!is_new) {
        refine_ticks_per_second(writer.last_time_);
        record_loaded_objects();
    }
    return true;
}

/// Makes space for one more event. If there is no space, counts the event as dropped and returns false.
bool Recording::make_room_or_drop_event(ThreadWriter& writer) {
    const system::SignalHold hold;
    if (make_room_for_events(writer)) return true;
    if (writer.ring_ == nullptr)
        add_relaxed(header()->uncounted_events, 1);
    else
        writer.drop_event();
    return false;
}

// ---- notes that are not about calls -----------------------------------------------------------------------------

void Recording::record_loaded_objects() {
    if (settings_.record_loaded_objects != nullptr) settings_.record_loaded_objects(*this);
}

bool Recording::record_child(const UnseenChild& child, ChildEvent event) const {
    if (!file_.is_open()) return false;
    record::record_child(*header(), child, event);
    return true;
}

void Recording::record_python_state(PythonReaderState state) {
    if (is_of_this_process())
        std::atomic_ref(header()->python).store(static_cast<std::uint32_t>(state), std::memory_order_relaxed);
}

void Recording::record_exit() {
    measure_ticks_rate();
    std::atomic_ref(header()->processor).fetch_or(query_amx_permission(), std::memory_order_relaxed);
    std::atomic_ref(header()->exited_at).store(ticks(), std::memory_order_release);
}

}  // namespace fp32shim::record
