// From a recording to what it says: the CLI's side. format/format.hpp draws the file.
//
// Nothing is mapped and every byte is checked, so no file makes a reader crash, also one that changes or shrinks
// while it is read. What cannot be read becomes a Problem; the rest is still there.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"
#include "record/events.hpp"
#include "record/format/format.hpp"
#include "record/format/identity.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::record {

/// Whatever a file says: times are within 146 years of 1970, so that the difference of two has room in 64 bits.
inline constexpr std::int64_t farthest_time_ns = (std::int64_t{1} << 62) - 1;

/// Something in a file that is not as it should be.
struct Problem {
    std::uint64_t offset;  ///< bytes from the begin of the file
    std::string what;      ///< what was found, what was expected, and what of the file is left out because of it
};

enum class RecordingState : std::uint8_t {
    live,     ///< the process runs, and more may come
    ended,    ///< the process has ended, or was killed: a recording does not tell these apart, and loses nothing
    unknown,  ///< it ran on another machine, or where this process cannot see it
};
std::string_view to_string(RecordingState state);

/// What a recording says about its process. Settings are those at its start; later ones are in `changes()`.
struct RecordingFacts {
    std::uint32_t format_version = 0;
    ProcessFacts process;        ///< `start_ns`: when the settings were read, which is what `%t` stands for
    StartEvent start;            ///< version, policy and settings
    std::int64_t opened_ns = 0;  ///< when the recording begins: nanoseconds since 1970, UTC
    std::uint64_t ticks_per_second = 0;
    policy::OnFull on_full = policy::OnFull::drop;
    std::uint64_t max_size = 0;  ///< bytes
    std::uint64_t file_size = 0;
    format::Architecture architecture = format::Architecture::unknown;
    std::uint32_t flags = 0;      ///< format::flag_…: what went wrong or was left out
    std::int32_t last_error = 0;  ///< errno; 0: none
    ProcessIdentity identity;
    std::uint64_t opened_ticks = 0;   ///< `opened_ns`, as it was recorded: no other recording of the process has it
    std::uint64_t went_on_ticks = 0;  ///< `opened_ticks` of the one in which a reload had the process go on; 0: none

    /// Whether the process went on in `next` when it left this one, without a call between them.
    bool goes_on_in(const RecordingFacts& next) const {
        return went_on_ticks != 0 && went_on_ticks == next.opened_ticks && identity.start != 0 &&
               identity == next.identity;
    }
};

/// One distinct decision. `decision.host_ns` is -1.
struct RecordedRow {
    std::uint32_t id = 0;
    /// Its views are valid as long as it is itself, where the reader gave it. An enumeration may have a value that
    /// this version has no word for (to_string then gives an empty text): newer versions add some.
    DecisionEvent decision;
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< stands for calls whose own row found no room: nothing else in it means anything
};

/// Calls, and the time that they took on the host. On CUDA that is the time of the launch. Of short calls not all are
/// timed: then `total_ns` is an estimate, and the others are those of the timed ones.
struct RecordedCounters {
    std::uint64_t calls = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t shortest_ns = 0;  ///< 0 where there are no calls
    std::uint64_t longest_ns = 0;
    std::int64_t first_ns = 0;  ///< when the first call returned: nanoseconds since 1970, UTC
    std::int64_t last_ns = 0;   ///< when the last call returned
    std::uint64_t timed_calls = 0;
};

/// A slot is a thread's place in the file; a later thread goes on in the slot of one that has ended.
struct RecordedSlot {
    std::uint32_t slot = 0;         ///< below format::segment_limit, here and everywhere
    std::int32_t thread = 0;        ///< thread id that had it last
    std::uint64_t dropped = 0;      ///< events that found no room
    std::uint64_t overwritten = 0;  ///< its oldest events, that were given up for newer ones
};

/// One call.
struct RecordedEvent {
    std::int64_t end_ns = 0;        ///< when it returned: nanoseconds since 1970, UTC
    std::uint64_t duration_ns = 0;  ///< on the host; where the call was not timed: the mean of its row
    bool is_timed = true;
    std::uint32_t row = 0;  ///< RecordedRow::id
    std::uint32_t slot = 0;
    std::int32_t thread = 0;  ///< 0: unknown
    std::uint64_t ticks = 0;  ///< `end_ns`, as it was recorded: rises within a slot, and never equal there

