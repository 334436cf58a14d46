// Reads recordings, for the command fp32shim. A drawing of the file is at the top of format/format.hpp.
//
// The reader does not map the file, and checks every byte. So no file can crash it, not even a file that changes or
// shrinks while it is read. A part of the file that cannot be read is reported as a FileProblem, and the other parts
// remain readable.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"
#include "record/audit.hpp"
#include "record/environment.hpp"
#include "record/events.hpp"
#include "record/fingerprint.hpp"
#include "record/format/format.hpp"
#include "record/format/identity.hpp"
#include "record/process_facts.hpp"
#include "record/read/call_record_cursor.hpp"
#include "record/read/event_cursor.hpp"
#include "record/read/row_reader.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// Limit of the times that a reader returns, 146 years before and after 1970. The difference of any two times within
/// the limit fits into 64 bits.
inline constexpr std::int64_t farthest_time_ns = (std::int64_t{1} << 62) - 1;

enum class RecordingState : std::uint8_t {
    live,     ///< the process runs and may record more
    ended,    ///< the process has ended normally or was killed; the recording does not tell which
    unknown,  ///< the process ran on another machine, or in a namespace that cannot be seen from here
};
std::string_view to_string(RecordingState state);

/// Facts about a recording's process. The settings are those at the start; RecordingReader::changes() has later
/// settings.
struct RecordingFacts {
    std::uint32_t format_version = 0;
    ProcessFacts process;  ///< facts about the process; `start_ns` is the time when the settings were read, which
                           ///< replaces `%t` in a log's path
    StartEvent start;      ///< version, policy and settings at the start
    std::int64_t opened_ns = 0;  ///< start of the recording: nanoseconds since 1970, UTC
    std::uint64_t ticks_per_second = 0;
    policy::OnFull on_full = policy::OnFull::drop;
    std::uint64_t max_size = 0;  ///< limit of the file's size, in bytes
    std::uint64_t file_size = 0;
    format::Architecture architecture = format::Architecture::unknown;
    std::uint32_t flags = 0;      ///< failures, omissions and settings: bits format::flag_…
    std::int32_t last_error = 0;  ///< errno of the last refusal of disk space or a write; 0: none
    std::uint16_t processor = 0;  ///< processor features, encoded as in record/processor.hpp; 0: not known
    std::int64_t user = -1;       ///< real user id; -1: not recorded
    ProcessIdentity identity;
    PythonReaderState python = PythonReaderState::unused;  ///< state of the reader of Python's stacks
    std::uint64_t opened_ticks = 0;                        ///< the time `opened_ns` in ticks; no two recordings of
                                                           ///< one process have the same
    std::uint64_t went_on_ticks = 0;                       ///< `opened_ticks` of the recording in which the process
                                                           ///< continued after a reload; 0: there is none

    std::int64_t process_start_ns = 0;  ///< start of the process with an error of 10 ms, if the machine never slept:
                                        ///< nanoseconds since 1970, UTC; 0: unknown
    std::int64_t exited_ns = 0;  ///< time when the program called `exit` or `_exit`; 0: it called neither, or it was
                                 ///< recording into another file then

    /// Returns the time from the start of the process to its end, or 0 if the time is unknown.
    std::int64_t wall_ns() const {
        return process_start_ns == 0 || exited_ns <= process_start_ns ? 0 : exited_ns - process_start_ns;
    }
    /// Returns true if a reload made the process continue in the recording `next`.
    bool continues_in(const RecordingFacts& next) const {
        return went_on_ticks != 0 && went_on_ticks == next.opened_ticks && identity.start != 0 &&
               identity == next.identity;
    }
};

/// Number and times of the calls with one decision (row) in a recording. The time of a call on CUDA ends when its
/// kernels are launched. If some calls are untimed, `total_ns` is an estimate, and `shortest_ns` and `longest_ns`
/// cover the timed calls only.
struct RecordedCounters {
    std::uint64_t calls = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t shortest_ns = 0;  ///< duration of the shortest timed call; 0: there are no calls
    std::uint64_t longest_ns = 0;
    std::int64_t first_ns = 0;  ///< time at which the first call returned: nanoseconds since 1970, UTC
    std::int64_t last_ns = 0;   ///< time at which the last call returned: nanoseconds since 1970, UTC; short untimed
                                ///< calls may have followed
    std::uint64_t timed_calls = 0;
    std::uint64_t gpu_samples = 0;      ///< number of calls whose time on the GPU was measured
    std::uint64_t gpu_calls = 0;        ///< number of all calls, measured or not, in rows that have a measured call
    std::uint64_t gpu_ns = 0;           ///< estimate of the time on the GPU of all `gpu_calls`
    std::uint64_t gpu_shortest_ns = 0;  ///< shortest measured time on the GPU
    std::uint64_t gpu_longest_ns = 0;
};

