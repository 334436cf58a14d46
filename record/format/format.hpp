// The bytes of a recording, `NAME.fp32rec`, which the writer maps and the reader copies. docs/recording-format.md
// describes them in words, with a hexdump.
//
//     file      | 0: header | 1: segment | 2: segment | 3: segment | …            each 64 KiB
//
//     segment   | SegmentHeader 64 bytes | entries of one kind                      |
//               kind   strings   texts, each | size + 1 : u32 | bytes | up to a multiple of 16 bytes |
//                      rows      682 RowRecords of 96 bytes: a distinct decision each
//                      counters  1023 CounterRecords of 64 bytes, of one slot
//                      ring      4092 EventRecords of 16 bytes, of one slot: its newest
//                      events    4092 EventRecords of 16 bytes, of one slot: a ring that was full
//                      objects   1364 ObjectRecords of 48 bytes: a loaded program or library each
//
//     event     63                                                              0
//               | time: ticks at which the call returned; rises within a slot    |   stored last
//               | duration: ticks, 44 bits                   | row: 20 bits      |
//
//     string id 31                       12 11          0
//               | sequence of its segment  | offset / 16 |                           0: no text
//
// All integers are in the byte order of the machine that wrote (`byte_order` says which). Times are ticks of the
// processor's counter (format/clock.hpp), made nanoseconds by the header.
//
// Each thing that a process shares through the file is published by one store with release order, after all of its
// bytes: `magic`, `kind`, `RowRecord::published`, a text's size, `CounterRecord::row_plus_one` and `calls`,
// `EventRecord::time`, `ObjectRecord::published`, `ChildRecord::state`. Before that store the field reads as zero, or
// as its earlier value. So the file of a running or killed process holds whole entries only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"
#include "policy/precision.hpp"
#include "record/events.hpp"
#include "record/why_unseen.hpp"