    std::int64_t begin_ns() const {
        const auto most = static_cast<std::uint64_t>(end_ns + farthest_time_ns);
        return end_ns - static_cast<std::int64_t>(std::min(duration_ns, most));
    }
};

/// A change of the process's settings while it ran.
struct RecordedChange {
    std::int64_t time_ns = 0;  ///< since 1970, UTC
    format::ChangeKind kind = format::ChangeKind::none;
    format::ChangeOrigin origin = format::ChangeOrigin::program;
    bool was_done = false;                       ///< false: refused, `message` says why
    std::int32_t requester = 0;                  ///< process id of the command; 0: the program itself
    std::optional<policy::Precision> precision;  ///< set_precision; absent: back to environment and files
    policy::Floor floor = policy::Floor::none;   ///< set_floor
    std::string policy_name;                     ///< reload: of the policy from then on; empty: it has none
    std::string policy_revision;
    std::string policy_sha256;
    std::optional<format::ReloadedSettings> settings;  ///< reload: those from then on; absent: not known
    std::string message;
};

/// A program or library that was loaded.
struct RecordedObject {
    std::string path;                    ///< as the loader had it
    std::vector<std::uint8_t> build_id;  ///< its first 20 bytes; empty: it has none
    std::int64_t first_seen_ns = 0;      ///< when it was noted: nanoseconds since 1970, UTC
    bool is_bound_past = false;          ///< a product that it calls is known to have gone past the shim
};

/// What the process had loaded, as far as that is known.
struct RecordedObjects {
    std::vector<RecordedObject> all;
    /// What was loaded after that is not known, unless the program ended by `exit`. 0: nobody looked.
    std::int64_t looked_at_ns = 0;
    bool until_exit = false;       ///< the program ended by `exit`, and objects were looked at then
    bool are_missing = false;      ///< there were more, for which there was no room
    bool had_lookup_past = false;  ///< dlsym gave the program a product's address past the shim
};

/// A program that was started although it would not be seen.
struct RecordedChild {
    std::string path;         ///< as it was started; where it begins with `…`, its begin is missing
    std::string folder;       ///< in which it was, where the path is relative; empty: not known
    std::string interpreter;  ///< of a script; empty: it is none
    WhyUnseen why = WhyUnseen::seen;
    std::uint32_t count = 0;
    std::int32_t pid = 0;       ///< of the process that became it, or started it, for the first time
    std::int64_t first_ns = 0;  ///< since 1970, UTC
    std::int64_t last_ns = 0;
};

class EventCursor;
class RecordingBytes;
class RecordingContents;

/// Calls of the level `calls`, one after the other. For one thread; the reader outlives it, and must not be
/// refreshed.
class RecordedEvents {
  public:
    ~RecordedEvents();
    RecordedEvents(RecordedEvents&&) noexcept;
    RecordedEvents& operator=(RecordedEvents&&) noexcept;

    /// Nothing: that was the last one.
    std::optional<RecordedEvent> next();

  private:
    friend class RecordingReader;
    struct Slot;
    RecordedEvents(RecordingContents& contents, std::optional<std::uint32_t> slot,
                   const std::vector<std::uint64_t>& after);

    RecordingContents* contents_;
    std::vector<Slot> slots_;  ///< that have more; a heap, the earliest in front
};

/// An open recording. For one thread; several readers of one file do not disturb each other, nor its writer. Memory:
/// 64 bytes for each row that has calls, some 50 for each segment, and what was read last of rows and texts.
class RecordingReader {
  public:
    struct Opened {
        std::unique_ptr<RecordingReader> reader;  ///< nullptr: nothing can be read, `error` says why
        std::string error;  ///< what was found, at which offset, and what to do; without the file's name
    };
    /// Opens a file and reads facts, counters and changes. A newer format gives a reader with facts and a problem; a
    /// corrupt or cut file one with everything that is whole, and problems. What is in holes of the file is not read.
    static Opened open(const std::string& path);
    /// The same, of a file that is already open for reading; takes the descriptor, also where it fails.
    static Opened open_descriptor(int descriptor);

    ~RecordingReader();
    RecordingReader(const RecordingReader&) = delete;
    RecordingReader& operator=(const RecordingReader&) = delete;