/// One call. Single calls are recorded only at the log level `calls`.
struct RecordedEvent {
    std::int64_t end_ns = 0;        ///< time at which the call returned: nanoseconds since 1970, UTC
    std::uint64_t duration_ns = 0;  ///< duration on the host; if untimed, the mean duration of the calls in its row
    bool is_timed = true;
    std::uint32_t row = 0;  ///< number of the row: RecordedRow::id
    std::uint32_t slot = 0;
    std::int32_t thread = 0;  ///< id of the calling thread; 0: unknown
    std::uint64_t ticks = 0;  ///< time that the file has for the event, in ticks: the end of a timed call, or the
                              ///< begin of an untimed call; it rises within a slot

    std::int64_t begin_ns() const {
        const auto most = static_cast<std::uint64_t>(end_ns + farthest_time_ns);
        return end_ns - static_cast<std::int64_t>(std::min(duration_ns, most));
    }
};

/// One audited call.
struct RecordedAudit {
    std::uint32_t row = 0;    ///< number of the row: RecordedRow::id
    std::int64_t end_ns = 0;  ///< time at which the call returned: nanoseconds since 1970, UTC
    std::uint32_t slot = 0;
    Audit audit;
};

/// The fingerprint of one call's result.
struct RecordedFingerprint {
    std::uint32_t row = 0;     ///< number of the row: RecordedRow::id
    std::int64_t end_ns = 0;   ///< time at which the call returned: nanoseconds since 1970, UTC
    std::uint32_t number = 0;  ///< number, from 0, among the thread's fingerprints; missing numbers belong to lost
                               ///< fingerprints
    std::int32_t thread = 0;   ///< id of the calling thread
    std::uint64_t offset = 0;  ///< offset in the file, for read_fingerprints()
    Fingerprint fingerprint;
    std::optional<OperandHashes> operands;  ///< hashes of the operands; absent: they were not recorded, or the file
                                            ///< had no space for them
};

/// A change of the process's settings while it ran.
struct RecordedSettingsChange {
    std::int64_t time_ns = 0;  ///< time of the change: nanoseconds since 1970, UTC
    format::SettingsChangeKind kind = format::SettingsChangeKind::none;
    format::SettingsChangeOrigin origin = format::SettingsChangeOrigin::program;
    bool was_done = false;                       ///< false: the change was refused; `message` says why
    std::int32_t requester = 0;                  ///< process id of the `fp32shim` command; 0: the program itself made
                                                 ///< the change
    std::optional<policy::Precision> precision;  ///< new precision; absent: environment variables and policy files
                                                 ///< decide again
    policy::Floor floor = policy::Floor::none;   ///< floor that the program set by set_floor of the C API
    std::string policy_name;                     ///< name of the policy after a reload; empty: the policy has no name
    std::string policy_revision;
    std::string policy_sha256;
    std::string floor_exception;  ///< names of the exceptions that lowered the policy's floor after a reload; empty:
                                  ///< no exception did
    std::optional<format::ReloadedSettings> settings;  ///< settings after a reload; absent: unknown
    std::string message;
};

/// A program or library that was loaded into the recorded process.
struct RecordedObject {
    std::string path;                    ///< path that the loader had for the object
    std::vector<std::uint8_t> build_id;  ///< first 20 bytes of the build id; empty: the file has no build id
    std::int64_t first_seen_ns = 0;      ///< time when the shim first noticed the object: nanoseconds since 1970, UTC
    std::uint32_t flags = 0;             ///< what is known about the object: bits format::object_…
    format::FileState file{};            ///< facts about the file when the object was entered

    bool has_flag(std::uint32_t bit) const { return (flags & bit) != 0; }
};