namespace fp32shim::record::format {

/// Version of the format. It grows when an older reader would misread the file. The first 4096 bytes of the header
/// keep their meaning in all versions.
inline constexpr std::uint32_t version = 1;

inline constexpr std::uint64_t magic = 0x0a43455232335046;  ///< "FP32REC\n" if the low byte comes first
inline constexpr std::uint32_t byte_order = 0x01020304;

inline constexpr std::size_t segment_size = 65536;
/// Largest number of segments of one file, which is then 256 GiB.
inline constexpr std::uint32_t segment_limit = 1U << 22;

enum class SegmentKind : std::uint32_t { unused, strings, rows, counters, ring, events, objects, count_ };
inline constexpr auto segment_kind_count = static_cast<std::uint32_t>(SegmentKind::count_);

struct SegmentHeader {
    std::uint32_t kind;      ///< SegmentKind; stored last, never changes then
    std::uint32_t slot;      ///< counters, ring, events: number of the thread's slot
    std::uint32_t sequence;  ///< number, from 0, among the segments of this kind (and of this slot if it has one)
    std::uint32_t count;     ///< events: number of events, from the first place on; ring: number of times it was full
    std::int32_t thread;     ///< thread id that has the slot: now (counters, ring), or at the first event (events)
    std::uint32_t reserved0;
    std::uint64_t first_time;  ///< events: time of the first, in ticks
    std::uint64_t last_time;   ///< events: time of the last, in ticks
    std::uint64_t dropped;     ///< ring: events of this slot that found no room in the file
    std::uint64_t reserved1[2];
};
static_assert(sizeof(SegmentHeader) == 64);

// ---- strings ------------------------------------------------------------------------------------------------------

/// The place of a text in the file; 0: no text.
using StringId = std::uint32_t;
inline constexpr std::size_t string_alignment = 16;
/// Longest text in bytes. Longer ones are cut and end in `…`.
inline constexpr std::size_t string_limit = 2048;

constexpr StringId make_string_id(std::uint32_t sequence, std::size_t offset) {
    return sequence << 12 | static_cast<std::uint32_t>(offset / string_alignment);
}
constexpr std::uint32_t sequence_of(StringId id) { return id >> 12; }
constexpr std::size_t offset_of(StringId id) { return (id & 0xfff) * string_alignment; }
static_assert(segment_size / string_alignment == 1 << 12);

// ---- rows ---------------------------------------------------------------------------------------------------------

/// Rows are numbered through all their segments: row 682 is the first of the second one.
inline constexpr std::uint32_t row_bits = 20;
inline constexpr std::uint32_t row_limit = (1U << row_bits) - 1;
/// Marks, in place of an event's row, that from here on another thread has the slot. Its id is the duration.
inline constexpr std::uint32_t thread_change = row_limit;
/// The row that counts calls whose own row found no room.
inline constexpr std::uint32_t overflow_row = 0;

inline constexpr std::uint32_t row_is_folded = 1;    ///< m, n, k and batch are rounded up to powers of two
inline constexpr std::uint32_t row_is_overflow = 2;  ///< says nothing about its calls

inline constexpr std::uint8_t no_actual = 0xff;
inline constexpr std::int32_t no_status = INT32_MIN;

/// A decision: the fields of DecisionEvent (record/events.hpp) that are the same for all its calls. Enumerations are
/// stored as their values, which are fixed at the end of this file.
struct RowContent {
    std::int64_t m;  ///< elements, as the library received them; -1: the function has no such size
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
    std::int32_t device_index;        ///< -1 on the CPU
    std::int32_t compute_capability;  ///< 10·major + minor; 0: unknown
    std::int32_t status;              ///< status that the function returned; no_status: it returns none
    char trans_a;                     ///< a letter; 0: the function has none
    char trans_b;
    std::uint8_t dtype;      ///< policy::Dtype
    std::uint8_t device;     ///< policy::Device
    std::uint8_t requested;  ///< policy::Precision
    std::uint8_t applied;    ///< policy::Applied
    std::uint8_t actual;     ///< policy::Applied, or no_actual
    std::uint8_t how;        ///< record::How
    std::uint8_t source;     ///< policy::Source
    std::uint8_t reason;     ///< policy::Reason
    std::uint8_t reserved[6];
};
static_assert(sizeof(RowContent) == 88 && std::has_unique_object_representations_v<RowContent>);

struct RowRecord {
    RowContent content;
    std::uint32_t published;  ///< 1: the row is whole; stored last
    std::uint32_t reserved;
};
static_assert(sizeof(RowRecord) == 96);

// ---- counters -----------------------------------------------------------------------------------------------------

/// Limit, in means of the other calls, of the time that a timed call stands for in each untimed call before it. So a
/// call that was interrupted counts once.
inline constexpr std::uint64_t outlier_factor = 8;

/// The calls of one slot under one row. `calls` is stored after the others, which may be one call ahead of it. If
/// short calls are not all timed, a timed one stands for those before it too, and `total` is an estimate.
struct CounterRecord {
    std::uint64_t calls;
    std::uint64_t total;         ///< ticks in the calls; on CUDA, in their launches
    std::uint64_t shortest;      ///< ticks
    std::uint64_t longest;       ///< ticks
    std::uint64_t first;         ///< time at which the first call returned, in ticks
    std::uint64_t last;          ///< time at which the last timed call returned, in ticks
    std::uint32_t row_plus_one;  ///< 0: unused; stored after the initial values of the others
    std::uint32_t untimed;       ///< calls since the last timed one, which `total` does not have yet
    std::uint64_t timed;         ///< number of timed calls
};
static_assert(sizeof(CounterRecord) == 64);

// ---- events -------------------------------------------------------------------------------------------------------

struct EventRecord {
    std::uint64_t time;          ///< ticks at which the call returned, or began if untimed; 0: unused; stored last
    std::uint64_t duration_row;  ///< duration << 20 | row
};
static_assert(sizeof(EventRecord) == 16);

/// The duration of an untimed call, as most short ones are.
inline constexpr std::uint64_t untimed = 0;
/// Largest duration in ticks. Longer ones are stored as this.
inline constexpr std::uint64_t longest_duration = (std::uint64_t{1} << 44) - 1;

constexpr std::uint64_t make_duration_row(std::uint64_t duration, std::uint32_t row) {
    return (duration < longest_duration ? duration : longest_duration) << row_bits | row;
}
constexpr std::uint32_t row_of(const EventRecord& event) {
    return static_cast<std::uint32_t>(event.duration_row) & ((1U << row_bits) - 1);
}
constexpr std::uint64_t duration_of(const EventRecord& event) { return event.duration_row >> row_bits; }

// ---- objects ------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t object_is_bound_past = 1;  ///< a product that it calls goes past the shim
inline constexpr std::size_t build_id_limit = 20;
/// Largest number of segments with objects. If they do not suffice, flag_objects_missed is set.
inline constexpr std::uint32_t object_segment_limit = 8;

/// A file that the loader had mapped into the process, and may have unmapped since. Path and build id tell files
/// apart.
struct ObjectRecord {
    std::uint64_t first_seen;               ///< ticks at which it was noted, not loaded
    StringId path;                          ///< the loader's name of it
    std::uint32_t flags;                    ///< object_… bits, which may be set later
    std::uint8_t build_id_size;             ///< 0: it has none
    std::uint8_t build_id[build_id_limit];  ///< first bytes of the build id
    std::uint8_t reserved[7];
    std::uint32_t published;  ///< 1: the entry is whole; stored last
};
static_assert(sizeof(ObjectRecord) == 48);

/// A segment with entries of one kind.
template <class Entry>
struct Segment {
    static constexpr std::size_t capacity = (segment_size - sizeof(SegmentHeader)) / sizeof(Entry);
    SegmentHeader header;
    Entry entries[capacity];
};
/// Returns the offset of entry `place` in a segment.
template <class Entry>
constexpr std::uint32_t offset_of_entry(std::uint32_t place) {
    return static_cast<std::uint32_t>(sizeof(SegmentHeader) + place * sizeof(Entry));
}
using RowSegment = Segment<RowRecord>;
using CounterSegment = Segment<CounterRecord>;
using EventSegment = Segment<EventRecord>;
using ObjectSegment = Segment<ObjectRecord>;
static_assert(sizeof(RowSegment) == segment_size && RowSegment::capacity == 682);
static_assert(sizeof(CounterSegment) == segment_size && CounterSegment::capacity == 1023);
static_assert(sizeof(EventSegment) == segment_size && EventSegment::capacity == 4092);
static_assert(sizeof(ObjectSegment) == segment_size && ObjectSegment::capacity == 1364);

// ---- header -------------------------------------------------------------------------------------------------------

enum class Architecture : std::uint8_t { unknown, x86_64, aarch64 };

/// Bits of Header::flags: things that went wrong, or had to be left out. A bit that is set stays set.
inline constexpr std::uint32_t flag_file_full = 1;        ///< max_size was reached
inline constexpr std::uint32_t flag_io_error = 2;         ///< the kernel refused space or a write: `last_error`
inline constexpr std::uint32_t flag_rows_folded = 4;      ///< there are rows with row_is_folded
inline constexpr std::uint32_t flag_rows_overflowed = 8;  ///< overflow_row was used
inline constexpr std::uint32_t flag_closed = 16;          ///< the program closed the recording's descriptor for good
inline constexpr std::uint32_t flag_lookup_past = 32;     ///< dlsym had to answer with an address past the shim
inline constexpr std::uint32_t flag_objects_missed = 64;  ///< there are loaded objects that are not in the file
inline constexpr std::uint32_t flag_left = 128;           ///< a reload had the process record elsewhere, or no more
inline constexpr std::uint32_t flag_children_only = 256;  ///< a file of no process, for unseen children only

/// A text of the header.
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
inline constexpr std::uint8_t no_precision = 0xf;  ///< a command to go back to environment and policy files

/// A command of `fp32shim set` or `reload` in one word; 0: none yet.
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
    command,       ///< `fp32shim set` or `reload`
    program,       ///< the C API
    carried_over,  ///< in force when the recording began: after a fork, or a reload that changed [log] path
};

