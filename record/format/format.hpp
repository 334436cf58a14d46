// The bytes of a recording, `NAME.fp32rec`: what the writer maps and the reader copies. docs/recording-format.md says
// the same in words, with a hexdump.
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
// Whatever a process shares through the file is published by one store with release order, after everything that
// belongs to it: `magic`, `kind`, `RowRecord::published`, a text's size, `CounterRecord::row_plus_one` and `calls`,
// `EventRecord::time`, `ObjectRecord::published`, `ChildRecord::state`. Before that store it reads as zero, or as
// what it was before. So the file of a running or killed process holds whole entries only.
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

/// Grows when a reader of the version before would misread the file. The first 4096 bytes of the header keep their
/// meaning in all versions.
inline constexpr std::uint32_t version = 1;

inline constexpr std::uint64_t magic = 0x0a43455232335046;  ///< "FP32REC\n" where bytes go from low to high
inline constexpr std::uint32_t byte_order = 0x01020304;

inline constexpr std::size_t segment_size = 65536;
/// Segments of one file, and so 256 GiB.
inline constexpr std::uint32_t segment_limit = 1U << 22;

enum class SegmentKind : std::uint32_t { unused, strings, rows, counters, ring, events, objects };

struct SegmentHeader {
    std::uint32_t kind;      ///< SegmentKind; stored last, never changes then
    std::uint32_t slot;      ///< counters, ring, events: whose
    std::uint32_t sequence;  ///< from 0: among those of its kind, and of its slot where it has one
    std::uint32_t count;     ///< events: how many there are, from the first place on; ring: how often it was full
    std::int32_t thread;  ///< counters, ring: thread id that has the slot now; events: that had it at the first one
    std::uint32_t reserved0;
    std::uint64_t first_time;  ///< events: of the first, in ticks
    std::uint64_t last_time;   ///< events: of the last
    std::uint64_t dropped;     ///< ring: events of this slot that found no room in the file
    std::uint64_t reserved1[2];
};
static_assert(sizeof(SegmentHeader) == 64);

// ---- strings ------------------------------------------------------------------------------------------------------

/// Where a text stands; 0: there is none.
using StringId = std::uint32_t;
inline constexpr std::size_t string_alignment = 16;
/// Longer ones are cut, and end in `…` then.
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
/// In events, instead of a row: from here on the slot belongs to the thread whose id is the duration.
inline constexpr std::uint32_t thread_change = row_limit;
/// Counts the calls whose own row found no room; its flags say so.
inline constexpr std::uint32_t overflow_row = 0;

inline constexpr std::uint32_t row_is_folded = 1;    ///< m, n, k and batch are rounded up to powers of two
inline constexpr std::uint32_t row_is_overflow = 2;  ///< says nothing about its calls

inline constexpr std::uint8_t no_actual = 0xff;
inline constexpr std::int32_t no_status = INT32_MIN;

/// A decision, as DecisionEvent has it (record/events.hpp), without what differs from call to call. Enumerations are
/// stored as their values, which are pinned at the end of this file.
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
    std::int32_t status;              ///< what the function returned; no_status where it returns none
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

/// A timed call stands for the untimed ones before it, each of them as long as it was, but at most this many times
/// the mean of the others. So a call that was interrupted counts once.
inline constexpr std::uint64_t outlier_factor = 8;

/// What one slot did under one row. `calls` is stored after the others: they may be one call ahead of it.
/// Where short calls are not all timed, a timed one counts for those before it too: `total` is an estimate then.
struct CounterRecord {
    std::uint64_t calls;
    std::uint64_t total;         ///< ticks in the calls: on CUDA, of their launches
    std::uint64_t shortest;      ///< ticks
    std::uint64_t longest;       ///< ticks
    std::uint64_t first;         ///< when the first call returned
    std::uint64_t last;          ///< when the last timed call returned
    std::uint32_t row_plus_one;  ///< 0: unused; stored after the initial values of the others
    std::uint32_t untimed;       ///< calls since the last timed one: `total` does not know them yet
    std::uint64_t timed;         ///< calls of which begin and end were taken
};
static_assert(sizeof(CounterRecord) == 64);

