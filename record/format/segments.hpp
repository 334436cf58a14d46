// The segments of a recording, and the entries in them. format.hpp draws both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "record/fingerprint.hpp"
#include "record/format/file_state.hpp"

namespace fp32shim::record::format {

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
    gpu_times,
    count_
};
inline constexpr auto segment_kind_count = static_cast<std::uint32_t>(SegmentKind::count_);

struct SegmentHeader {
    std::uint32_t kind;      ///< SegmentKind; stored last, and never changed after that
    std::uint32_t slot;      ///< number of the slot, a thread's part of the file; 0 in strings, rows, objects, rules
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
constexpr std::uint32_t segment_sequence_of(StringId id) { return id >> 12; }
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
/// numbers, which static_asserts at the end of format.hpp fix.
struct RowContent {
    std::int64_t m;  ///< size in elements, as passed to the library; -1: the function has no such size
    std::int64_t n;
    std::int64_t k;
    std::int64_t batch;
    std::uint32_t flags : 4;  ///< bits row_…
    StringId algorithm : 28;  ///< 0 if the text lies beyond the first 4 GiB of the file
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
                             ///< policy::AppliedFormat
    std::uint8_t actual;  ///< format that the library says it used: a policy::AppliedFormat; no_actual: the library
                          ///< does not say
    std::uint8_t how;     ///< way in which the product was executed: a record::How
    std::uint8_t source;  ///< source of `requested`: a policy::Source
    std::uint8_t reason;  ///< reason why the product did not run as asked: a policy::Reason
    std::uint8_t accumulator_as_called : 4;  ///< number type in which the call as made adds: a policy::Accumulator
    std::uint8_t accumulator : 4;            ///< number type in which the call that ran added
    std::uint8_t mantissa_bits;              ///< bits that an emulated float64 product kept; 0: not known
    StringId where;                          ///< line of the program that asked for the product
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
    std::uint64_t last;          ///< time at which the last call returned, in ticks; short untimed calls may follow
    std::uint32_t row_plus_one;  ///< number of the row plus 1; 0: unused; stored after the other fields' first values
    std::uint32_t untimed;       ///< untimed calls since the last timed one; `total` does not yet contain them
    std::uint64_t timed;         ///< number of timed calls
};
static_assert(sizeof(CounterRecord) == 64);

// ---- times on a GPU -----------------------------------------------------------------------------------------------

/// Times on the GPU of those calls of one slot with one row that were measured there, in nanoseconds. `samples` is
/// stored last.
struct GpuTimeRecord {
    std::uint64_t samples;  ///< number of measured calls
    std::uint64_t total;    ///< sum of their times
    std::uint64_t shortest;
    std::uint64_t longest;
    std::uint64_t total_of_first_calls;  ///< sum of the times of measured calls that were the slot's first of the row
    std::uint32_t row_plus_one;          ///< number of the row plus 1; 0: unused
    std::uint32_t first_calls;           ///< number of measured calls that were the slot's first of the row
};
static_assert(sizeof(GpuTimeRecord) == 48);
/// Largest number of segments with times on a GPU in one slot. Rows beyond them have none.
inline constexpr std::uint32_t gpu_time_segment_limit = 64;

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

constexpr std::uint64_t pack_duration_and_row(std::uint64_t duration, std::uint32_t row) {
    return (duration < longest_duration ? duration : longest_duration) << row_bits | row;
}
constexpr std::uint32_t row_of(const EventRecord& event) {
    return static_cast<std::uint32_t>(event.duration_row) & ((1U << row_bits) - 1);
}
constexpr std::uint64_t duration_of(const EventRecord& event) { return event.duration_row >> row_bits; }

// ---- objects ------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t object_is_bound_past = 1;  ///< the object's calls of some product bypass the shim
inline constexpr std::uint32_t object_tells = 2;  ///< the object has oneDNN, each of whose executions is recorded
inline constexpr std::uint32_t object_is_silent =
    4;  ///< if the object has oneDNN, some executions may not be recorded
inline constexpr std::uint32_t object_asks_past = 8;  ///< the object's calls of getenv bypass the shim
inline constexpr std::uint32_t object_tells_jax =
    16;  ///< fp32shim_jax.py sees each program that JAX has the XLA in the object compile for a CPU
inline constexpr std::uint32_t object_has_narrow_jax =
    32;  ///< one of these programs multiplies numbers narrower than float32, or what it multiplies is not known
inline constexpr std::size_t build_id_limit = 20;
/// Largest number of segments with objects. If they do not suffice, flag_objects_missed is set.
inline constexpr std::uint32_t object_segment_limit = 8;

/// A program or library that the loader mapped into the process and may have unmapped since. Path and build id tell
/// such files apart.
struct ObjectRecord {
    std::uint64_t first_seen;               ///< ticks at which the shim first noticed the object, some time after its
                                            ///< loading
    StringId path;                          ///< path by which the loader names it
    std::uint32_t flags;                    ///< bits object_…, which may also be set after publication
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
    /// In a record about NaN or infinity: number, from 0, of the product in its batch; the bits of the magnitudes of
    /// alpha and beta. Otherwise the bits of cancellation, fp32_error and tested_error; `notes` says which are known.
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

/// Hashes of what a call with a fingerprint read (record::OperandHashes), and of the rows of its result.
struct OperandsRecord {
    std::uint64_t time;    ///< as in the call's FingerprintRecord; stored last
    std::uint32_t row;     ///< number of the call's row
    std::uint32_t number;  ///< as in the call's FingerprintRecord
    std::int32_t thread;   ///< id of the calling thread
    std::uint32_t rows;    ///< Fingerprint::rows of the result; 0 from older writers
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
using GpuTimeSegment = Segment<GpuTimeRecord>;
static_assert(sizeof(RowSegment) == segment_size && RowSegment::capacity == 682);
static_assert(sizeof(CounterSegment) == segment_size && CounterSegment::capacity == 1023);
static_assert(sizeof(EventSegment) == segment_size && EventSegment::capacity == 4092);
static_assert(sizeof(ObjectSegment) == segment_size && ObjectSegment::capacity == 1364);
static_assert(sizeof(AuditSegment) == segment_size && AuditSegment::capacity == 682);
static_assert(sizeof(FingerprintSegment) <= segment_size && FingerprintSegment::capacity == 221);
static_assert(sizeof(RuleSegment) == segment_size && RuleSegment::capacity == 2046);
static_assert(sizeof(OperandsSegment) <= segment_size && OperandsSegment::capacity == 1169);
static_assert(sizeof(GpuTimeSegment) == segment_size && GpuTimeSegment::capacity == 1364);

}  // namespace fp32shim::record::format