/// Settings of environment and policy files after a reload.
struct ReloadedSettings {
    policy::Precision default_precision = policy::Precision::native;
    policy::Floor floor = policy::Floor::none;
    policy::CpuMode cpu_mode = policy::CpuMode::off;
};

/// One change of the process's settings while it ran.
struct ChangeRecord {
    std::uint64_t time;      ///< ticks; stored last
    std::uint32_t kind;      ///< ChangeKind
    std::uint32_t origin;    ///< ChangeOrigin
    std::uint32_t result;    ///< CommandResult: refused where a policy to be reloaded was wrong
    std::int32_t requester;  ///< process id of the command; 0: the program itself
    std::uint8_t precision;  ///< policy::Precision, or no_precision
    std::uint8_t floor;      ///< policy::Floor
    std::uint8_t reserved0[2];
    StringId policy_name;  ///< after a reload
    StringId policy_revision;
    StringId policy_sha256;
    StringId message;
    // After a reload. Older writers left zeros.
    std::uint8_t has_settings;       ///< 1: the next three fields are the settings from then on
    std::uint8_t default_precision;  ///< policy::Precision; requests of `set` and the C API come before it
    std::uint8_t settings_floor;     ///< policy::Floor: the C API may have set a stricter one
    std::uint8_t cpu_mode;           ///< policy::CpuMode
    std::uint32_t reserved1[4];
};
static_assert(sizeof(ChangeRecord) == 64 && offsetof(ChangeRecord, has_settings) == 44);
/// Number of changes that are kept. Change number i, from 0, is in place i % change_limit.
inline constexpr std::size_t change_limit = 256;

