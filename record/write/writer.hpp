// The last step of a call if `FP32_MATMUL_LOG` names a `.fp32rec` file: counts the call in the mapped recording and,
// at the level `calls`, adds an event. format/format.hpp draws the file.
//
//     Recording* recording        one per process, kept for ever
//     ThreadWriter* writer        one per thread: recording->attach_thread(), and detach_thread(writer) when the
//     thread ends
//
//     if (recording->has_command()) …              control()->receive_command(), obey it, control()->answer()
//     const std::uint64_t begin = ticks();
//     …                                            the product
//     recording->count(*writer, key, begin, ticks(), every_call, [&](DecisionEvent& decision) { … });
//                                                  count_call.hpp has the code of this that each call runs
//
// count() makes plain stores to its own thread's memory only: no lock, no allocation, no system call, no cache line
// that another thread writes. Rare cases (a decision that is new to the thread, a full ring, a forked child) are
// handled out of line, by raw system calls, and never allocate from malloc.
//
// Fork: a ThreadWriter lies on pages that a forked child sees zeroed. So the child's first count() finds no counters,
// takes the slow path and makes a file of its own. No call pays for a check. The parent's segments are not mapped in
// the child, so it cannot write into them. The parent's header stays mapped, for has_command(), until the child has
// its own. Not supported: a signal handler that forks while its thread is inside count(), if the child then returns
// from that handler.
//
// Signals: a handler that multiplies while its own thread is inside count() uses another slot for that call. A
// handler may leave count() by siglongjmp: the next call detects that the earlier use has ended
// (system/reentrancy.hpp). Tables, files and mappings must never be seen half changed, so they are changed with
// signals held.
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
#include "record/write/environment_list.hpp"
#include "record/write/file.hpp"
#include "record/write/listing.hpp"
#include "record/write/objects.hpp"
#include "record/write/rows.hpp"
#include "record/write/rules.hpp"
#include "record/write/thread_writer.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/hash.hpp"
#include "system/io_error.hpp"

namespace fp32shim::record {

class Recording;

/// The settings in force in this process.
struct SettingsInForce {
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
    /// Lists the loaded files (Recording::objects). Called when the file is new, and with each new row and each full
    /// ring, on any thread, perhaps on several at once. Never called for a call whose row is known.
    void (*record_loaded_objects)(Recording&) = nullptr;
    /// Returns the settings in force now. Called when a forked child begins its own file, since settings may have
    /// changed after open(). Must not allocate. nullptr: settings never change.
    SettingsInForce (*settings_in_force)() = nullptr;
    /// Returns the facts by which a new recording finds the list to enter. Must not allocate. nullptr: recordings
    /// enter no list.
    FamilyFacts (*process_family)() = nullptr;
};
inline constexpr std::uint64_t smallest_recording = 16 * format::segment_size;

/// Number of calls at the start of a row that are all timed, since first calls differ from later ones.
inline constexpr std::uint64_t timed_at_first = 16;
/// Defines short calls: those with a mean below 2 microseconds, so that 500,000 fit into a second.
inline constexpr std::uint64_t short_calls_per_second = 500'000;

/// Returns the number of untimed calls before the next timed call, if `timed` calls were timed so far. The number
/// varies from 32 to 95. With a fixed number, a loop of a few calls could always have the same call timed.
constexpr std::uint32_t untimed_calls_in_between(std::uint64_t timed) {
    return 32 + static_cast<std::uint32_t>(system::table_index(timed, 6));
}

/// Divides the 2 µs that define short calls. A timed call of up to 2 µs / 8 = 250 ns never counts as interrupted
/// (outlier_factor), since the clock's own steps and jitter are as large.
inline constexpr std::uint64_t jitter_part = 8;

/// An open recording. Threads may use it until the process ends. Each forked child records into a file of its own. If
/// the name has `%p`, the child's process id replaces it; otherwise a number before the extension tells the files
/// apart.
class Recording {
  public:
    struct OpenResult {
        Recording* recording = nullptr;  ///< made by operator new; nullptr: nothing is recorded
        std::string error;               ///< one line with the cause of the failure and a remedy
    };
    /// Expands `name` (log_path.hpp) and makes the file, with O_EXCL. If a file of that name exists, the new one has
    /// `.1`, `.2`, … before its extension. Allocates.
    static OpenResult open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                           const RecordingSettings& settings);

    /// Closes the file. Its mapped parts stay mapped. For tests, when no thread uses the recording any more.
    ~Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Returns a writer for the calling thread: a new one, or one that an ended thread has left. nullptr: no memory.
    /// Thread-safe, lock-free, async-signal-safe. Hold signals while calling it and storing its result.
    ThreadWriter* attach_thread();
    /// Takes the writer of an ending thread back, for a later thread. Thread-safe, lock-free. Hold signals while
    /// calling it.
    void detach_thread(ThreadWriter* writer);

