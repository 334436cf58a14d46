// The bytes of a recording, `NAME.fp32rec`, which the writer maps and the reader copies. docs/recording-format.md
// describes them in words, with a hexdump.
//
//     file      | 0: header | 1: segment | 2: segment | 3: segment | …            each 64 KiB
//
//     segment   | SegmentHeader 64 bytes | entries of one kind                      |
//               kind   strings   texts, each | size + 1 : u32 | bytes | padding to a multiple of 16 bytes |
//                      rows      682 RowRecords of 96 bytes: one per distinct decision
//                      counters  1023 CounterRecords of 64 bytes, all of one slot
//                      ring      4092 EventRecords of 16 bytes, all of one slot: the slot's newest events
//                      events    4092 EventRecords of 16 bytes, all of one slot: a copy of its ring when it was full
//                      objects   1364 ObjectRecords of 48 bytes: one per loaded program or library
//                      audits    682 AuditRecords of 96 bytes, all of one slot: one per audited call
//                      fingerprints  221 FingerprintRecords of 296 bytes, all of one slot: one per fingerprinted call
//                      rules     2046 RuleRecords of 32 bytes: one per rule of the policy
//
//     event     63                                                              0
//               | time: ticks at which the call returned; rises within a slot    |   stored last
//               | duration: ticks, 44 bits                   | row: 20 bits      |
//
//     string id 31                       12 11          0
//               | sequence of its segment  | offset / 16 |                           0: no text
//
// All integers are in the byte order of the machine that wrote (`byte_order` says which). Times are ticks of the
// processor's counter (format/clock.hpp); the header has the facts to convert them to nanoseconds.
//
// Each entry is published by a single store with release order, after all of its other bytes are written. The fields
// stored last are: `magic`, `kind`, `RowRecord::published`, a text's size, `CounterRecord::row_plus_one` and `calls`,
// `EventRecord::time`, `ObjectRecord::published`, `AuditRecord::time`, `FingerprintRecord::time`,
// `OperandsRecord::time`, `RuleRecord::published`, `ChildRecord::state`, `ListedRecording::published`,
// `EnvironmentRecord::fact`. Before that store the field reads as zero, or as its earlier value. The file of a
// running or killed process therefore holds whole entries only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"
#include "policy/precision.hpp"
#include "record/environment.hpp"
#include "record/events.hpp"
#include "record/fingerprint.hpp"
#include "record/format/file_state.hpp"
#include "record/why_unseen.hpp"
#include "system/hash.hpp"