// ---- children -----------------------------------------------------------------------------------------------------

enum class ChildDetail : std::uint8_t { none, folder, interpreter };
inline constexpr std::size_t child_text_limit = 224;
inline constexpr std::size_t child_limit = 40;
inline constexpr std::uint32_t child_is_whole = 2;

/// A program that was started and would not be seen, by the process or by one of its run without a recording. All but
/// times, count and process tell them apart.
struct ChildRecord {
    std::uint32_t state;       ///< 0 unused, 1 being written, child_is_whole; stored last
    std::uint32_t count;       ///< number of starts; 0: it could not be started after all
    std::int64_t first_ns;     ///< first start, since 1970, UTC
    std::int64_t last_ns;      ///< last start, since 1970, UTC
    std::int32_t pid;          ///< process that became it, or started it, the first time
    std::uint8_t why;          ///< record::WhyUnseen
    std::uint8_t detail_kind;  ///< ChildDetail
    std::uint8_t path_size;    ///< bytes of the path in `text`; a path that begins with `…` was cut there
    std::uint8_t detail_size;  ///< bytes of the detail, behind the path in `text`
    char text[child_text_limit];
};
static_assert(sizeof(ChildRecord) == 256);

/// The first segment. Fields with different writers are on cache lines of their own.
struct Header {
    // 0: written once, by the writer
    std::uint64_t magic;  ///< stored last
    std::uint32_t version;
    std::uint32_t byte_order;
    std::uint32_t segment_size;
    std::int32_t pid;                 ///< process id in its own namespace
    std::int32_t forked_from;         ///< process id of the ancestor; 0: not a forked child
    std::int32_t rank;                ///< -1: unknown
    std::int64_t start_realtime_ns;   ///< since 1970, UTC
    std::int64_t start_monotonic_ns;  ///< CLOCK_MONOTONIC at that time
    std::uint64_t start_ticks;        ///< ticks at that time
    std::uint64_t run;                ///< number of the `fp32shim run` that it belongs to; 0: none
    // 64
    std::uint64_t process_start;     ///< field 22 of /proc/PID/stat: clock ticks after boot
    std::uint64_t pid_namespace;     ///< inode of /proc/PID/ns/pid
    std::uint8_t boot_id[16];        ///< /proc/sys/kernel/random/boot_id
    std::uint64_t max_size;          ///< bytes
    std::uint8_t architecture;       ///< Architecture
    std::uint8_t default_precision;  ///< policy::Precision
    std::uint8_t floor;              ///< policy::Floor
    std::uint8_t cpu_mode;           ///< policy::CpuMode
    std::uint8_t tf32_rounding;      ///< policy::Tf32Rounding
    std::uint8_t level;              ///< policy::LogLevel
    std::uint8_t on_full;            ///< policy::OnFull
    std::uint8_t pins;               ///< the low bits of ProcessFacts::pins; 0: the writer did not note them
    std::int64_t facts_ns;           ///< ProcessFacts::start_ns, which %t in a log's name stands for
    std::uint8_t more_pins;          ///< next 8 bits of ProcessFacts::pins
    std::uint8_t reserved_line1[7];
    // 128
    TextRange texts[text_count];
    std::uint8_t reserved2[48];
    // 256: written whenever the file grows
    std::uint32_t next_segment;  ///< number of the first segment that nobody has taken yet
    std::uint32_t flags;
    std::uint64_t ticks_per_second;  ///< measured; the longer the process runs, the more exactly
    std::uint64_t uncounted_calls;   ///< calls for which there was no room even under overflow_row
    std::uint64_t uncounted_events;  ///< events of slots that got no ring
    std::int32_t last_error;         ///< errno of the last refused space or write; 0: none
    std::uint32_t change_count;      ///< changes so far, of which the last change_limit are kept
    std::uint32_t segments_in_use;   ///< whole segments that have their kind, without the header
    std::uint8_t reserved3[20];
    // 320: written by `fp32shim set` and `reload`, read by each call
    std::uint64_t command;  ///< CommandWord
    std::uint8_t reserved4[56];
    // 384: written by the process: the answer to a command
    std::uint64_t answered;  ///< CommandWord that was last acted on; stored last
    std::uint32_t answer;    ///< CommandResult
    std::uint32_t answer_size;
    char answer_text[answer_limit];
    std::uint8_t reserved5[64];
    // 896: written by the process
    std::uint64_t objects_looked_at;  ///< ticks at which all loaded objects were last noted; 0: never
    std::uint64_t exited_at;   ///< ticks at which the program ended by `exit`, with its objects noted; 0: not so
    std::uint64_t went_on_at;  ///< `start_ticks` of the recording that goes on after flag_left; 0: none does
    // 920: children (ChildRecord), by whatever process starts them
    std::uint32_t children_missed;  ///< notes of children that found no room
    // 924
    std::uint8_t reserved6[4096 - 924];
    // 4096
    ChangeRecord changes[change_limit];
    // 20480
    ChildRecord children[child_limit];
    std::uint8_t reserved7[32768 - 20480 - sizeof(ChildRecord) * child_limit];
    // 32768: the texts
    char text[32768];
};
static_assert(sizeof(Header) == segment_size && std::is_standard_layout_v<Header>);
static_assert(offsetof(Header, process_start) == 64 && offsetof(Header, texts) == 128);
static_assert(offsetof(Header, next_segment) == 256 && offsetof(Header, command) == 320);
static_assert(offsetof(Header, answered) == 384 && offsetof(Header, objects_looked_at) == 896);
static_assert(offsetof(Header, changes) == 4096 && offsetof(Header, children) == 20480 &&
              offsetof(Header, text) == 32768);