// ---- events -------------------------------------------------------------------------------------------------------

struct EventRecord {
    std::uint64_t time;          ///< ticks at which the call returned, or began if untimed; 0: unused; stored last
    std::uint64_t duration_row;  ///< duration << 20 | row
};
static_assert(sizeof(EventRecord) == 16);

/// The duration of a call whose end was not taken, as of most short ones.
inline constexpr std::uint64_t untimed = 0;
/// Longer ones are stored as this.
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
/// Segments with objects: where they do not suffice there is flag_objects_missed.
inline constexpr std::uint32_t object_segment_limit = 8;

/// A file that the loader had mapped into the process, whether or not it still is. One each, by path and build id.
struct ObjectRecord {
    std::uint64_t first_seen;               ///< ticks: when it was noted, not when it was loaded
    StringId path;                          ///< as the loader has it
    std::uint32_t flags;                    ///< object_…: may be set later
    std::uint8_t build_id_size;             ///< 0: it has none
    std::uint8_t build_id[build_id_limit];  ///< its first bytes
    std::uint8_t reserved[7];
    std::uint32_t published;  ///< 1: the entry is whole; stored last
};
static_assert(sizeof(ObjectRecord) == 48);

/// A segment, by its kind.
template <class Entry>
struct Segment {
    static constexpr std::size_t capacity = (segment_size - sizeof(SegmentHeader)) / sizeof(Entry);
    SegmentHeader header;
    Entry entries[capacity];
};
/// Where entry `place` of a segment begins.
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

/// Bits of Header::flags: what went wrong, or had to be left out. They are never taken back.
inline constexpr std::uint32_t flag_file_full = 1;        ///< max_size was reached
inline constexpr std::uint32_t flag_io_error = 2;         ///< the kernel refused space or a write: `last_error`
inline constexpr std::uint32_t flag_rows_folded = 4;      ///< there are rows with row_is_folded
inline constexpr std::uint32_t flag_rows_overflowed = 8;  ///< overflow_row was used
inline constexpr std::uint32_t flag_closed = 16;          ///< the program closed the recording's descriptor for good
inline constexpr std::uint32_t flag_lookup_past = 32;     ///< dlsym had to answer with an address past the shim
inline constexpr std::uint32_t flag_objects_missed = 64;  ///< there are loaded objects that are not in the file
inline constexpr std::uint32_t flag_left = 128;           ///< a reload had the process record elsewhere, or no more
inline constexpr std::uint32_t flag_children_only =
    256;  ///< of no process: it only says which children were not seen

/// A text of the header: bytes from its begin.
struct TextRange {
    std::uint32_t offset;
    std::uint32_t size;
};

enum class Text : std::uint32_t {
    version,  ///< of fp32shim
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
inline constexpr std::uint8_t no_precision = 0xf;  ///< of a command: back to what environment and files say

/// A command of `fp32shim set` or `reload`, as one word; 0: none yet.
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
    carried_over,  ///< held already when the recording began: after a fork, or a reload that changed [log] path
};

/// What environment and policy files say after a reload, as a change has it.
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
    // After a reload. Writers that did not note it left zeros.
    std::uint8_t has_settings;       ///< 1: the next three are what the settings say from then on
    std::uint8_t default_precision;  ///< policy::Precision: what `set` and the C API ask for goes before it
    std::uint8_t settings_floor;     ///< policy::Floor: the C API may have set a stricter one
    std::uint8_t cpu_mode;           ///< policy::CpuMode
    std::uint32_t reserved1[4];
};
static_assert(sizeof(ChangeRecord) == 64 && offsetof(ChangeRecord, has_settings) == 44);
/// Change number i, from 0, is in place i % change_limit: the oldest go first.
inline constexpr std::size_t change_limit = 256;