/// The programs and libraries that a process had loaded. The list may be incomplete.
struct RecordedObjectList {
    std::vector<RecordedObject> all;
    /// Time when all loaded files were most recently listed; 0: never. Files that were loaded later are unknown,
    /// unless `until_exit` is true.
    std::int64_t looked_at_ns = 0;
    bool until_exit = false;       ///< true: loaded files were listed once more when the program called `exit`
    bool are_missing = false;      ///< some loaded files could not be listed
    bool had_lookup_past = false;  ///< dlsym gave the program a library's own function, so its calls bypass the shim
    bool ask_onednn = false;       ///< each oneDNN that read ONEDNN_VERBOSE was told to print its executions
                                   ///< (format::object_tells)
    bool ask_kernels = false;      ///< the kernels that the process launched on GPUs are recorded
    bool kernels_missed = false;   ///< some launched kernels may not be recorded
};

/// A program that was started without the shim, either by this process or by a process of the same `fp32shim run`
/// that has no recording.
struct RecordedChild {
    std::string path;         ///< path of the program; a `…` at its start replaces a beginning that was too long
    std::string folder;       ///< current folder when the program was started, if `path` is relative; empty: unknown
    std::string interpreter;  ///< interpreter of a script; empty: the program is not a script
    WhyUnseen why_unseen = WhyUnseen::seen;
    bool has_own_libraries = false;  ///< the child's environment names further libraries for the loader, or folders
                                     ///< in which the loader looks for libraries
    std::uint32_t count = 0;
    std::int32_t pid = 0;       ///< id of the first process that started the program or became it by exec
    std::int64_t first_ns = 0;  ///< time of the first start: nanoseconds since 1970, UTC
    std::int64_t last_ns = 0;
};

/// A fact about the process's environment. A fact whose value changed is in the list once for each value, in the
/// order of the changes.
struct RecordedEnvironmentFact {
    EnvironmentFact fact = EnvironmentFact::none;
    std::string subject;  ///< library or device that the fact is about; empty: the fact is about the process
    std::string value;
};

/// A rule of the policy that was in force last.
struct RecordedRule {
    std::string name;
    std::string file;  ///< path of the policy file
    std::uint32_t line = 0;
    bool is_used = false;  ///< the rule has decided a call
};

/// A process that belonged to a `fp32shim run` and ended without a recording.
struct UnrecordedProcess {
    std::string program;     ///< path of the program; empty: unknown
    std::uint16_t pins = 0;  ///< environment variables that `run --pin` sets and the process had: ProcessFacts::pins
    std::uint16_t processor = 0;  ///< processor features, encoded as in record/processor.hpp; 0: not known
    std::int64_t noted_ns = 0;    ///< time when the first process with the same loaded files ended: nanoseconds since
                                  ///< 1970, UTC
    bool has_changed_log = false;  ///< the process multiplied matrices after it had changed the name of its log or
                                   ///< had switched the shim off
    RecordedObjectList objects;
};

class RecordingReader;

/// Iterates over single calls, which exist only at the log level `calls`. Only one thread may use a cursor. The
/// reader must outlive the cursor, and must not read the file again (read_again()) while the cursor is in use.
class MergedEventCursor {
  public:
    /// Returns the next call, or nullopt after the last call.
    std::optional<RecordedEvent> next();

  private:
    friend class RecordingReader;
    struct Slot {
        std::unique_ptr<EventCursor> cursor;
        EventCursor::Event next;

        bool operator<(const Slot& other) const;  // a slot with an earlier next call is greater, because a heap
                                                  // begins with the greatest
    };
    MergedEventCursor(const RecordingReader& reader, const std::vector<std::uint64_t>& after);

    const RecordingReader* reader_;
    std::vector<Slot> slots_;  ///< slots that have more calls; a heap whose first element is the slot with the
                               ///< earliest next call
};

/// Iterates over the fingerprints of one slot. Only one thread may use a cursor. The reader must outlive the cursor,
/// and must not read the file again (read_again()) while the cursor is in use.
class FingerprintCursor {
  public:
    /// Returns the next fingerprint, in the order of the calls, or nullopt after the last one.
    std::optional<RecordedFingerprint> next();

  private:
    friend class RecordingReader;
    FingerprintCursor(const RecordingReader& reader, CallRecordCursor<format::FingerprintRecord> cursor,
                      CallRecordCursor<format::OperandsRecord> operands)
        : reader_(&reader), cursor_(std::move(cursor)), operands_(std::move(operands)) {}
    /// Returns the operand hashes of the call whose fingerprint is `entry`, or nullptr if the file has none. The
    /// result is valid until the next call of operands_of().
    const format::OperandsRecord* operands_of(const format::FingerprintRecord& entry);

