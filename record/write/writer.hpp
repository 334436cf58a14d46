// Writes a recording, if `FP32_MATMUL_LOG` names a `.fp32rec` file. Each call is counted in the mapped file. At the
// log level `calls`, an event is added for each call. A drawing of the file is at the top of format/format.hpp. The
// code of a caller looks like this:
//
//     Recording* recording;    // there is one per process, which is never destroyed
//     ThreadWriter* writer;    // each thread gets one by attach_thread(); detach_thread() takes it back
//
//     if (recording->has_command()) …              // calls control()->receive_command() and control()->answer()
//     const std::uint64_t begin = ticks();
//     …                                            // runs the product
//     recording->count(*writer, key, begin, ticks(), every_call, [&](DecisionEvent& decision) { … });
//
// The part of count() that runs in each call is in count_call.hpp. It makes plain stores to memory of its own thread
// only. It takes no lock, allocates nothing, makes no system call, and touches no cache line that another thread
// writes. Rare cases, such as a decision that is new to the thread, a full ring or a forked child, are handled out of
// line by raw system calls, and without malloc.
//
// After a fork, the child sees the pages of its ThreadWriters zeroed. So the child's first count() finds no counters,
// takes the slow path and makes a file of its own, and calls need no check for a fork. The parent's segments are not
// mapped in the child, so the child cannot write into them. The parent's header stays mapped, for has_command(),
// until the child has its own header. While a thread is inside count(), a handler of a signal must not fork if the
// child returns from the handler.
//
// A signal handler that multiplies while its thread is inside count() uses another slot for its call. A handler may
// leave count() by siglongjmp; the next call detects that the earlier use of the slot has ended
// (system/reentrancy.hpp). Signals are held while tables, files and mappings are changed, so that a handler never
// sees them half changed.
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
    const StartEvent* start = nullptr;           ///< settings that environment variables and policy files give; the
                                                 ///< object is never destroyed
    std::optional<policy::Precision> precision;  ///< precision that is requested for the whole process; absent: none
                                                 ///< is requested
    policy::Floor floor = policy::Floor::none;   ///< floor that is requested for the whole process
};

struct RecordingSettings {
    std::uint64_t max_size = 1ULL << 30;  ///< limit of the file's size, in bytes; at least smallest_recording
    policy::OnFull on_full = policy::OnFull::drop;
    std::uint32_t mode = 0600;  ///< permission bits of the file, whatever the umask
    std::string group;  ///< name (in /etc/group) or number of the group that the file is given to; empty: the group
                        ///< is not changed
    std::uint32_t row_limit = format::row_limit;  ///< largest number of rows in the file; only tests set a smaller
                                                  ///< number
    /// Lists the loaded files in the recording (Recording::objects()). It is called when the file is new, for each
    /// new row, and for each full ring, perhaps by several threads at the same time. So it does not run in most calls
    /// of a product.
    void (*record_loaded_objects)(Recording&) = nullptr;
    /// Returns the settings that are in force now. It is called when a forked child begins its own file, because
    /// settings may have changed after open(). It must not allocate. nullptr means that settings never change.
    SettingsInForce (*settings_in_force)() = nullptr;
    /// Returns the facts by which a new recording finds the list that it should enter. It must not allocate. nullptr
    /// means that recordings enter no list.
    FamilyFacts (*process_family)() = nullptr;
};
inline constexpr std::uint64_t smallest_recording = 16 * format::segment_size;

/// Number of calls with one decision (row) that a thread times at first. They are all timed, because first calls take
/// longer than later ones.
inline constexpr std::uint64_t timed_at_first = 16;
/// The calls with one decision (row) are short if their mean duration is below 2 microseconds, so that
/// short_calls_per_second of them fit into a second.
inline constexpr std::uint64_t short_calls_per_second = 500'000;

/// Returns the number of untimed calls before the next timed call, if `timed` calls were timed so far. The number
/// varies from 32 to 95. If it were fixed, always the same call of a loop might be timed.
constexpr std::uint32_t untimed_calls_in_between(std::uint64_t timed) {
    return 32 + static_cast<std::uint32_t>(system::table_index(timed, 6));
}

/// A timed call of up to 250 ns never counts as interrupted (outlier_factor), because the clock's own steps and
/// jitter are as large. This limit is 2 µs, the limit for short calls, divided by jitter_part.
inline constexpr std::uint64_t jitter_part = 8;

