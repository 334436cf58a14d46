// The last step of a call, where `FP32_MATMUL_LOG` names a `.fp32rec` file: one call counted in the mapped recording,
// and, with the level `calls`, one event. format/format.hpp draws the file.
//
//     Recording* recording        one per process, kept for ever
//     ThreadWriter* writer        one per thread: recording->attach(), and detach(writer) when the thread ends
//
//     if (recording->has_command()) …              take_command, act on it, answer
//     const std::uint64_t begin = ticks();
//     …                                            the product
//     recording->count(*writer, key, begin, ticks(), every_call, [&](DecisionEvent& decision) { … });
//
// count() makes plain stores to memory of its own thread only: no lock, no allocation, no system call, no cache line
// that another thread writes. All else (a decision that is new to the thread, a ring that is full, a forked child) is
// out of line, in raw system calls, and never allocates from malloc.
//
// fork: a ThreadWriter lies on pages that a forked child sees zeroed. So the child's first count() finds nothing,
// comes to the slow way, and makes a file of its own; there is no check to pay for in each call. The parent's
// segments are not mapped in the child at all, so that it cannot write into them. Its header is, for has_command(),
// until the child has one. What is not supported: a signal handler that forks while its thread is inside count(), and
// whose child then returns from that handler.
//
// Signals: a handler that multiplies while its own thread is inside count() uses another slot for that call.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/policy.hpp"
#include "record/events.hpp"
#include "record/format/clock.hpp"
#include "record/format/format.hpp"
#include "record/log_path.hpp"
#include "record/process_facts.hpp"
#include "record/write/changes.hpp"
#include "record/write/children.hpp"
#include "record/write/file.hpp"
#include "record/write/objects.hpp"
#include "record/write/rows.hpp"
#include "record/write/thread_writer.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

class Recording;

/// What is in force in this process. `start` is kept for ever.
struct InForce {
    const StartEvent* start = nullptr;           ///< what environment and policy files say
    std::optional<policy::Precision> precision;  ///< asked of the whole process; absent: what `start` says
    policy::Floor floor = policy::Floor::none;   ///< the same
};

struct RecordingSettings {
    std::uint64_t max_size = 1ULL << 30;  ///< bytes, of the whole file; at least smallest_recording
    policy::OnFull on_full = policy::OnFull::drop;
    std::uint32_t mode = 0600;  ///< permission bits of the file, whatever the umask
    std::string group;          ///< name (in /etc/group) or number of the group that gets the file; empty: none
    std::uint32_t row_limit = format::row_limit;  ///< rows of the file; fewer in tests only
    /// Notes what is loaded (note_object, note_objects_complete). Asked when the file is new, with each new row and
    /// each full ring, on whatever thread that is; may come on several at once. Never for a call whose row is known.
    void (*look_at_objects)(Recording&) = nullptr;
    /// Asked by a forked child when it begins its own file, since its ancestor's settings may have been changed after
    /// open(). Must not allocate. nullptr: they never are.
    InForce (*settings_in_force)() = nullptr;
};
inline constexpr std::uint64_t smallest_recording = 16 * format::segment_size;

/// Short: less than 2 microseconds in the mean. The first calls of a row are all timed: they differ from the later
/// ones.
inline constexpr std::uint64_t timed_at_first = 16;
inline constexpr std::uint64_t short_calls_per_second = 500'000;

/// After how many untimed calls the next one is timed: 32 to 95, since a program that repeats some calls of one size
/// would otherwise have always the same one of them timed. `timed`: how many were so far.
constexpr std::uint32_t untimed_in_a_row(std::uint64_t timed) {
    return 32 + static_cast<std::uint32_t>(timed * 0x9e3779b97f4a7c15U >> 58);
}

/// Untimed calls never count as shorter than a timed one that took less than this part of a short one (250 ns):
/// there the counter's own steps and jitter are as large as what is measured.
inline constexpr std::uint64_t jitter_part = 8;

/// An open recording. Threads may use it until the process ends; forked children go on with it, each in a file of its
/// own: where the name has `%p`, by that, else with a suffix.
class Recording {
  public:
    struct Opened {
        Recording* recording = nullptr;  ///< from operator new; nullptr: nothing is recorded
        std::string error;               ///< one line: what is wrong, and what to do
    };
    /// Expands `name` (log_path.hpp) and makes the file, with O_EXCL: where there is one of that name, with `.1`,
    /// `.2`, … before the extension. Allocates.
    static Opened open(std::string_view name, const ProcessFacts& facts, const StartEvent& start,
                       const RecordingSettings& settings);

    /// For tests: closes the file; what is mapped stays mapped. No thread uses the recording any more.
    ~Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// A writer for the calling thread: one that another thread has left, or a new one. nullptr: no memory.
    /// Thread-safe, lock-free, async-signal-safe.
    ThreadWriter* attach();
    /// Gives a writer back, when its thread ends. It may be used no more. Thread-safe, lock-free.
    void detach(ThreadWriter* writer);