    const RecordingReader* reader_;
    CallRecordCursor<format::FingerprintRecord> cursor_;
    CallRecordCursor<format::OperandsRecord> operands_;
    const format::OperandsRecord* next_operands_ = nullptr;  // the record that operands_of() has read, but not yet
                                                             // compared with a fingerprint; nullptr: none
    bool has_more_operands_ = true;
};

/// An open recording. Only one thread may use a reader. Several readers of one file disturb neither each other nor
/// the writer. A reader needs 64 bytes of memory for each row with calls, some 50 bytes for each segment, and memory
/// for a cache of rows and texts.
class RecordingReader {
  public:
    struct OpenResult {
        std::unique_ptr<RecordingReader> reader;  ///< nullptr: the file cannot be read; `error` says why
        std::string error;  ///< message with the finding, the offset and the remedy, but without the file's name
    };
    /// Opens the file at `path` and reads facts, counters and changes of settings. If the file has a newer format,
    /// reads only the facts and reports a problem. If the file is corrupt or truncated, reads all its complete parts.
    /// Skips holes in the file.
    static OpenResult open(const std::string& path);
    /// Opens a recording by a readable descriptor. The function takes ownership of the descriptor, even on failure.
    /// `path` is used for opening the file again after close_until_next_read(). If `path` is empty,
    /// close_until_next_read() leaves the file open.
    static OpenResult open_descriptor(int descriptor, const std::string& path = {});

    /// Reads the file again, for live views. Earlier views and references become invalid. Returns false, and changes
    /// nothing, if the file can no longer be read.
    bool read_again();
    /// Frees caches, and closes the file until the next read. A file that was opened without a path stays open.
    void close_until_next_read();

    /// Leaves out the calls that are also in `earlier`, an earlier copy of the recording, with their events and
    /// audits. Fingerprints stay. If a row has calls in `earlier`, its shortest and longest call remain those of all
    /// its calls, and its `first_ns` becomes its `last_ns` in `earlier`. If `earlier` is not an earlier copy, changes
    /// nothing and returns the reason, as a text that continues after the copy's name; otherwise returns an empty
    /// text. Must be called at most once, and read_again() must not be called afterwards.
    std::string subtract_earlier_copy(const RecordingReader& earlier);

    const RecordingFacts& facts() const { return facts_; }
    /// Returns the state of the recorded process. Each call asks the kernel.
    RecordingState state() const;
    /// Returns the problems found so far, at most 100, by rising offset. Reading rows, events and objects may add
    /// more.
    const std::vector<FileProblem>& problems() const;

    /// Returns the row with the number `id`, or nullptr if the file does not have the row. The result is valid until
    /// the next call of row().
    const RecordedRow* row(std::uint32_t id) const;
    /// Returns the frame of a call path with the id `id` (RecordedRow::stack, RecordedFrame::parent), or nullopt if
    /// the file does not have the frame.
    std::optional<RecordedFrame> frame(format::StringId id) const { return row_reader_->frame(id); }
    /// Returns the object that reads rows and their formats. Before rows are read, other names for locations and
    /// files can be set in it.
    RecordedRowReader& row_reader() const { return *row_reader_; }
    /// Visits the complete rows by rising id, until `visitor` returns false. Some ids may be missing, two rows may be
    /// equal, and a row may have no calls.
    void visit_rows(const std::function<bool(const RecordedRow&)>& visitor) const {
        row_reader_->visit_rows(visitor);
    }
    struct RowCounters {
        std::uint32_t row = 0;
        RecordedCounters counters;
    };
    /// A view of the counters of all rows with calls. Each entry is computed when it is accessed.
    struct CountersView {
        struct Iterator {
            RowCounters operator*() const { return (*view)[index]; }
            Iterator& operator++() {
                ++index;
                return *this;
            }
            bool operator==(const Iterator&) const = default;

            const CountersView* view;
            std::size_t index;
        };
        std::size_t size() const { return reader.counters_.size(); }
        bool empty() const { return size() == 0; }
        RowCounters operator[](std::size_t index) const { return reader.to_counters(reader.counters_[index]); }
        Iterator begin() const { return {this, 0}; }
        Iterator end() const { return {this, size()}; }

