// The last step of a call, where `FP32_MATMUL_LOG` names a `.fp32rec` file: one call counted in the mapped recording,
// and, with the level `calls`, one event. format/format.hpp draws the file.
//
//     Recording* recording        one per process, kept for ever
//     ThreadWriter* writer        one per thread: recording->attach(), and detach(writer) when the thread ends
//
//     if (recording->has_command()) …              changes()->receive_command(), obey it, changes()->answer()
//     const std::uint64_t begin = ticks();
//     …                                            the product
//     recording->count(*writer, key, begin, ticks(), every_call, [&](DecisionEvent& decision) { … });
//                                                  count_call.hpp has what a call runs of this
//
// count() makes plain stores to memory of its own thread only: no lock, no allocation, no system call, no cache line
// that another thread writes. The rest (a decision that is new to the thread, a ring that is full, a forked child) is
// out of line, in raw system calls, and never allocates from malloc.
//
// fork: a ThreadWriter lies on pages that a forked child sees zeroed. So the child's first count() finds no counters,
// takes the slow way and makes a file of its own; no call pays for a check. The parent's segments are not mapped in
// the child, so it cannot write into them. The parent's header stays mapped, for has_command(), until the child has
// one. Not supported: a signal handler that forks while its thread is inside count(), and a child that then returns
// from that handler.
//
// Signals: a handler that multiplies while its own thread is inside count() uses another slot for that call. A
// handler may leave count() by siglongjmp: the next call finds that the use has ended (system/in_use.hpp). What must
// be whole (tables, files, mappings) is changed with signals held.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/policy.hpp"
#include "record/audit.hpp"
#include "record/events.hpp"
#include "record/fingerprint.hpp"
#include "record/format/clock.hpp"
#include "record/format/format.hpp"
#include "record/log_path.hpp"
#include "record/process_facts.hpp"
#include "record/write/changes.hpp"
#include "record/write/children.hpp"
#include "record/write/file.hpp"
#include "record/write/objects.hpp"
#include "record/write/rows.hpp"
#include "record/write/rules.hpp"
#include "record/write/thread_writer.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/hash.hpp"

namespace fp32shim::record {

class Recording;

/// The settings in force in this process.
struct InForce {
    const StartEvent* start = nullptr;           ///< settings of environment and policy files; never destroyed
    std::optional<policy::Precision> precision;  ///< precision requested for the whole process; absent: none
    policy::Floor floor = policy::Floor::none;   ///< floor requested for the whole process
};

struct RecordingSettings {
    std::uint64_t max_size = 1ULL << 30;  ///< limit of the file's size, in bytes; at least smallest_recording
    policy::OnFull on_full = policy::OnFull::drop;
    std::uint32_t mode = 0600;  ///< permission bits of the file, whatever the umask
    std::string group;          ///< name (in /etc/group) or number of the group that gets the file; empty: none
    std::uint32_t row_limit = format::row_limit;  ///< largest number of rows in the file; smaller in tests only
    /// Notes the loaded files (Recording::objects). Called when the file is new, and with each new row and each full
    /// ring, on any thread, perhaps on several at once. Never called for a call whose row is known.
    void (*record_loaded_objects)(Recording&) = nullptr;
    /// Returns the settings in force now. Called when a forked child begins its own file, since settings may have
    /// changed after open(). Must not allocate. nullptr: settings never change.
    InForce (*settings_in_force)() = nullptr;
};
inline constexpr std::uint64_t smallest_recording = 16 * format::segment_size;

/// Number of first calls of a row that are all timed, since they differ from later ones.
inline constexpr std::uint64_t timed_at_first = 16;
/// Rate that defines short calls: they take less than 2 microseconds in the mean, so that 500,000 fit into a second.
inline constexpr std::uint64_t short_calls_per_second = 500'000;

/// Returns the number of untimed calls before the next timed one, if `timed` calls were timed so far. The
/// number varies from 32 to 95. With a fixed one, a loop of a few calls could have the same call timed every time.
constexpr std::uint32_t untimed_in_a_row(std::uint64_t timed) {
    return 32 + static_cast<std::uint32_t>(system::table_index(timed, 6));
}

/// Divisor of the 2 µs that define short calls: a timed call of up to 2 µs / 8 = 250 ns is never taken for an
/// interrupted one (outlier_factor), since the clock's own steps and jitter are as large.
inline constexpr std::uint64_t jitter_part = 8;

/// An open recording. Threads may use it until the process ends. Each forked child records into a file of its own,
/// whose name has the child's process id for `%p`; without `%p`, a number before the extension.
class Recording {
  public:
    struct Opened {
        Recording* recording = nullptr;  ///< made by operator new; nullptr: nothing is recorded
        std::string error;               ///< one line: the cause of a failure, and a remedy
    };
    /// Expands `name` (log_path.hpp) and makes the file, with O_EXCL. If a file of that name exists, the new one has
    /// `.1`, `.2`, … before its extension. Allocates.
    static Opened open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                       const RecordingSettings& settings);