    /// Reads again what may have changed, for live views. Views and references given before become invalid. Returns
    /// false, and leaves everything as it was, where the file cannot be read any more.
    bool refresh();
    /// Until the next reading, gives back the descriptor (not of open_descriptor()) and memory that only saves time.
    void rest();

    const RecordingFacts& facts() const;
    /// As of now: asks the kernel for the process.
    RecordingState state() const;
    /// What is wrong with the file, as far as it was read, in the order of offsets; at most 100. Reading rows, events
    /// and objects adds to it.
    const std::vector<Problem>& problems() const;

    /// nullptr: there is no such row. Valid until the next call.
    const RecordedRow* row(std::uint32_t id) const;
    /// The format that its calls ran at, as RecordedRow::decision has it, read without its texts; nothing: not known.
    std::optional<policy::Applied> format_of_row(std::uint32_t id) const;
    /// Published rows, by rising id, until `visitor` returns false. Ids may be missing, two rows may say the same,
    /// and a row may have no calls.
    void visit_rows(const std::function<bool(const RecordedRow&)>& visitor) const;
    struct RowCounters {
        std::uint32_t row = 0;
        RecordedCounters counters;
    };
    /// Each is made as it is looked at.
    class CountersView {
      public:
        class Iterator {
          public:
            Iterator(const CountersView& view, std::size_t place) : view_(&view), place_(place) {}
            RowCounters operator*() const { return (*view_)[place_]; }
            Iterator& operator++() {
                ++place_;
                return *this;
            }
            bool operator==(const Iterator& other) const { return place_ == other.place_; }

          private:
            const CountersView* view_;
            std::size_t place_;
        };
        explicit CountersView(const RecordingContents& contents) : contents_(contents) {}
        std::size_t size() const;
        bool empty() const { return size() == 0; }
        RowCounters operator[](std::size_t place) const;
        Iterator begin() const { return {*this, 0}; }
        Iterator end() const { return {*this, size()}; }

      private:
        const RecordingContents& contents_;
    };
    /// Summed over slots, for every row that has calls, by rising id. There may be no such row where the file is
    /// corrupt.
    CountersView counters() const;
    const std::vector<RecordedSlot>& slots() const;
    /// The newest, the oldest of them first.
    const std::vector<RecordedChange>& changes() const;
    /// Changes before those: a recording has room for format::change_limit.
    std::uint32_t lost_changes() const;
    const RecordedObjects& objects() const;
    /// Children that were not seen, and how many more there were for which there was no room.
    const std::vector<RecordedChild>& children() const;
    std::uint32_t missed_children() const;

    /// Calls that are counted, also those under no row.
    std::uint64_t total_calls() const;
    /// Calls for which there was no room even under the overflow row: not in counters().
    std::uint64_t uncounted_calls() const;
    /// Events that found no room, and events that were overwritten by later ones.
    std::uint64_t dropped_events() const;
    std::uint64_t overwritten_events() const;
    /// Events that there are at most, from segment headers.
    std::uint64_t event_count() const;

    /// In the order in which they returned; from `slot` only, or merged from all. Events with `ticks` <= `after` of
    /// their slot are left out: to follow a live recording, refresh() and go on after the last ones seen (`after` is
    /// indexed by slot; a slot beyond its end has 0). Segments are read as they are needed: 4 KiB per slot at a time.
    RecordedEvents events(std::optional<std::uint32_t> slot = std::nullopt,
                          const std::vector<std::uint64_t>& after = {});
    /// The same; `visitor` returns false to end it.
    using EventVisitor = std::function<bool(const RecordedEvent&)>;
    void visit_events(const EventVisitor& visitor, std::optional<std::uint32_t> slot = std::nullopt,
                      const std::vector<std::uint64_t>& after = {});

    /// When the processor's counter stood at `ticks`: nanoseconds since 1970, UTC.
    std::int64_t realtime_of(std::uint64_t ticks) const;

  private:
    explicit RecordingReader(std::unique_ptr<RecordingBytes> bytes);
    static Opened read(int descriptor, const std::string& path);

    std::unique_ptr<RecordingBytes> bytes_;
    std::unique_ptr<RecordingContents> contents_;
};

}  // namespace fp32shim::record