// ---- children -----------------------------------------------------------------------------------------------------

enum class ChildDetail : std::uint8_t { none, folder, interpreter };
inline constexpr std::size_t child_text_limit = 224;
inline constexpr std::size_t child_limit = 40;
inline constexpr std::uint32_t child_is_whole = 2;

/// A program that the process, or one without a recording that it or its run started, has started although it would
/// not be seen. One each, by all but times, count and process.
struct ChildRecord {
    std::uint32_t state;       ///< 0 unused, 1 being written, child_is_whole; stored last
    std::uint32_t count;       ///< how often; 0: it could not be started after all
    std::int64_t first_ns;     ///< since 1970, UTC
    std::int64_t last_ns;      ///< the same, of the last time
    std::int32_t pid;          ///< of the process that became it, or started it, for the first time
    std::uint8_t why;          ///< record::WhyUnseen
    std::uint8_t detail_kind;  ///< ChildDetail
    std::uint8_t path_size;    ///< bytes of `text`; where it begins with `…`, its begin was cut
    std::uint8_t detail_size;  ///< bytes of `text` behind those
    char text[child_text_limit];
};
static_assert(sizeof(ChildRecord) == 256);

/// The first segment. What different parties write is on cache lines of their own.
struct Header {
    // 0: what it is; written once, by the writer
    std::uint64_t magic;  ///< stored last
    std::uint32_t version;
    std::uint32_t byte_order;
    std::uint32_t segment_size;
    std::int32_t pid;                 ///< as the process itself sees it
    std::int32_t forked_from;         ///< process id of the ancestor; 0: not a forked child
    std::int32_t rank;                ///< -1: unknown
    std::int64_t start_realtime_ns;   ///< since 1970, UTC
    std::int64_t start_monotonic_ns;  ///< CLOCK_MONOTONIC, at the same time
    std::uint64_t start_ticks;        ///< at the same time
    std::uint64_t run;                ///< ProcessFacts::run: which `fp32shim run` it belongs to; 0: none
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
    std::int64_t facts_ns;           ///< ProcessFacts::start_ns: what %t stands for
    std::uint8_t more_pins;          ///< their next 8 bits
    std::uint8_t reserved_line1[7];
    // 128
    TextRange texts[text_count];
    std::uint8_t reserved2[48];
    // 256: written whenever the file grows
    std::uint32_t next_segment;  ///< the first that nobody has taken yet
    std::uint32_t flags;
    std::uint64_t ticks_per_second;  ///< measured; the longer the process runs, the more exactly
    std::uint64_t uncounted_calls;   ///< calls for which there was no room even under overflow_row
    std::uint64_t uncounted_events;  ///< events of slots that got no ring
    std::int32_t last_error;         ///< errno of the last refused space or write; 0: none
    std::uint32_t change_count;      ///< changes so far; those of the last change_limit are kept
    std::uint32_t segments_in_use;   ///< but for the header; those that are whole and have their kind
    std::uint8_t reserved3[20];
    // 320: written by `fp32shim set` and `reload`, read by each call
    std::uint64_t command;  ///< CommandWord
    std::uint8_t reserved4[56];
    // 384: written by the process: what came of it
    std::uint64_t answered;  ///< the CommandWord that was last acted on; stored last
    std::uint32_t answer;    ///< CommandResult
    std::uint32_t answer_size;
    char answer_text[answer_limit];
    std::uint8_t reserved5[64];
    // 896: which objects are known
    std::uint64_t objects_looked_at;  ///< ticks: what was loaded then is known; 0: nobody looked
    std::uint64_t exited_at;          ///< ticks: when the program ended by `exit`, and objects were looked at; 0: not
    std::uint64_t went_on_at;  ///< where it was left: `start_ticks` of the recording that goes on; 0: none does
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