        const RecordingReader& reader;
    };
    /// Returns the counters of every row with calls, summed over slots, by rising row. In a corrupt file, row() may
    /// not find a row that has counters.
    CountersView counters() const { return {*this}; }
    /// Returns the number of slots. A slot is a part of the file that one thread writes to; after the thread has
    /// ended, another thread may use it.
    std::size_t slot_count() const { return slots_.size(); }
    /// Returns the newest changes of the process's settings. The oldest of them is the first element.
    const std::vector<RecordedSettingsChange>& changes() const { return changes_; }
    /// Returns the number of changes that are not in changes(). A recording keeps only the newest
    /// format::change_limit changes.
    std::uint32_t lost_changes() const { return lost_changes_; }
    /// Returns the programs and libraries that the process had loaded. The first call reads them from the file.
    const RecordedObjectList& objects() const;
    /// Returns the rules of the policy in the policy's order. Rules that a reload removed are left out.
    std::vector<RecordedRule> rules() const;
    /// Returns the programs that were started without the shim.
    const std::vector<RecordedChild>& children() const { return children_; }
    /// Returns the number of starts of programs without the shim that are not in children(), because the file had no
    /// space for them.
    std::uint32_t missed_children() const { return missed_children_; }
    /// Returns the facts about the process's environment. The list is empty if an older version of fp32shim made the
    /// recording.
    const std::vector<RecordedEnvironmentFact>& environment() const { return environment_; }

    /// Returns the processes that ended without a recording. Only the file for the children of a run lists them, by
    /// marks.
    const std::vector<UnrecordedProcess>& unrecorded_processes() const { return unrecorded_processes_; }
    /// Returns the number of processes that unrecorded_processes() lacks, because the file had no space for their
    /// marks, or the marks are incomplete or could not be made.
    std::uint32_t missed_unrecorded_processes() const { return missed_processes_; }

    /// Returns the number of calls, including calls without a row.
    std::uint64_t total_calls() const { return total_calls_; }
    /// Returns the number of calls that are in no counter, because there was no space even for a counter of the
    /// overflow row. counters() does not include these calls.
    std::uint64_t uncounted_calls() const { return uncounted_calls_; }
    /// Returns the number of events that the file had no space for.
    std::uint64_t dropped_events() const { return dropped_events_; }
    /// Returns the number of events that later events overwrote.
    std::uint64_t overwritten_events() const { return overwritten_events_; }
    /// Returns an upper bound for the number of events, computed from the headers of segments.
    std::uint64_t event_count() const;

    /// Returns a cursor that iterates over calls in the order of their return. Leaves out the events of a slot with
    /// `ticks` up to `after[slot]`; of slots beyond the end of `after`, it leaves out none. A caller follows a live
    /// recording by calling read_again() and then passing the `ticks` of the newest event that it saw in each slot.
    /// The cursor reads 4 KiB per slot at a time.
    MergedEventCursor events(const std::vector<std::uint64_t>& after = {}) const { return {*this, after}; }
    /// Visits all events in the order of events().
    void visit_events(const std::function<void(const RecordedEvent&)>& visitor) const;

    /// Visits the audits, and also the records of the first products that made or received NaN or infinity
    /// (is_about_nonfinite()). The slots are visited one after the other, and each slot in the order of its calls.
    void visit_audits(const std::function<void(const RecordedAudit&)>& visitor) const;
    /// Returns the number of calls whose results were searched for NaN and infinity. Older versions of fp32shim did
    /// not count them, so the number is 0 in their files.
    std::uint64_t calls_searched_for_nonfinite() const { return searched_calls_; }
    /// Returns the number of audits that the file had no space for.
    std::uint64_t lost_audits() const { return lost_audits_; }

    /// Returns the numbers of the slots that have fingerprints, in rising order.
    std::vector<std::uint32_t> slots_with_fingerprints() const;
    FingerprintCursor fingerprints(std::uint32_t slot) const;
    /// Reads consecutive fingerprints of one segment into `entries`, from `offset` on, which is a
    /// RecordedFingerprint::offset. Returns the number of fingerprints that were read. If `entries` is longer than
    /// the rest of the segment, the further entries have no meaning.
    std::size_t read_fingerprints(std::uint64_t offset, std::span<format::FingerprintRecord> entries) const;
    /// Returns the number of fingerprints that the file had no space for.
    std::uint64_t lost_fingerprints() const { return lost_fingerprints_; }