    /// Counts one call. `key`: a Hash of whatever tells its decision apart (call site, sizes, what was decided and
    /// done); never 0. Two decisions of one key are counted as one, so everything that is in a row has to go in, or
    /// has to follow from what does. `begin`, `end`: ticks() before
    /// and after it, or not_timed and some time close to it. `with_event`: one event as well.
    /// `describe(DecisionEvent&)` fills in the decision; it is asked only where the thread does not know the key, and
    /// `host_ns` is not looked at. Never fails: what finds no room is counted as that. `writer` is the calling
    /// thread's own. Async-signal-safe if `describe` is; leaves errno alone.
    static constexpr std::uint64_t not_timed = 0;
    template <class Describe>
    void count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end, bool with_event,
               Describe&& describe);

    /// Reading the clock twice costs more than all else that is done for a call. So of a row's short calls one in
    /// some 64 is timed, and stands for all. This counts one of the others, before it is made; with_event: as an
    /// event at the present time, whose duration is not known. False where it has to be timed, where the thread does
    /// not know the key, or has no room for an event: then nothing was done, and the call is for count(). Calls
    /// nothing, and uses no vector registers. `writer`: as for count().
    [[gnu::always_inline]] bool count_untimed(ThreadWriter& writer, std::uint64_t key, bool with_event) const;
    /// Counts a call of which nothing else can be known, for want of memory.
    void note_uncounted(bool with_event);
    /// Whether count() will not ask for the decision.
    static bool knows(ThreadWriter& writer, std::uint64_t key);
    /// Whether a call of a key that the thread knows has to be timed.
    bool times_next(ThreadWriter& writer, std::uint64_t key) const;

    /// Returns true if `fp32shim set` or `reload` have written a command that nobody has taken yet. Costs two loads,
    /// of words that nobody stores to otherwise.
    bool has_command() const { return changes_.has_command(*header()); }
    /// Returns the commands and changes of this process's file; nullptr: it has none. Thread-safe.
    RecordingChanges* changes() { return ensure_own_file() ? &changes_ : nullptr; }
    /// Returns the loaded objects of this process's file; nullptr: it has none. Thread-safe.
    RecordingObjects* objects() { return ensure_own_file() ? &objects_ : nullptr; }

    /// Notes a program that is about to be started and will not be seen: also in a forked child, which then notes it
    /// in its parent's file as long as it has none. False: there is no file. Async-signal-safe, also after vfork.
    bool note_child(const UnseenChild& child, ChildEvent event) const;
    /// Notes that the process records elsewhere from now on, or no more (nullptr): commands that come through this
    /// recording would not be seen. Of no effect in a forked child that has no file yet. Thread-safe.
    void note_left(const Recording* next);
    /// Whether this process has a file already. A forked child has none before its first call.
    bool is_of_this_process() const;
    /// Notes that the program ends by `exit`, once its objects are noted. Precondition: is_of_this_process().
    void note_exit();

    /// The file that this process writes; empty where it has none (a forked child that could not make one).
    std::string path();

  private:
    Recording(std::string name, const ProcessFacts& facts, const StartEvent& start, const RecordingSettings& settings,
              std::int64_t group);
    format::Header* header() const { return file_.header(); }

    static format::CounterRecord* counters_of(ThreadWriter& writer, std::uint64_t key);
    [[gnu::always_inline]] bool has_to_be_timed(format::CounterRecord& counters) const;
    std::uint64_t longest_for_others(const format::CounterRecord& counters) const;
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
    void count_slowly(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                      bool with_event, const DecisionEvent& decision);
    void count_beside(ThreadWriter& interrupted, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                      bool with_event, const DecisionEvent& decision);
    bool find_room_for_events(ThreadWriter& writer);
    bool make_room_for_events(ThreadWriter& writer);
    void look_at_objects();

    RecordingFile file_;
    RecordingRows rows_{file_};
    RecordingChanges changes_{file_, rows_};
    RecordingObjects objects_{file_, rows_, facts_.executable};

    std::atomic<std::uint32_t> owner_{0};  // this_process() that all this belongs to; stored last
    std::atomic<ThreadWriter*> writers_{nullptr};
    std::atomic<std::uint32_t> slot_count_{0};
    system::ForkSafeLock lock_;  // for making the file of a forked child

    ClockPoint started_;
    std::atomic<std::uint64_t> ticks_per_second_{0};  // as far as it is known: a forked child begins with it
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

// ---- details -----------------------------------------------------------------------------------------------------

/// As how long the untimed calls before a timed one may count. The mean that it depends on is without the longest
/// call; beyond one interruption it still follows the calls where they become longer for good.
inline std::uint64_t Recording::longest_for_others(const format::CounterRecord& counters) const {
    const std::uint64_t known = counters.calls - counters.untimed;
    const std::uint64_t others = counters.total - counters.longest;
    const std::uint64_t most = known > 1 ? format::outlier_factor * others / (known - 1) : 0;
    return most > short_ticks_ / jitter_part ? most : short_ticks_ / jitter_part;
}