    /// Closes the file; its mapped parts stay mapped. For tests, once no thread uses the recording any more.
    ~Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Returns a writer for the calling thread: a new one, or one that an earlier thread has left. nullptr: no
    /// memory. Thread-safe, lock-free, async-signal-safe. To be called, and its result kept, with signals held.
    ThreadWriter* attach();
    /// Takes back the writer of a thread that ends, for a later thread. Thread-safe, lock-free. Likewise.
    void detach(ThreadWriter* writer);

    static constexpr std::uint64_t not_timed = 0;  ///< `begin` for count(): the call was not timed
    /// Counts one call. Never fails: a call that finds no room is counted as uncounted. `writer`: the calling
    /// thread's own. `key`: a Hash of all that tells rows apart (call site, sizes, decision, result), never 0: two
    /// decisions of one key are counted as one. `begin`, `end`: ticks() before and after the call, or not_timed and a
    /// time near the call. `with_event`: adds an event as well. `describe(DecisionEvent&)` fills in the decision,
    /// without `host_ns`; it is called only if the thread does not know the key. Async-signal-safe if `describe` is;
    /// leaves errno alone.
    template <class Describe>
    void count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end, bool with_event,
               Describe&& describe);

    /// Counts a call that is about to be made, without timing it: reading the clock twice costs more than all else
    /// that is done for a call, so of a row's short calls one in some 64 is timed and stands for all. `with_event`:
    /// adds an event at the present time, of unknown duration. Returns false, with nothing done, if the call has to
    /// be timed, its key is new to the thread, or the event has no room: then count() is to count it. Calls nothing,
    /// and uses no vector registers. `writer`: the calling thread's own. Precondition: !with_event or !counter_traps.
    [[gnu::always_inline]] bool count_untimed(ThreadWriter& writer, std::uint64_t key, bool with_event) const;
    /// Adds the audit of a call that count() has counted under this key. `time`: the `end` of that call. An audit
    /// that finds no room is counted as lost. `writer`: the calling thread's own. Async-signal-safe.
    void add_audit(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Audit& audit);
    /// Adds the fingerprint of a call's result, likewise.
    void add_fingerprint(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Fingerprint& fingerprint);
    /// Counts a call of which no more can be noted, since there is no memory or disk space.
    void count_lost_call(bool with_event);
    /// Returns true if the thread knows the key, so that count() will not ask for the decision.
    static bool knows(ThreadWriter& writer, std::uint64_t key);
    /// Returns true if the next call of this key has to be timed.
    bool times_next(ThreadWriter& writer, std::uint64_t key) const;

    /// Returns true if `fp32shim set` or `reload` have written a command that no thread has taken yet. Costs two
    /// loads, of words that only commands change.
    bool has_command() const { return changes_.has_command(*header()); }
    /// Returns the commands and changes of this process's file; nullptr: it has none. Thread-safe.
    RecordingChanges* changes() { return ensure_own_file() ? &changes_ : nullptr; }
    /// Returns the loaded objects of this process's file; nullptr: it has none. Thread-safe.
    RecordingObjects* objects() { return ensure_own_file() ? &objects_ : nullptr; }

    /// Notes that a reload has put these rules in force. To be called before they decide a call. Has no effect in a
    /// forked child without a file of its own, whose file will begin with those that are in force then.
    void record_rules(std::span<const policy::Rule> rules) {
        if (is_of_this_process()) rules_.update_rules(rules);
    }

    /// Notes a program that is about to be started without the shim. In a forked child without a file of its own,
    /// uses the parent's file. Returns false if there is no file. Async-signal-safe, also after vfork.
    bool record_child(const UnseenChild& child, ChildEvent event) const;
    /// Notes that the process has left this recording for `next` (nullptr: for none), so that no command is sent to
    /// the process through this recording. Has no effect in a forked child without a file of its own. Thread-safe.
    void mark_left(const Recording* next);
    /// Returns true if this process has a file already. A forked child has none before its first call.
    bool is_of_this_process() const;
    /// Returns true if the process that this file belongs to has the id `process`: false in its child of vfork.
    bool is_of_process(std::int32_t process) const { return is_of_this_process() && header()->pid == process; }
    /// Returns true if the last look at the loaded objects had this stamp (RecordingObjects::stamp), also if it was
    /// the parent's, before a fork.
    bool has_recorded_objects(std::uint64_t stamp) const { return objects_.stamp() == stamp; }
    /// Notes that the program called `exit` or `_exit`. Called after its objects are noted. Precondition:
    /// is_of_this_process().
    void record_exit();

    /// Notes the state of the reader of Python's stacks. Has no effect in a forked child without a file of its own.
    void record_python_state(PythonState state);

    /// Returns the rate of ticks(), as measured so far.
    std::uint64_t ticks_rate() const { return ticks_per_second_.load(std::memory_order_relaxed); }

    /// Returns the path of this process's file; empty: it has none.
    std::string path();

  private:
    Recording(std::string name, const ProcessFacts& facts, const StartEvent& start, const RecordingSettings& settings,
              std::int64_t group);
    format::Header* header() const { return file_.header(); }

    static format::CounterRecord* counters_of(ThreadWriter& writer, std::uint64_t key);
    [[gnu::always_inline]] bool has_to_be_timed(format::CounterRecord& counters) const;
    std::uint64_t longest_untimed_duration(const format::CounterRecord& counters) const;
    void add_call(format::CounterRecord& counters, std::uint64_t begin, std::uint64_t end) const;
    void add_event(ThreadWriter& writer, const format::CounterRecord& counters, std::uint64_t begin,
                   std::uint64_t end);

    int start_file(std::int32_t self, std::int32_t forked_from, std::string_view path, const InForce& settings,
                   const ClockPoint& begun);
    void fill_header(format::Header& header, std::int32_t self, std::int32_t forked_from, const StartEvent& start,
                     const ClockPoint& begun);
    void measure_rate();
    void refine_ticks_per_second(std::uint64_t now);
    bool is_of(std::uint32_t process) const;
    bool ensure_own_file();
    void enter_child();

    bool make_ready(ThreadWriter& writer);
    void change_thread(ThreadWriter& writer);
    void detach_one(ThreadWriter* writer);
    ThreadWriter* spare_writer(ThreadWriter& writer);
    void count_on_slow_path(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                            bool with_event, const DecisionEvent& decision);
    void count_with_spare_writer(ThreadWriter& interrupted, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                                 bool with_event, const DecisionEvent& decision);
    template <class Entry, class Fill>
    void add_record(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, CallRecords<Entry>& records,
                    format::SegmentKind kind, std::uint64_t format::Header::*lost, const Fill& fill);
    bool find_room_for_events(ThreadWriter& writer);
    bool make_room_for_events(ThreadWriter& writer);
    void record_loaded_objects();

    RecordingFile file_;
    RecordingRows rows_{file_};
    RecordingChanges changes_{file_, rows_};
    RecordingObjects objects_{file_, rows_, facts_.executable};
    RecordingRules rules_{file_, rows_};

    std::atomic<std::uint32_t> owner_{0};  // this_process() of the owner of the file; stored last
    std::atomic<ThreadWriter*> writers_{nullptr};
    std::atomic<std::uint32_t> slot_count_{0};
    system::ForkSafeLock lock_;  // for making the file of a forked child

    ClockPoint started_;
    std::atomic<std::uint64_t> ticks_per_second_{0};  // as measured so far; a forked child begins with it
    std::uint64_t short_ticks_ = 0;                   // calls that last less are short
    std::atomic<std::uint64_t> refine_at_{0};

    // After open() only enter_child() changes these, under the lock: facts_.pid and expanded_.
    const std::string name_;  // absolute, placeholders not yet expanded
    ProcessFacts facts_;
    const StartEvent start_;
    const RecordingSettings settings_;
    const std::int64_t group_;
    char expanded_[path_capacity] = {};
};

}  // namespace fp32shim::record