    /// Converts ticks of the processor's counter to nanoseconds since 1970, UTC.
    std::int64_t realtime_of(std::uint64_t ticks) const;

  private:
    friend class MergedEventCursor;
    friend class FingerprintCursor;
    explicit RecordingReader(std::shared_ptr<RecordingByteReader> bytes);
    RecordingReader& operator=(RecordingReader&&) = default;

    std::string read_file();
    void read_facts(const format::Header& header, std::size_t header_bytes);
    std::string header_text(const format::Header& header, const format::TextRange& range, std::size_t header_bytes);
    std::string header_text(const format::Header& header, format::HeaderText which, std::size_t header_bytes);
    std::string variable_name(const format::Header& header, format::HeaderText which, std::size_t header_bytes);
    void read_ticks_per_second(const format::Header& header);
    void read_segments(const format::Header& header);
    void read_counters(const std::vector<IndexedSegment>& segments);
    bool add_counters(const IndexedSegment& segment, std::uint32_t first,
                      std::vector<std::uint32_t>& counters_by_row);
    void read_gpu_times(const std::vector<IndexedSegment>& segments);
    void read_rings(const std::vector<IndexedSegment>& rings);
    void check_completeness(std::uint32_t whole, std::uint32_t in_use);
    void arrange_events(const std::vector<IndexedSegment>& full_rings);
    void drop_misordered_segments(SlotEventPlaces& events);
    void count_missing_events(const SlotEventPlaces& events);
    void read_changes(const format::Header& header);
    RecordedSettingsChange to_recorded_change(const format::SettingsChangeRecord& record, std::uint64_t offset);
    void read_children(const format::Header& header);
    void read_environment(const format::Header& header);
    void read_marks(const format::Header& header);

    std::uint64_t duration_ns(std::uint64_t ticks) const;
    const format::CounterRecord* counters_of(std::uint32_t row) const;
    RowCounters to_counters(const format::CounterRecord& record) const;
    void add_gpu_times(RowCounters& result) const;
    RecordedEvent to_event(const EventCursor::Event& event, std::uint32_t slot) const;

    // The next three objects are on the heap, because `row_reader_` refers to `bytes_` and `problems_`, and its
    // references must stay valid when the reader is moved.
    std::shared_ptr<RecordingByteReader> bytes_;
    std::unique_ptr<ProblemList> problems_;
    std::unique_ptr<RecordedRowReader> row_reader_;

    RecordingFacts facts_;
    std::int64_t start_realtime_ns_ = 0;
    std::vector<format::CounterRecord> counters_;               // counters of each row in all slots; sorted by row
    std::map<std::uint32_t, format::GpuTimeRecord> gpu_times_;  // times of each row in all slots
    std::set<std::uint32_t> slots_;
    std::map<std::uint32_t, SlotEventPlaces> events_;  // places of events, indexed by slot
    std::vector<RecordedSettingsChange> changes_;
    std::vector<RecordedChild> children_;
    std::vector<RecordedEnvironmentFact> environment_;
    std::vector<UnrecordedProcess> unrecorded_processes_;
    std::vector<IndexedSegment> audit_segments_;        // segments sorted by slot, then by sequence
    std::vector<IndexedSegment> operand_segments_;      // segments sorted by slot, then by sequence
    std::vector<IndexedSegment> fingerprint_segments_;  // segments sorted by slot, then by sequence
    std::vector<IndexedSegment> rule_segments_;
    mutable std::vector<IndexedSegment> object_segments_;  // segments that objects() has not yet read
    mutable RecordedObjectList objects_;
    std::uint64_t total_calls_ = 0, uncounted_calls_ = 0, dropped_events_ = 0, overwritten_events_ = 0,
                  lost_audits_ = 0, searched_calls_ = 0;
    std::uint64_t lost_fingerprints_ = 0;
    std::map<std::uint32_t, std::uint64_t> left_out_events_;  // for each slot, leaves out events up to this time
    std::map<std::uint32_t, std::uint64_t> left_out_audits_;  // for each slot, the number of audits to leave out
    std::uint32_t lost_changes_ = 0, missed_children_ = 0, missed_processes_ = 0;
};

}  // namespace fp32shim::record