namespace fp32shim::record::format {

/// Version of the format. It grows when an older reader would misread the file. The first 4096 bytes of the header
/// keep their meaning in all versions.
inline constexpr std::uint32_t version = 1;

inline constexpr std::uint64_t magic = 0x0a43455232335046;  ///< "FP32REC\n" if the low byte comes first
inline constexpr std::uint32_t byte_order = 0x01020304;

inline constexpr std::size_t segment_size = 65536;
/// Largest number of segments of one file, which is then 256 GiB.
inline constexpr std::uint32_t segment_limit = 1U << 22;

enum class SegmentKind : std::uint32_t {
    unused,
    strings,
    rows,
    counters,
    ring,
    events,
    objects,
    audits,
    fingerprints,
    rules,
    operands,
    count_
};
inline constexpr auto segment_kind_count = static_cast<std::uint32_t>(SegmentKind::count_);

struct SegmentHeader {
    std::uint32_t kind;      ///< SegmentKind; stored last, and never changed after that
    std::uint32_t slot;      ///< number of the slot, a thread's part of the file; kinds strings, rows, objects: 0
    std::uint32_t sequence;  ///< position, from 0, among the segments of this kind (and of this slot if the segment
                             ///< has one)
    std::uint32_t count;     ///< number of events (kind events), or how often the ring has been full (kind ring)
    std::int32_t thread;     ///< id of the slot's thread: the present thread (counters, ring) or the thread of the
                             ///< first event (events)
    std::uint32_t reserved0;
    std::uint64_t first_time;  ///< time of the segment's first event, in ticks (kind events only)
    std::uint64_t last_time;   ///< time of the segment's last event, in ticks (kind events only)
    std::uint64_t dropped;     ///< number of the slot's events that found no space in the file (kind ring only)
    std::uint64_t reserved1[2];
};
static_assert(sizeof(SegmentHeader) == 64);

// ---- strings ------------------------------------------------------------------------------------------------------

/// Identifies a text by its segment of strings and its offset there (make_string_id()); 0: no text.
using StringId = std::uint32_t;
inline constexpr std::size_t string_alignment = 16;
/// Longest text in bytes. Longer texts are truncated and end in `…`.
inline constexpr std::size_t string_limit = 2048;

constexpr StringId make_string_id(std::uint32_t sequence, std::size_t offset) {
    return sequence << 12 | static_cast<std::uint32_t>(offset / string_alignment);
}
constexpr std::uint32_t sequence_of(StringId id) { return id >> 12; }
constexpr std::size_t offset_of(StringId id) { return (id & 0xfff) * string_alignment; }
static_assert(segment_size / string_alignment == 1 << 12);

// ---- rows ---------------------------------------------------------------------------------------------------------

/// Bits of a row's number. Numbers continue from segment to segment: row 682 is the first one of the second segment.
inline constexpr std::uint32_t row_bits = 20;
inline constexpr std::uint32_t row_limit = (1U << row_bits) - 1;
/// Row number that marks a change of thread instead of a call: the next events are another thread's. The duration
/// field then holds that thread's id.
inline constexpr std::uint32_t thread_change = row_limit;
/// Row of all calls for which the file had no space for a row of their own.
inline constexpr std::uint32_t overflow_row = 0;

inline constexpr std::uint32_t row_is_folded = 1;     ///< m, n, k and batch are rounded up to powers of two
inline constexpr std::uint32_t row_is_overflow = 2;   ///< the row is overflow_row; its other fields have no meaning
inline constexpr std::uint32_t row_stack_is_cut = 4;  ///< innermost frames of `stack` are left out, because rows were
                                                      ///< running out

inline constexpr std::uint8_t no_actual = 0xff;
inline constexpr std::int32_t no_status = INT32_MIN;

/// A decision: the fields of DecisionEvent (record/events.hpp) that all its calls share. Enumerations are stored as
/// numbers, which static_asserts at the end of this file fix.
struct RowContent {
    std::int64_t m;  ///< size in elements, as passed to the library; -1: the function has no such size
    std::int64_t n;
    std::int64_t k;
    std::int64_t batch;
    std::uint32_t flags;
    StringId function;
    StringId caller;
    StringId provider;
    StringId scope;
    StringId rule;
    StringId detail;
    std::int32_t device_index;        ///< CUDA ordinal of the device; -1 on the CPU
    std::int32_t compute_capability;  ///< GPU's compute capability as 10·major + minor; 0: unknown
    std::int32_t status;              ///< status that the function returned; no_status: the function returns none
    char trans_a;                     ///< 'N', 'T', 'C'; 0: the function has no such argument
    char trans_b;
    std::uint8_t dtype;      ///< element type: a policy::Dtype
    std::uint8_t device;     ///< CPU or GPU: a policy::Device
    std::uint8_t requested;  ///< precision that was asked for: a policy::Precision
    std::uint8_t applied;    ///< lowest format that the call was allowed to use, in the order of policy::Floor: a
                             ///< policy::Applied
    std::uint8_t actual;     ///< format that the library says it used: a policy::Applied; no_actual: the library does
                             ///< not say
    std::uint8_t how;        ///< way in which the product was executed: a record::How
    std::uint8_t source;     ///< source of `requested`: a policy::Source
    std::uint8_t reason;     ///< reason why the product did not run as asked: a policy::Reason
    std::uint8_t reserved[2];
    StringId where;  ///< line of the program that asked for the product
};
static_assert(sizeof(RowContent) == 88 && std::has_unique_object_representations_v<RowContent>);

struct RowRecord {
    RowContent content;
    std::uint32_t published;  ///< 1: the row is whole; stored last
    StringId stack;           ///< innermost frame of the call path, a FrameRecord; 0: not known
};
static_assert(sizeof(RowRecord) == 96);

// ---- call paths ---------------------------------------------------------------------------------------------------

/// A frame of a call path, stored in a segment of texts. Equal frames with the same parent share one record, so the
/// frames of all call paths form a tree.
struct FrameRecord {
    StringId parent;       ///< FrameRecord of the calling frame; 0: this is the outermost
    StringId file;         ///< path of the source file, or of the loaded program or library
    StringId function;     ///< name of the function; 0: a location in a program or library
    std::uint32_t line;    ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset;  ///< return address in a program or library, in bytes from its load address
};
static_assert(sizeof(FrameRecord) == 20);

// ---- counters -----------------------------------------------------------------------------------------------------

/// Limits the estimate for untimed calls. Each of them is assumed to last as long as the next timed call of its row,
/// but at most this many times the mean of all calls except the longest. So one interrupted call does not distort the
/// total.
inline constexpr std::uint64_t outlier_factor = 8;

/// Counters of the calls of one slot (thread) with one row (decision). `calls` is stored last, so a reader may see
/// the other fields one call ahead of it. `total` is an estimate: untimed calls are assumed to last as long as the
/// next timed call.
struct CounterRecord {
    std::uint64_t calls;
    std::uint64_t total;         ///< ticks spent in the calls; on CUDA, in their launches
    std::uint64_t shortest;      ///< duration of the shortest timed call, in ticks
    std::uint64_t longest;       ///< duration of the longest timed call, in ticks
    std::uint64_t first;         ///< time at which the first call returned, in ticks
    std::uint64_t last;          ///< time at which the last timed call returned, in ticks
    std::uint32_t row_plus_one;  ///< number of the row plus 1; 0: unused; stored after the other fields' first values
    std::uint32_t untimed;       ///< untimed calls since the last timed one; `total` does not yet contain them
    std::uint64_t timed;         ///< number of timed calls
};
static_assert(sizeof(CounterRecord) == 64);

// ---- events -------------------------------------------------------------------------------------------------------

struct EventRecord {
    std::uint64_t time;          ///< ticks at which the call returned, or began if untimed; 0: unused; stored last
    std::uint64_t duration_row;  ///< duration in ticks << 20 | number of the row
};
static_assert(sizeof(EventRecord) == 16);

/// Stands for an unknown duration. Most short calls are not timed.
inline constexpr std::uint64_t untimed = 0;
/// Largest duration in ticks that can be stored. Longer ones are stored as this one.
inline constexpr std::uint64_t longest_duration = (std::uint64_t{1} << 44) - 1;

constexpr std::uint64_t make_duration_row(std::uint64_t duration, std::uint32_t row) {
    return (duration < longest_duration ? duration : longest_duration) << row_bits | row;
}
constexpr std::uint32_t row_of(const EventRecord& event) {
    return static_cast<std::uint32_t>(event.duration_row) & ((1U << row_bits) - 1);
}
constexpr std::uint64_t duration_of(const EventRecord& event) { return event.duration_row >> row_bits; }

// ---- objects ------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t object_is_bound_past = 1;  ///< a product that the object calls bypasses the shim
inline constexpr std::uint32_t object_tells = 2;  ///< the object has oneDNN, each of whose executions is recorded
inline constexpr std::uint32_t object_is_silent =
    4;  ///< if the object has oneDNN, some executions may not be recorded
inline constexpr std::uint32_t object_asks_past = 8;  ///< the object's calls of getenv bypass the shim
inline constexpr std::size_t build_id_limit = 20;
/// Largest number of segments with objects. If they do not suffice, flag_objects_missed is set.
inline constexpr std::uint32_t object_segment_limit = 8;

/// A program or library that the loader mapped into the process and may have unmapped since. Path and build id tell
/// such files apart.
struct ObjectRecord {
    std::uint64_t first_seen;               ///< ticks at which the shim first noticed the object, some time after its
                                            ///< loading
    StringId path;                          ///< path by which the loader names it
    std::uint32_t flags;                    ///< bits object_is_…, which may also be set after publication
    std::uint8_t build_id_size;             ///< bytes of the build id; 0: the file has none
    std::uint8_t build_id[build_id_limit];  ///< first bytes of the build id
    FileState file;                         ///< facts about the file when it was noted; older writers left zeros
    std::uint32_t published;                ///< 1: the entry is whole; stored last
};
static_assert(sizeof(ObjectRecord) == 48 && offsetof(ObjectRecord, file) == 37);

// ---- audits -------------------------------------------------------------------------------------------------------

/// One audited call. record::Audit describes the values.
struct AuditRecord {
    std::uint64_t time;      ///< ticks at which the call returned; stored last
    std::uint32_t row;       ///< number of the call's row
    std::uint8_t tested;     ///< format of the tested result: a policy::AuditFormat
    std::uint8_t reference;  ///< format of the reference: a policy::AuditFormat
    std::uint8_t flags;      ///< flags of the audit: bits record::audit_…
    std::uint8_t notes;      ///< bits record::audit_noted …
    double norm;             ///< errors of the audit: see record::AuditErrors
    double max;
    double mean;
    double component;
    double row_error;
    double column_error;
    std::uint32_t worst_row;
    std::uint32_t worst_column;
    std::int16_t exponents[6];  ///< lowest and highest binary exponent of A, of B and of C; none: lowest > highest
    /// Of a record about NaN or infinity: number, from 0, of the product in its batch; the bits of the magnitudes of
    /// alpha and beta. Otherwise, as far as `notes` say: the bits of cancellation, fp32_error and tested_error.
    std::uint32_t further[3];
};
static_assert(sizeof(AuditRecord) == 96);

// ---- fingerprints -------------------------------------------------------------------------------------------------

/// Fingerprint of one call's result. record::Fingerprint describes the values.
struct FingerprintRecord {
    std::uint64_t time;    ///< ticks at which the call returned; stored last
    std::uint32_t row;     ///< number of the call's row
    std::uint32_t flags;   ///< flags of the fingerprint: bits record::fingerprint_…
    std::uint32_t number;  ///< number, from 0, among the thread's fingerprints; a gap means that fingerprints found
                           ///< no space
    std::int32_t thread;   ///< id of the calling thread
    std::uint64_t hash;
    double norm;
    double sketch[sketch_size];
};
static_assert(sizeof(FingerprintRecord) == 296);

/// Hashes of what a call with a fingerprint read. record::OperandHashes describes the values.
struct OperandsRecord {
    std::uint64_t time;    ///< as in the call's FingerprintRecord; stored last
    std::uint32_t row;     ///< number of the call's row
    std::uint32_t number;  ///< as in the call's FingerprintRecord
    std::int32_t thread;   ///< id of the calling thread
    std::uint32_t reserved;
    OperandHashes hashes;
};
static_assert(sizeof(OperandsRecord) == 56);

// ---- rules --------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t rule_is_used = 1;       ///< the rule has decided a call
inline constexpr std::uint32_t rule_is_withdrawn = 2;  ///< a reload has removed or changed the rule
/// Largest number of segments with rules. Rules beyond them, from policies changed by reloads, are not recorded.
inline constexpr std::uint32_t rule_segment_limit = 4;

/// A rule of the policy that was in force at the start of the recording or after a reload.
struct RuleRecord {
    StringId name;
    StringId file;            ///< path of the policy file
    std::uint32_t line;       ///< line in the policy file, from 1
    std::uint32_t flags;      ///< bits rule_is_…, which may also be set after publication
    std::uint64_t content;    ///< hash policy::Rule::content, which only the writer uses
    std::uint32_t published;  ///< 1: the entry is whole; stored last
    std::uint32_t reserved;
};
static_assert(sizeof(RuleRecord) == 32);

// ---- segments -----------------------------------------------------------------------------------------------------

/// A segment whose entries are all of one type.
template <class Entry>
struct Segment {
    static constexpr std::size_t capacity = (segment_size - sizeof(SegmentHeader)) / sizeof(Entry);
    SegmentHeader header;
    Entry entries[capacity];
};
/// Returns the offset of entry number `index` from the start of its segment, in bytes.
template <class Entry>
constexpr std::uint32_t offset_of_entry(std::uint32_t index) {
    return static_cast<std::uint32_t>(sizeof(SegmentHeader) + index * sizeof(Entry));
}
using RowSegment = Segment<RowRecord>;
using CounterSegment = Segment<CounterRecord>;
using EventSegment = Segment<EventRecord>;
using ObjectSegment = Segment<ObjectRecord>;
using AuditSegment = Segment<AuditRecord>;
using FingerprintSegment = Segment<FingerprintRecord>;
using RuleSegment = Segment<RuleRecord>;
using OperandsSegment = Segment<OperandsRecord>;
static_assert(sizeof(RowSegment) == segment_size && RowSegment::capacity == 682);
static_assert(sizeof(CounterSegment) == segment_size && CounterSegment::capacity == 1023);
static_assert(sizeof(EventSegment) == segment_size && EventSegment::capacity == 4092);
static_assert(sizeof(ObjectSegment) == segment_size && ObjectSegment::capacity == 1364);
static_assert(sizeof(AuditSegment) == segment_size && AuditSegment::capacity == 682);
static_assert(sizeof(FingerprintSegment) <= segment_size && FingerprintSegment::capacity == 221);
static_assert(sizeof(RuleSegment) == segment_size && RuleSegment::capacity == 2046);
static_assert(sizeof(OperandsSegment) <= segment_size && OperandsSegment::capacity == 1169);

// ---- header -------------------------------------------------------------------------------------------------------

enum class Architecture : std::uint8_t { unknown, x86_64, aarch64 };

/// Bits of Header::flags: failures and omissions. A bit that is set stays set.
inline constexpr std::uint32_t flag_file_full = 1;        ///< the file has reached its largest size
inline constexpr std::uint32_t flag_io_error = 2;         ///< the kernel refused space or a write; see `last_error`
inline constexpr std::uint32_t flag_rows_folded = 4;      ///< some rows have sizes rounded up to powers of two
                                                          ///< (row_is_folded)
inline constexpr std::uint32_t flag_rows_overflowed = 8;  ///< rows ran out of space; overflow_row counts the
                                                          ///< remaining calls
inline constexpr std::uint32_t flag_closed = 16;          ///< the program closed the file, and reopening it failed
inline constexpr std::uint32_t flag_lookup_past = 32;     ///< dlsym returned a library's own function, not the shim's
inline constexpr std::uint32_t flag_objects_missed = 64;  ///< some loaded objects are not in the file
inline constexpr std::uint32_t flag_left =
    128;  ///< the process continued in another file (reload, strict seccomp); see went_on_at
inline constexpr std::uint32_t flag_children_only = 256;  ///< the file only lists programs that ran without the shim
inline constexpr std::uint32_t flag_children_file = 512;  ///< there was such a file for the run when the process or
                                                          ///< the run ended
inline constexpr std::uint32_t flag_run_is_awaited = 1024;  ///< `fp32shim run` was to note the end of the run
inline constexpr std::uint32_t flag_asks_onednn = 2048;  ///< each oneDNN that asks how much to print is answered so
                                                         ///< that it tells its executions (object_tells)

/// Offset and size of one text in the header.
struct TextRange {
    std::uint32_t offset;  ///< bytes from the beginning of the header
    std::uint32_t size;
};

enum class Text : std::uint32_t {
    version,  ///< version of fp32shim
    host,
    job_id,
    job_id_from,
    rank_from,
    executable,
    command,
    policy_name,
    policy_revision,
    policy_sha256,
    count_
};
inline constexpr std::size_t text_count = static_cast<std::size_t>(Text::count_);

enum class CommandKind : std::uint8_t { none, set_precision, reload };
inline constexpr std::uint8_t no_precision = 0xf;  ///< no precision requested: environment and policy files decide
                                                   ///< again

/// A command of `fp32shim set` or `reload` in one word; 0: no command yet.
///
///     63           40 39    36 35       32 31                 0
///     | sequence    | kind   | precision | process id of the command |
struct CommandWord {
    std::uint64_t value;
    constexpr std::uint32_t sequence() const { return static_cast<std::uint32_t>(value >> 40); }
    constexpr CommandKind kind() const { return static_cast<CommandKind>(value >> 36 & 0xf); }
    constexpr std::uint8_t precision() const { return static_cast<std::uint8_t>(value >> 32 & 0xf); }
    constexpr std::int32_t requester() const { return static_cast<std::int32_t>(value); }
};
constexpr CommandWord make_command(std::uint32_t sequence, CommandKind kind, std::uint8_t precision,
                                   std::int32_t requester) {
    return {std::uint64_t{sequence & 0xffffff} << 40 | static_cast<std::uint64_t>(kind) << 36 |
            static_cast<std::uint64_t>(precision & 0xf) << 32 | static_cast<std::uint32_t>(requester)};
}

enum class CommandResult : std::uint32_t { none, done, refused };
inline constexpr std::size_t answer_limit = 432;

enum class ChangeKind : std::uint32_t { none, set_precision, reload, set_floor };
enum class ChangeOrigin : std::uint32_t {
    command,       ///< commands `fp32shim set` and `reload`
    program,       ///< the program itself, by the C API
    carried_over,  ///< no change: the setting was already in force when the recording began, after a fork or a move
                   ///< of the log
};

/// Settings from environment and policy files after a reload.
struct ReloadedSettings {
    policy::Precision default_precision = policy::Precision::native;
    policy::Floor floor = policy::Floor::none;
    policy::CpuMode cpu_mode = policy::CpuMode::off;
};

/// One change of the process's settings while it ran.
struct ChangeRecord {
    std::uint64_t time;      ///< time of the change, in ticks; stored last
    std::uint32_t kind;      ///< setting that was changed: a ChangeKind
    std::uint32_t origin;    ///< maker of the change: a ChangeOrigin
    std::uint32_t result;    ///< a CommandResult: `refused`, for example, if the policy to reload was wrong
    std::int32_t requester;  ///< process id of the `fp32shim` command; 0: the program itself made the change
    std::uint8_t precision;  ///< requested precision: a policy::Precision, or no_precision
    std::uint8_t floor;      ///< requested floor: a policy::Floor
    std::uint8_t reserved0[2];
    StringId policy_name;  ///< name of the policy after a reload
    StringId policy_revision;
    StringId policy_sha256;
    StringId message;
    // Valid after a reload. Older writers left zeros.
    std::uint8_t has_settings;       ///< 1: the next three fields are the settings after a reload
    std::uint8_t default_precision;  ///< default precision of policy and environment, a policy::Precision; `fp32shim
                                     ///< set` overrides it
    std::uint8_t settings_floor;     ///< floor of policy and environment, a policy::Floor; the C API can raise it
    std::uint8_t cpu_mode;           ///< treatment of products on the CPU: a policy::CpuMode
    std::uint32_t reserved1[4];
};
static_assert(sizeof(ChangeRecord) == 64 && offsetof(ChangeRecord, has_settings) == 44);
/// Number of changes that the header keeps. Change number i, from 0, is at index i % change_limit.
inline constexpr std::size_t change_limit = 256;

// ---- children -----------------------------------------------------------------------------------------------------

enum class ChildDetail : std::uint8_t { none, folder, interpreter };
inline constexpr std::size_t child_text_limit = 224;
inline constexpr std::size_t child_limit = 40;
inline constexpr std::uint32_t child_is_whole = 2;
/// Bit of ChildRecord::detail_kind: the loader was told of further libraries, or of folders for libraries.
inline constexpr std::uint8_t child_has_own_libraries = 128;

/// A program that ran without the shim. Either the recorded process started it, or, with flag_children_only, some
/// process without a recording did. Starts that differ only in time and in the starting process share one record.
struct ChildRecord {
    std::uint32_t state;       ///< 0 unused, 1 being written, child_is_whole; stored last
    std::uint32_t count;       ///< number of starts; 0: the kernel refused every one
    std::int64_t first_ns;     ///< time of the first start: nanoseconds since 1970, UTC
    std::int64_t last_ns;      ///< time of the last start: nanoseconds since 1970, UTC
    std::int32_t pid;          ///< process that started the program or became it by exec; the first, if there were
                               ///< several
    std::uint8_t why;          ///< reason why the program lacked the shim: a record::WhyUnseen
    std::uint8_t detail_kind;  ///< meaning of the detail that `text` holds: a ChildDetail, and
                               ///< child_has_own_libraries
    std::uint8_t path_size;    ///< bytes of the path in `text`; `…` at its start stands for a truncated beginning
    std::uint8_t detail_size;  ///< bytes of the detail, which follows the path in `text`
    char text[child_text_limit];
};
static_assert(sizeof(ChildRecord) == 256);

inline constexpr std::size_t listed_name_limit = 44;
inline constexpr std::size_t listed_limit = 31;

/// A recording of a child that the shim covered. The child enters itself once it has a recording.
struct ListedRecording {
    std::uint32_t published;      ///< 1: the entry is whole; stored last
    std::int32_t pid;             ///< process id of the child, in its own namespace
    std::uint64_t process_start;  ///< start of the child, as Header::process_start
    std::uint32_t name_size;
    char name[listed_name_limit];  ///< name of the recording's file; `…` at its start stands for a cut beginning
};
static_assert(sizeof(ListedRecording) == 64);

// ---- environment --------------------------------------------------------------------------------------------------

/// A fact about the process's environment. A fact whose value changes has a record for each of its values.
struct EnvironmentRecord {
    std::uint32_t fact;  ///< a record::EnvironmentFact; 0: unused; stored last
    StringId subject;    ///< library or device that the fact is about; 0: the process
    StringId value;
    std::uint32_t reserved;
};
static_assert(sizeof(EnvironmentRecord) == 16);
inline constexpr std::size_t environment_limit = 64;

// ---- marks --------------------------------------------------------------------------------------------------------

inline constexpr std::size_t mark_limit = 256;
inline constexpr std::uint32_t mark_lacks_files = 1;      ///< some loaded files found no space in the mark
inline constexpr std::uint32_t mark_has_lookup_past = 2;  ///< dlsym returned a library's own function, not the shim's
/// The process multiplied after it had changed where its log is to be, or had switched the shim off.
inline constexpr std::uint32_t mark_has_changed_log = 4;
inline constexpr std::uint32_t mark_asks_onednn = 8;  ///< as flag_asks_onednn

/// Marks list the loaded files of processes that ended without a recording. Processes with the same files and pins
/// share one mark. Marks are stored in the file for the children of a run; mark number i is in segment i + 1.
struct MarkSegment {
    std::uint32_t published;        ///< 1: the mark is whole; stored last
    std::uint32_t flags;            ///< flags of the mark: bits mark_…
    std::int64_t noted_ns;          ///< end of the first process that left this mark: nanoseconds since 1970, UTC
    std::uint16_t pins;             ///< variables of `run --pin`: see ProcessFacts::pins
    std::uint16_t processor;        ///< as Header::processor; older writers left zeros
    std::uint32_t layouts;          ///< number of the first files whose FileState::layout follows the files
    std::uint32_t count;            ///< number of files; the first is the program itself
    std::uint32_t size;             ///< number of bytes of the files in `files`
    char files[segment_size - 32];  ///< for each file: a MarkedFile, then its path, then its build id; then layouts
};
static_assert(sizeof(MarkSegment) == segment_size && offsetof(MarkSegment, files) == 32);

struct MarkedFile {
    std::uint16_t path_size;
    std::uint8_t build_id_size;
    std::uint8_t flags;  ///< flags of the file: bits object_…
};
static_assert(sizeof(MarkedFile) == 4);

// ---- end of a run -------------------------------------------------------------------------------------------------

/// Note of `fp32shim run` in each recording of a run whose program has ended.
struct RunEnd {
    std::int64_t ended_ns;     ///< time of this note: nanoseconds since 1970, UTC; 0: no note
    std::uint32_t running;     ///< number of other processes of the run that still ran
    std::uint32_t recordings;  ///< number of recordings of the run on this machine; 0: unknown
    std::uint64_t began;       ///< start of `fp32shim run`, as Header::process_start; 0: unknown
};
static_assert(sizeof(RunEnd) == 24);

/// The first segment of a file. Fields with different writers lie on different cache lines.
struct Header {
    // Offset 0. Written once, by the writer:
    std::uint64_t magic;  ///< format::magic; stored last, once the header is whole
    std::uint32_t version;
    std::uint32_t byte_order;
    std::uint32_t segment_size;
    std::int32_t pid;                 ///< process id in the process's own namespace
    std::int32_t forked_from;         ///< process id of the nearest ancestor that used the recording; 0: not forked
    std::int32_t rank;                ///< rank of the process in a parallel job; -1: unknown
    std::int64_t start_realtime_ns;   ///< start of the recording: nanoseconds since 1970, UTC
    std::int64_t start_monotonic_ns;  ///< start of the recording by CLOCK_MONOTONIC
    std::uint64_t start_ticks;        ///< start of the recording by the processor's counter
    std::uint64_t run;                ///< number of the `fp32shim run` that the process belongs to; 0: none
    // Offset 64. Identity of the process, and its settings at the start:
    std::uint64_t process_start;     ///< start of the process, in clock ticks after boot: field 22 of /proc/PID/stat
    std::uint64_t pid_namespace;     ///< inode of the process's PID namespace, /proc/PID/ns/pid
    std::uint8_t boot_id[16];        ///< id of this boot, from /proc/sys/kernel/random/boot_id
    std::uint64_t max_size;          ///< limit of the file's size, in bytes
    std::uint8_t architecture;       ///< processor family: an Architecture
    std::uint8_t default_precision;  ///< default precision at the start: a policy::Precision
    std::uint8_t floor;              ///< floor at the start: a policy::Floor
    std::uint8_t cpu_mode;           ///< treatment of products on the CPU: a policy::CpuMode
    std::uint8_t tf32_rounding;      ///< rounding to TF32 by emulation: a policy::Tf32Rounding
    std::uint8_t level;              ///< level of detail, summary or calls: a policy::LogLevel
    std::uint8_t on_full;            ///< treatment of events in a full file: a policy::OnFull
    std::uint8_t pins;               ///< low 8 bits of ProcessFacts::pins (set by `run --pin`); 0: not noted
    std::int64_t facts_ns;           ///< ProcessFacts::start_ns: the time that replaces %t in a log's name
    std::uint8_t more_pins;          ///< high 8 bits of ProcessFacts::pins
    std::uint8_t where;              ///< sources of a call's location in its program: a policy::WhereSet
    std::uint8_t native_frames;      ///< largest number of native callers in a call path; 0: the call site only
    std::uint8_t accumulation;       ///< how previews add products: a policy::Accumulation
    std::uint8_t rounds_at_random;   ///< 1: previews round operands at random
    std::uint8_t reserved_line1[3];
    // Offset 128. Places of the texts:
    TextRange texts[text_count];
    std::uint16_t processor;  ///< word of record/processor.hpp; its bits about the end of the process come last
    std::uint8_t reserved2[46];
    // Offset 256. Written whenever the file grows:
    std::uint32_t next_segment;  ///< number of the first segment that no thread has reserved yet
    std::uint32_t flags;
    std::uint64_t ticks_per_second;  ///< rate of the processor's counter; becomes more exact the longer the process
                                     ///< runs
    std::uint64_t uncounted_calls;   ///< number of calls for which no counters had space, not even those of
                                     ///< overflow_row
    std::uint64_t uncounted_events;  ///< number of events lost because their threads got no ring, for want of space
    std::int32_t last_error;         ///< errno of the last refusal of disk space or a write; 0: none
    std::uint32_t change_count;      ///< number of changes so far; the last change_limit are kept
    std::uint32_t segments_in_use;   ///< number of segments whose `kind` is stored, without the header
    std::uint8_t reserved3[20];
    // Offset 320. Written by `fp32shim set` and `reload`, read by each call:
    std::uint64_t command;  ///< the last CommandWord that was sent
    std::uint8_t reserved4[56];
    // Offset 384. The process's answer to a command:
    std::uint64_t answered;  ///< the last CommandWord that the process has obeyed or refused; stored last
    std::uint32_t answer;    ///< CommandResult of the command in `answered`
    std::uint32_t answer_size;
    char answer_text[answer_limit];
    std::uint8_t reserved5[64];
    // Offset 896. Written by the process:
    std::uint64_t objects_looked_at;  ///< ticks at which all loaded objects were last listed; 0: never
    std::uint64_t exited_at;   ///< ticks at which the program called `exit`, after its objects were listed; 0: it has
                               ///< not called it
    std::uint64_t went_on_at;  ///< `start_ticks` of the recording that followed at a reload (flag_left); 0: none
    // Offset 920. Children (ChildRecord), written by the process that starts them:
    std::uint32_t children_missed;  ///< number of starts without the shim that found no space in `children`
    // Offset 924. Written by the process:
    std::uint32_t python;  ///< state of the reader of Python's stacks: a record::PythonState
    // Offset 928. Losses:
    std::uint64_t lost_audits;        ///< number of audits that found no space
    std::uint64_t lost_fingerprints;  ///< number of fingerprints that found no space
    // Offset 944. Used in the file for the children of a run:
    std::uint32_t marks_missed;  ///< number of processes whose mark found no space or could not be made
    std::uint8_t reserved6[4];
    // Offset 952. Written by the process:
    std::uint64_t lost_operands;  ///< number of operand hashes that found no space
    // Offset 960. Written by `fp32shim run` at its end:
    RunEnd run_end;
    // Offset 984. Used in the file for the children of a run:
    std::uint32_t run_recordings;  ///< number of recordings that processes of the run have made
    std::uint8_t reserved7[1024 - 988];
    // Offset 1024. Written by the process as facts become known; older writers left zeros:
    EnvironmentRecord environment[environment_limit];
    // Offset 2048. Recordings of covered children, which these enter themselves; older writers left zeros:
    std::uint32_t listed_count;  ///< number of recordings that entered; entries of the first listed_limit are kept
    /// Number of processes that multiplied and could not make a recording: forked children; in the file for the
    /// children of a run, processes of the run
    std::uint32_t unrecorded;
    std::uint64_t listed_in;  ///< list_number() of the file that this recording entered; 0: none
    std::uint64_t program;    ///< number of the program that the process runs, equal in forked children; 0: unknown
    std::uint64_t reserved9;
    ListedRecording listed[listed_limit];
    std::uint8_t reserved10[4088 - 4064];
    // Offset 4088. Written by the process:
    std::uint64_t searched_calls;  ///< number of calls whose results were searched for NaN and infinity
    // Offset 4096. Changes of settings:
    ChangeRecord changes[change_limit];
    // Offset 20480. Children without the shim:
    ChildRecord children[child_limit];
    // Offset 30720. Used in the file for the children of a run:
    std::uint64_t marks[mark_limit];  ///< hash of each mark's content; 0: unused
    // Offset 32768. The texts:
    char text[32768];
};
static_assert(sizeof(Header) == segment_size && std::is_standard_layout_v<Header>);
static_assert(offsetof(Header, process_start) == 64 && offsetof(Header, texts) == 128);
static_assert(offsetof(Header, next_segment) == 256 && offsetof(Header, command) == 320);
static_assert(offsetof(Header, answered) == 384 && offsetof(Header, objects_looked_at) == 896);
static_assert(offsetof(Header, run_end) == 960 && offsetof(Header, environment) == 1024);
static_assert(offsetof(Header, listed_count) == 2048 && offsetof(Header, listed) == 2080);
static_assert(offsetof(Header, searched_calls) == 4088 && offsetof(Header, changes) == 4096 &&
              offsetof(Header, children) == 20480 && offsetof(Header, marks) == 30720 &&
              offsetof(Header, text) == 32768);

/// Number of bytes at the beginning of a header that are equal in copies of one recording, and in no two recordings.
inline constexpr std::size_t identity_size = offsetof(Header, texts);
/// Returns the number by which a recording's header names the list that it entered: a hash of these bytes. Never 0.
inline std::uint64_t list_number(std::string_view identity) { return system::Hash().add(identity).value(); }
inline std::uint64_t list_number(const Header& header) {
    return list_number(std::string_view(reinterpret_cast<const char*>(&header), identity_size));
}

// ---- values of enumerations that files contain: new values go to the end ----------------------------------------

template <class Enumeration, class... More>
constexpr bool are_numbered_from_0(Enumeration first, More... more) {
    unsigned next = 0;
    return static_cast<unsigned>(first) == next++ && ((static_cast<unsigned>(more) == next++) && ...);
}
using policy::Source;  // policy/formats.def numbers precisions, formats and floors; policy/reasons.def numbers
                       // reasons
static_assert(are_numbered_from_0(Source::guard_pin, Source::rule, Source::thread, Source::process,
                                  Source::environment, Source::file, Source::native));
static_assert(are_numbered_from_0(How::forward, How::round_operands, How::one_by_one, How::compute_type,
                                  How::math_mode, How::fixed_order, How::bf16_units));
static_assert(are_numbered_from_0(policy::Device::cpu, policy::Device::cuda));
static_assert(are_numbered_from_0(policy::Dtype::float32, policy::Dtype::complex64, policy::Dtype::float16,
                                  policy::Dtype::bfloat16, policy::Dtype::float8, policy::Dtype::float64,
                                  policy::Dtype::complex128, policy::Dtype::int8));
static_assert(are_numbered_from_0(policy::CpuMode::off, policy::CpuMode::emulate, policy::CpuMode::accelerate,
                                  policy::CpuMode::reproducible));
static_assert(are_numbered_from_0(policy::Tf32Rounding::away, policy::Tf32Rounding::even,
                                  policy::Tf32Rounding::truncate));
static_assert(are_numbered_from_0(policy::LogLevel::unset, policy::LogLevel::summary, policy::LogLevel::calls));
static_assert(are_numbered_from_0(policy::OnFull::drop, policy::OnFull::overwrite));
static_assert(are_numbered_from_0(EnvironmentFact::none, EnvironmentFact::processor, EnvironmentFact::instructions,
                                  EnvironmentFact::cpus, EnvironmentFact::python, EnvironmentFact::torch,
                                  EnvironmentFact::driver, EnvironmentFact::file, EnvironmentFact::version,
                                  EnvironmentFact::kernel, EnvironmentFact::threads, EnvironmentFact::gpu,
                                  EnvironmentFact::features, EnvironmentFact::amx));
static_assert(are_numbered_from_0(WhyUnseen::seen, WhyUnseen::statically_linked, WhyUnseen::other_machine,
                                  WhyUnseen::musl, WhyUnseen::other_user, WhyUnseen::capabilities,
                                  WhyUnseen::not_readable, WhyUnseen::no_preload, WhyUnseen::library_out_of_reach,
                                  WhyUnseen::log_out_of_reach, WhyUnseen::other_log, WhyUnseen::switched_off,
                                  WhyUnseen::other_policy, WhyUnseen::other_library, WhyUnseen::other_run,
                                  WhyUnseen::behind_mount));

}  // namespace fp32shim::record::format