inline void Recording::add_call(format::CounterRecord& counters, std::uint64_t begin, std::uint64_t end) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::atomic_ref calls(counters.calls), total(counters.total), shortest(counters.shortest),
        longest(counters.longest), last(counters.last), timed(counters.timed);
    const std::atomic_ref untimed(counters.untimed);
    if (begin == not_timed) {
        untimed.store(untimed.load(relaxed) + 1, relaxed);
    } else {
        const std::uint64_t duration = end > begin ? end - begin : 0;
        std::uint64_t sum = total.load(relaxed) + duration;
        if (const std::uint64_t before = untimed.load(relaxed); before != 0) {
            const std::uint64_t most = longest_for_others(counters);
            sum += before * (duration < most ? duration : most);
            untimed.store(0, relaxed);
        }
        total.store(sum, relaxed);
        timed.store(timed.load(relaxed) + 1, relaxed);
        if (duration < shortest.load(relaxed)) shortest.store(duration, relaxed);
        if (duration > longest.load(relaxed)) longest.store(duration, relaxed);
    }
    last.store(end, relaxed);
    calls.store(calls.load(relaxed) + 1, std::memory_order_release);
}

inline void Recording::add_event(ThreadWriter& writer, const format::CounterRecord& counters, std::uint64_t begin,
                                 std::uint64_t end) {
    if (!writer.has_place_for_event() && !make_room_for_events(writer)) return;
    const std::uint64_t duration = begin == not_timed ? format::untimed : end > begin ? end - begin : 1;
    writer.put_event(end, format::make_duration_row(duration, counters.row_plus_one - 1));
}

template <class Describe>
void Recording::count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                      bool with_event, Describe&& describe) {
    // Out of line, so that the common case needs no stack for a decision.
    const auto count_described = [&](auto slowly) __attribute__((noinline, cold)) {
        DecisionEvent decision;
        describe(decision);
        (this->*slowly)(writer, key, begin, end, with_event, decision);
    };
    if (writer.is_busy_.load(std::memory_order_relaxed)) [[unlikely]]
        return count_described(&Recording::count_beside);
    writer.is_busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (format::CounterRecord* counters = writer.find_counters(key)) [[likely]] {
        add_call(*counters, begin, end);
        if (with_event) add_event(writer, *counters, begin, end);
        if (end >= refine_at_.load(std::memory_order_relaxed)) [[unlikely]]
            refine_ticks_per_second(end);
    } else {
        count_described(&Recording::count_slowly);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    writer.is_busy_.store(false, std::memory_order_relaxed);
}

/// The counters of a key; nullptr: it is not known, or a signal handler asks that has interrupted somebody who looks.
inline format::CounterRecord* Recording::counters_of(ThreadWriter& writer, std::uint64_t key) {
    if (writer.is_busy_.load(std::memory_order_relaxed)) return nullptr;
    writer.is_busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    format::CounterRecord* const counters = writer.find_counters(key);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    writer.is_busy_.store(false, std::memory_order_relaxed);
    return counters;
}

inline bool Recording::knows(ThreadWriter& writer, std::uint64_t key) { return counters_of(writer, key) != nullptr; }

[[gnu::always_inline]] inline bool Recording::has_to_be_timed(format::CounterRecord& counters) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::uint64_t timed = std::atomic_ref(counters.timed).load(relaxed);
    if (timed < timed_at_first || std::atomic_ref(counters.untimed).load(relaxed) >= untimed_in_a_row(timed))
        return true;
    // Without the longest, which was likely interrupted.
    const std::uint64_t total = std::atomic_ref(counters.total).load(relaxed);
    return total - std::atomic_ref(counters.longest).load(relaxed) >=
           short_ticks_ * std::atomic_ref(counters.calls).load(relaxed);
}

inline bool Recording::times_next(ThreadWriter& writer, std::uint64_t key) const {
    format::CounterRecord* const counters = counters_of(writer, key);
    return counters == nullptr || has_to_be_timed(*counters);
}

[[gnu::always_inline]] inline bool Recording::count_untimed(ThreadWriter& writer, std::uint64_t key,
                                                            bool with_event) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (writer.is_busy_.load(relaxed)) return false;
    writer.is_busy_.store(true, relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    bool is_counted = false;
    if (format::CounterRecord* const known = writer.find_counters(key)) {
        format::CounterRecord& counters = *known;
        const std::atomic_ref calls(counters.calls);
        const std::atomic_ref untimed(counters.untimed);
        const bool has_room = !with_event || writer.has_place_for_event();
        if (!has_to_be_timed(counters) && (has_room || writer.drops_events())) [[likely]] {
            untimed.store(untimed.load(relaxed) + 1, relaxed);
            calls.store(calls.load(relaxed) + 1, std::memory_order_release);
            if (!has_room) [[unlikely]]
                writer.drop_event();
            else if (with_event)
                writer.put_event(ticks(), format::make_duration_row(format::untimed, counters.row_plus_one - 1));
            is_counted = true;
        }
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    writer.is_busy_.store(false, relaxed);
    return is_counted;
}

}  // namespace fp32shim::record