// ---- the values of enumerations that are in files: a new one goes to the end -------------------------------------

template <class Enumeration, class... More>
constexpr bool are_numbered_from_0(Enumeration first, More... more) {
    unsigned next = 0;
    return static_cast<unsigned>(first) == next++ && ((static_cast<unsigned>(more) == next++) && ...);
}
using policy::Precision, policy::Applied, policy::Floor, policy::Source;  // policy/reasons.def numbers reasons
static_assert(are_numbered_from_0(Precision::native, Precision::highest, Precision::high, Precision::medium,
                                  Precision::automatic, Precision::bf16x9));
static_assert(are_numbered_from_0(Applied::fp32, Applied::tf32, Applied::bf16, Applied::fp16, Applied::bf16x9,
                                  Applied::unchanged));
static_assert(are_numbered_from_0(Floor::none, Floor::fp16, Floor::bf16, Floor::tf32, Floor::bf16x9, Floor::fp32));
static_assert(are_numbered_from_0(Source::guard_pin, Source::rule, Source::thread, Source::process,
                                  Source::environment, Source::file, Source::native));
static_assert(are_numbered_from_0(How::forward, How::round_operands, How::one_by_one, How::compute_type,
                                  How::math_mode));
static_assert(are_numbered_from_0(policy::Device::cpu, policy::Device::cuda));
static_assert(are_numbered_from_0(policy::Dtype::float32, policy::Dtype::complex64, policy::Dtype::float16,
                                  policy::Dtype::bfloat16, policy::Dtype::float8));
static_assert(are_numbered_from_0(policy::CpuMode::off, policy::CpuMode::emulate, policy::CpuMode::accelerate));
static_assert(are_numbered_from_0(policy::Tf32Rounding::away, policy::Tf32Rounding::even,
                                  policy::Tf32Rounding::truncate));
static_assert(are_numbered_from_0(policy::LogLevel::unset, policy::LogLevel::summary, policy::LogLevel::calls));
static_assert(are_numbered_from_0(policy::OnFull::drop, policy::OnFull::overwrite));
static_assert(are_numbered_from_0(WhyUnseen::seen, WhyUnseen::statically_linked, WhyUnseen::other_machine,
                                  WhyUnseen::musl, WhyUnseen::other_user, WhyUnseen::capabilities,
                                  WhyUnseen::not_readable, WhyUnseen::no_preload, WhyUnseen::library_out_of_reach,
                                  WhyUnseen::log_out_of_reach, WhyUnseen::other_log, WhyUnseen::switched_off));

}  // namespace fp32shim::record::format