    static constexpr std::uint64_t not_timed = 0;  ///< `begin` for count(): the call was not timed
    /// Counts one call. Never fails: a call without space is counted as uncounted. `writer`: the calling thread's
    /// own. `key`: a Hash of all values that distinguish rows (call site, sizes, decision, result), never 0; two
    /// decisions with one key would be counted as one. `begin`, `end`: ticks() before and after the call, or
    /// not_timed and a time near the call. `with_event`: also adds an event. `describe(DecisionEvent&)` fills in the
    /// decision, without `host_ns`; it is called only if the thread does not know the key. Async-signal-safe if
    /// `describe` is; leaves errno alone.
    template <class Describe>
    void count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end, bool with_event,
               Describe&& describe);

    /// Counts a call that is about to be made, without timing it. Reading the clock twice costs more than all other
    /// work for a call, so only about one in 64 short calls of a row is timed and stands for the others.
    /// `with_event`: also adds an event at the present time, with unknown duration. Returns false, and does nothing,
    /// if the call has to be timed, its key is new to the thread, or there is no space for the event; then use
    /// count(). Calls nothing, and uses no vector registers. `writer`: the calling thread's own. Precondition:
    /// !with_event or !counter_traps.
    [[gnu::always_inline]] bool count_untimed(ThreadWriter& writer, std::uint64_t key, bool with_event) const;
    /// Adds the audit of a call that count() has counted under this key. `time`: the `end` of that call. An audit
    /// without space is counted as lost. `writer`: the calling thread's own. Async-signal-safe.
    void add_audit(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Audit& audit);
    /// Adds the fingerprint of a call's result. The arguments are those of add_audit().
    void add_fingerprint(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Fingerprint& fingerprint);
    /// Adds hashes of what a call read, and Fingerprint::rows, after add_fingerprint() for this call. The other
    /// arguments are those of add_audit().
    void add_operands(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const OperandHashes& hashes,
                      std::uint32_t rows);
    /// Counts a call whose result was searched for NaN and infinity.
    void count_nonfinite_search();
    /// Counts a call about which nothing else can be recorded, for want of memory or disk space.
    void count_lost_call(bool with_event);
    /// Returns true if the thread knows the key, so that count() will not call `describe`.
    static bool knows_key(ThreadWriter& writer, std::uint64_t key);
    /// Facts that a thread knows about the calls that it has counted under a key.
    struct CallsOfKey {
        bool is_known = false;   ///< the thread knows the key, so that count() will not call `describe`
        bool times_next = true;  ///< the next call has to be timed
        std::uint32_t row = 0;
        std::uint64_t calls = 0;
    };
    CallsOfKey calls_of_key(ThreadWriter& writer, std::uint64_t key) const;
    /// Adds the time on the GPU of a call that this writer has counted in this row. `is_first`: the call was the
    /// slot's first of the row. A time without space is dropped. Only one thread may call this for a writer at a
    /// time.
    void add_gpu_time(ThreadWriter& writer, std::uint32_t row, std::uint64_t nanoseconds, bool is_first);

    /// Returns true if `fp32shim set` or `reload` has written a command that no thread has taken yet. Costs two
    /// loads, of words that only commands change.
    bool has_command() const { return control_.has_command(*header()); }
    /// Returns the commands and changes of this process's file; nullptr: the process has no file. Thread-safe.
    RecordingControl* control() { return ensure_own_file() ? &control_ : nullptr; }
    /// Reads the decision of the last call that `writer` counted in this process's file. Returns false if there was
    /// none, or if it had no row of its own. `has_sizes`: m, n, k and batch are those of the call, not rounded up.
    /// The texts lie in the mapped file, which stays mapped. Takes time that grows with the number of texts.
    bool last_decision(ThreadWriter& writer, DecisionEvent& decision, bool& has_sizes);
    /// Returns the list of facts about the process's environment; nullptr: the process has no file. Thread-safe.
    EnvironmentFactList* environment() { return ensure_own_file() ? &environment_ : nullptr; }
    /// Returns the loaded objects of this process's file; nullptr: the process has no file. Thread-safe.
    LoadedFileList* objects() { return ensure_own_file() ? &objects_ : nullptr; }

    /// Records that a reload has put these rules in force. Call this before they decide a call. Has no effect in a
    /// forked child without a file of its own: that file will begin with the rules in force at that time.
    void record_rules(std::span<const policy::Rule> rules) {
        if (is_of_this_process()) rules_.update_rules(rules);
    }

    /// Records a program that is about to be started without the shim. In a forked child without a file of its own,
    /// uses the parent's file. Returns false if there is no file. Async-signal-safe, also after vfork.
    bool record_child(const UnseenChild& child, ChildEvent event) const;
    /// Records that there is a file for children which `fp32shim verify` has to read, too. Precondition:
    /// is_of_this_process().
    void mark_children_file() { file_.set_flag(format::flag_children_file); }
    /// Records that the process has left this recording for `next` (nullptr: for none), so that no command is sent to
    /// the process through this recording. Has no effect in a forked child without a file of its own. Thread-safe.
    void mark_continued_in(const Recording* next);
    /// Returns true if this process already has a file. A forked child has none before its first call.
    bool is_of_this_process() const;
    /// Returns true if this file belongs to the process with the id `process`. In a child of vfork, which shares its
    /// parent's memory, the result is false for the child's own id.
    bool is_of_process(std::int32_t process) const { return is_of_this_process() && header()->pid == process; }
    /// Returns true if the loaded objects were last listed under this stamp (LoadedFileList::stamp), perhaps by the
    /// parent before a fork.
    bool has_recorded_objects(std::uint64_t stamp) const { return objects_.stamp() == stamp; }
    /// Records that the program called `exit` or `_exit`. Called after the loaded objects are listed. Precondition:
    /// is_of_this_process().
    void record_exit();

    /// Records that variables of `run --pin` (bits pin_…) have no effect in this process, although they are set.
    /// Thread-safe.
    void withdraw_pins(std::uint16_t pins);

    /// Records that some kernels of GPUs may not be in the recording. Thread-safe.
    void mark_kernels_missed();

    /// Records the state of the reader of Python's stacks. Has no effect in a forked child without a file of its own.
    void record_python_state(PythonReaderState state);

    /// Returns the rate of ticks() as measured so far, in ticks per second.
    std::uint64_t ticks_rate() const { return ticks_per_second_.load(std::memory_order_relaxed); }

    /// Returns the path of this process's file; empty: the process has no file.
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

    int start_file(std::int32_t self, std::int32_t forked_from, std::string_view path,
                   const SettingsInForce& settings, const ClockReading& begun);
    void enter_list_of_family(format::Header& fresh, std::string_view expanded);
    void fill_header(format::Header& header, std::int32_t self, std::int32_t forked_from, const StartEvent& start,
                     const ClockReading& begun);
    void measure_ticks_rate();
    void refine_ticks_per_second(std::uint64_t now);
    system::IoError describe_error(int error) const;
    // after_fork.cpp
    bool belongs_to(std::uint32_t process) const;
    bool ensure_own_file();
    void begin_in_child();

    bool assign_slot(ThreadWriter& writer);
    void record_thread_change(ThreadWriter& writer);
    void detach_writer(ThreadWriter* writer);
    ThreadWriter* spare_writer(ThreadWriter& writer);
    void count_on_slow_path(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                            bool with_event, const DecisionEvent& decision);
    void count_with_spare_writer(ThreadWriter& interrupted, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                                 bool with_event, const DecisionEvent& decision);
    template <class Entry, class Fill>
    void add_record(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, CallRecordSegment<Entry>& records,
                    format::SegmentKind kind, std::uint64_t format::Header::*lost, const Fill& fill);
    bool make_room_for_events(ThreadWriter& writer);
    bool make_room_or_drop_event(ThreadWriter& writer);
    void record_loaded_objects();

    RecordingFile file_;
    RowTable rows_{file_};
    RecordingControl control_{file_, rows_};
    EnvironmentFactList environment_{file_, rows_};
    LoadedFileList objects_{file_, rows_, facts_.executable};
    RuleList rules_{file_, rows_};

    std::atomic<std::uint32_t> owner_{0};  // fork_generation() of the process that owns the file; stored last
    std::atomic<ThreadWriter*> writers_{nullptr};
    std::atomic<std::uint32_t> slot_count_{0};
    system::ForkSafeLock lock_;  // held while a forked child's file is made

    ClockReading start_clocks_;
    std::atomic<std::uint64_t> ticks_per_second_{0};  // the rate as measured so far; a forked child starts with its
                                                      // parent's value
    std::uint64_t short_ticks_ = 0;                   // mean duration, in ticks, below which calls count as short
    std::atomic<std::uint64_t> refine_at_{0};

    std::atomic<std::uint16_t> dropped_pins_{0};  // kept for the files of forked children, too

    // After open(), only facts_.pid and expanded_ change: begin_in_child() changes them, under the lock.
    const std::string name_;  // the absolute name, with placeholders
    ProcessFacts facts_;
    const StartEvent start_;
    const RecordingSettings settings_;
    const std::int64_t group_;
    char expanded_[path_capacity] = {};
};

}  // namespace fp32shim::record