/// An open recording. Threads may use it until the process ends. Each forked child records into a file of its own. If
/// the name has `%p`, it is replaced by the child's process id; otherwise a number before the extension distinguishes
/// the files.
class Recording {
  public:
    struct OpenResult {
        Recording* recording = nullptr;  ///< the recording, made by operator new; nullptr: nothing is recorded
        std::string error;               ///< one line with the cause of the failure and a remedy
    };
    /// Expands `name` (log_path.hpp) and makes the file, with O_EXCL. If a file with this name exists, the name of
    /// the new file gets a number before its extension, such as `.1`. Allocates memory.
    static OpenResult open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                           const RecordingSettings& settings);

    /// Closes the file. Its mapped parts stay mapped. Only tests destroy a recording, when no thread uses it any
    /// more.
    ~Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Returns a new writer, or a writer of a thread that has ended, for the calling thread. Returns nullptr if there
    /// is no memory. Signals must be held during the call and until its result is stored. Thread-safe, lock-free,
    /// async-signal-safe.
    ThreadWriter* attach_thread();
    /// Takes the writer of an ending thread back, so that a later thread can use it. Signals must be held during the
    /// call. Thread-safe, lock-free.
    void detach_thread(ThreadWriter* writer);

    static constexpr std::uint64_t not_timed = 0;  ///< value of `begin` in count() for a call that was not timed
    /// Counts one call. If there is no space for counters, the call is counted in Header::uncounted_calls. `writer`
    /// is the calling thread's own writer. `key` is a Hash of all values that distinguish rows (call site, sizes,
    /// decision, result) and is never 0; two decisions with the same key would be counted as one. `begin` and `end`
    /// are ticks() before and after the call, or not_timed and a time near the call. If `with_event` is true, also
    /// adds an event. `describe(DecisionEvent&)` fills in the decision without `host_ns`; it is called only if the
    /// thread's table does not have the key. The function is async-signal-safe if `describe` is, and leaves errno
    /// alone.
    template <class Describe>
    void count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end, bool with_event,
               Describe&& describe);

    /// Counts a call that is about to be made, without timing it. Reading the clock twice costs more than all other
    /// work of counting a call, so only about one in 64 short calls is timed. If `with_event` is true, also adds an
    /// event at the present time, with unknown duration. Returns false, and does nothing, if the call has to be
    /// timed, if its key is new to the thread, or if there is no space for the event; the caller then uses count().
    /// `writer` is the calling thread's own writer. The function calls no other function and uses no vector
    /// registers. Precondition: !with_event or !counter_traps.
    [[gnu::always_inline]] bool count_untimed(ThreadWriter& writer, std::uint64_t key, bool with_event) const;
    /// Adds the audit of a call that count() has counted with the key `key`. `time` is the `end` that was passed to
    /// count(). `writer` is the calling thread's own writer. If there is no space, the audit is counted as lost.
    /// Async-signal-safe.
    void add_audit(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Audit& audit);
    /// Adds the fingerprint of a call's result. The other arguments are the same as those of add_audit().
    void add_fingerprint(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const Fingerprint& fingerprint);
    /// Adds hashes of the operands of a call, and Fingerprint::rows of its result. This must be called after
    /// add_fingerprint() for the same call. The other arguments are the same as those of add_audit().
    void add_operands(ThreadWriter& writer, std::uint64_t key, std::uint64_t time, const OperandHashes& hashes,
                      std::uint32_t rows);
    /// Counts a call whose result was searched for NaN and infinity.
    void count_nonfinite_search();
    /// Counts a call about which nothing else can be recorded, because there is no memory or disk space.
    void count_lost_call(bool with_event);
    /// Returns true if the thread's table has the key, in which case count() does not call `describe`.
    static bool knows_key(ThreadWriter& writer, std::uint64_t key);
    /// Facts about the calls that a thread has counted with one key.
    struct CallsOfKey {
        bool is_known = false;   ///< the thread's table has the key, so count() will not call `describe`
        bool times_next = true;  ///< the next call has to be timed
        std::uint32_t row = 0;
        std::uint64_t calls = 0;
    };
    CallsOfKey calls_of_key(ThreadWriter& writer, std::uint64_t key) const;
    /// Adds the time that a call took on a GPU. `writer` has counted the call in the row `row`. `is_first` is true if
    /// it was the first call that the writer's slot counted in this row. If there is no space, the time is dropped.
    /// Only one thread at a time may call this for a writer.
    void add_gpu_time(ThreadWriter& writer, std::uint32_t row, std::uint64_t nanoseconds, bool is_first);

    /// Returns true if `fp32shim set` or `fp32shim reload` has written a command that no thread has taken yet. Makes
    /// two loads from memory that changes only when there is a command.
    bool has_command() const { return control_.has_command(*header()); }
    /// Returns the object that handles commands and changes of settings in this process's file, or nullptr if the
    /// process has no file. Thread-safe.
    RecordingControl* control() { return ensure_own_file() ? &control_ : nullptr; }
    /// Reads the decision of the call that `writer` counted most recently in this process's file. Returns false if
    /// `writer` has counted no call, or if the call has no row of its own. Sets `has_sizes` to true if the row has
    /// the sizes of the call, and to false if they are rounded up. The texts lie in the mapped file, which stays
    /// mapped. The time of the function grows with the number of texts in the file.
    bool last_decision(ThreadWriter& writer, DecisionEvent& decision, bool& has_sizes);
    /// Returns the list of facts about the process's environment, or nullptr if the process has no file. Thread-safe.
    EnvironmentFactList* environment() { return ensure_own_file() ? &environment_ : nullptr; }
    /// Returns the list of loaded programs and libraries in this process's file, or nullptr if the process has no
    /// file. Thread-safe.
    LoadedFileList* objects() { return ensure_own_file() ? &objects_ : nullptr; }

    /// Records that `rules` are in force after a reload. This must be called before `rules` decide a call. Has no
    /// effect in a forked child without a file of its own, because its file will begin with the rules that are in
    /// force when it is made.
    void record_rules(std::span<const policy::Rule> rules) {
        if (is_of_this_process()) rules_.update_rules(rules);
    }

    /// Records the start of a program without the shim, or the failure of such a start. A forked child without a file
    /// of its own uses the parent's file. Returns false if there is no file. Async-signal-safe, also after vfork.
    bool record_child(const UnseenChild& child, ChildEvent event) const;
    /// Records that there is a file for children, which `fp32shim verify` has to read, too. Precondition:
    /// is_of_this_process().
    void mark_children_file() { file_.set_flag(format::flag_children_file); }
    /// Records that the process continues in the recording `next`, or in no recording if `next` is nullptr. After
    /// that, no command is sent to the process through this recording. Has no effect in a forked child without a file
    /// of its own. Thread-safe.
    void mark_continued_in(const Recording* next);
    /// Returns true if this process already has a file of its own. A forked child has no file before its first call.
    bool is_of_this_process() const;
    /// Returns true if the file belongs to the process with the id `process`. A child of vfork shares its parent's
    /// memory, so the result is false for the child's own id.
    bool is_of_process(std::int32_t process) const { return is_of_this_process() && header()->pid == process; }
    /// Returns true if `stamp` is the stamp with which the loaded objects were listed most recently
    /// (LoadedFileList::stamp()), in a forked child perhaps by its parent.
    bool has_recorded_objects(std::uint64_t stamp) const { return objects_.stamp() == stamp; }
    /// Records that the program called `exit` or `_exit`. This must be called after the loaded objects were listed.
    /// Precondition: is_of_this_process().
    void record_exit();

    /// Records that some variables of `run --pin` are set but have no effect in this process. `pins` has the bits of
    /// these variables, such as pin_onednn. Thread-safe.
    void withdraw_pins(std::uint16_t pins);

    /// Records that some kernels that were launched on GPUs may not be in the recording. Thread-safe.
    void mark_kernels_missed();

    /// Records the state of the reader of Python's stacks. Has no effect in a forked child without a file of its own.
    void record_python_state(PythonReaderState state);

    /// Returns the rate of ticks() in ticks per second, from the newest measurement.
    std::uint64_t ticks_rate() const { return ticks_per_second_.load(std::memory_order_relaxed); }

    /// Returns the path of this process's file, or an empty text if the process has no file.
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
    // The next three functions are defined in after_fork.cpp.
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
    system::ForkSafeLock lock_;  // `lock_` is held while the file of a forked child is made

    ClockReading start_clocks_;
    std::atomic<std::uint64_t> ticks_per_second_{0};  // rate of ticks() from the newest measurement; a forked child
                                                      // begins with its parent's value
    std::uint64_t short_ticks_ = 0;                   // limit of the mean duration of short calls, in ticks
    std::atomic<std::uint64_t> refine_at_{0};

    std::atomic<std::uint16_t> dropped_pins_{0};  // bits that withdraw_pins() has removed; the files of forked
                                                  // children lack them, too

    // After open(), only `facts_.pid` and `expanded_` of the following members change. begin_in_child() changes them
    // while it holds `lock_`.
    const std::string name_;  // the absolute path with its placeholders
    ProcessFacts facts_;
    const StartEvent start_;
    const RecordingSettings settings_;
    const std::int64_t group_;
    char expanded_[path_capacity] = {};
};

}  // namespace fp32shim::record
