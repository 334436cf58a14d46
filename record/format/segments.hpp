// The segments of a recording, and the entries in the segments. A drawing is at the top of format.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "record/fingerprint.hpp"
#include "record/format/file_state.hpp"

namespace fp32shim::record::format {

inline constexpr std::size_t segment_size = 65536;
/// Largest number of segments in one file. A file with this number of segments has 256 GiB.
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
    std::uint32_t kind;      ///< kind of the segment, a SegmentKind; stored last and then never changed
    std::uint32_t slot;      ///< number of the slot, which is the part of the file that one thread writes to; 0 in
                             ///< segments of strings, rows, objects and rules
    std::uint32_t sequence;  ///< position, from 0, among the segments of this kind (and of this slot if the segment
                             ///< has one)
    std::uint32_t count;     ///< number of events in the segment (kind events), or how often the ring has been full
                             ///< (kind ring)
    std::int32_t thread;     ///< thread id: of the slot's present thread (kinds counters and ring), or of the thread
                             ///< that made the segment's first event (kind events)
    std::uint32_t reserved0;
    std::uint64_t first_time;  ///< time of the segment's first event, in ticks (kind events only)
    std::uint64_t last_time;   ///< time of the segment's last event, in ticks (kind events only)
    std::uint64_t dropped;     ///< number of the slot's events that the file had no space for (kind ring only)
    std::uint64_t reserved1[2];
};
static_assert(sizeof(SegmentHeader) == 64);

// ---- strings ------------------------------------------------------------------------------------------------------

/// Identifies a text by the number of its segment of strings and its offset in the segment (make_string_id()). The id
/// 0 means that there is no text.
using StringId = std::uint32_t;
inline constexpr std::size_t string_alignment = 16;
/// Size of the longest text in bytes. Longer texts are truncated and end in `…`.
inline constexpr std::size_t string_limit = 2048;

constexpr StringId make_string_id(std::uint32_t sequence, std::size_t offset) {
    return sequence << 12 | static_cast<std::uint32_t>(offset / string_alignment);
}
constexpr std::uint32_t segment_sequence_of(StringId id) { return id >> 12; }
constexpr std::size_t offset_of(StringId id) { return (id & 0xfff) * string_alignment; }
static_assert(segment_size / string_alignment == 1 << 12);

// ---- rows ---------------------------------------------------------------------------------------------------------

/// Number of bits in the number of a row, which is the record of a distinct decision. The numbers continue from
/// segment to segment: row 682 is the first row of the second segment of rows.
inline constexpr std::uint32_t row_bits = 20;
inline constexpr std::uint32_t row_limit = (1U << row_bits) - 1;
/// The row number of an event that is not a call, but marks a change of thread: the following events belong to
/// another thread. The duration field of this event holds the id of the other thread.
inline constexpr std::uint32_t thread_change = row_limit;
/// Number of the row that counts the calls for whose decisions the file has no space.
inline constexpr std::uint32_t overflow_row = 0;

inline constexpr std::uint32_t row_is_folded = 1;     ///< the sizes m, n, k and batch in the row are rounded up to
                                                      ///< powers of two
inline constexpr std::uint32_t row_is_overflow = 2;   ///< the row is overflow_row, in which the fields of a decision
                                                      ///< have no meaning
inline constexpr std::uint32_t row_stack_is_cut = 4;  ///< the innermost frames of `stack` are left out, because few
                                                      ///< row numbers were left

inline constexpr std::uint8_t no_actual = 0xff;
inline constexpr std::int32_t no_status = INT32_MIN;

/// The fields of a DecisionEvent (record/events.hpp) that all calls with the same decision share. Enumerations are
/// stored as numbers; static_asserts at the end of format.hpp fix the numbers.
struct RowContent {
    std::int64_t m;  ///< size in elements, as passed to the library; -1: the function has no argument for the size
    std::int64_t n;
    std::int64_t k;
    std::int64_t batch;
    std::uint32_t flags : 4;  ///< bits row_…
    StringId algorithm : 28;  ///< algorithm of cublasLt; 0: none is known, or its text lies beyond the first 4 GiB of
                              ///< strings
    StringId function;
    StringId caller;
    StringId provider;
    StringId scope;
    StringId rule;
    StringId detail;
    std::int32_t device_index;        ///< CUDA ordinal of the device; -1: the product ran on the CPU
    std::int32_t compute_capability;  ///< GPU's compute capability as 10·major + minor; 0: unknown
    std::int32_t status;              ///< status that the function returned; no_status: the function returns none
    char trans_a;                     ///< transposition of A: 'N', 'T' or 'C'; 0: the function has no argument for it
    char trans_b;
    std::uint8_t dtype;      ///< element type: a policy::Dtype
    std::uint8_t device;     ///< CPU or GPU: a policy::Device
    std::uint8_t requested;  ///< precision that was asked for: a policy::Precision
    std::uint8_t applied;  ///< lowest format that the call was allowed to use: a policy::AppliedFormat; policy::Floor
                           ///< orders the formats
    std::uint8_t actual;   ///< format that the library says it used: a policy::AppliedFormat; no_actual: the library
                           ///< does not say
    std::uint8_t how;      ///< way in which the product was executed: a record::How
    std::uint8_t source;   ///< source of `requested`: a policy::Source
    std::uint8_t reason;   ///< reason why the product did not run as asked: a policy::Reason
    std::uint8_t accumulator_as_called : 4;  ///< number type in which the call would add if it ran as the
                                             ///< program made it: a policy::Accumulator
    std::uint8_t accumulator : 4;            ///< number type in which the call that ran added: a policy::Accumulator
    std::uint8_t mantissa_bits;              ///< mantissa bits that an emulated float64 product kept; 0: not known
    StringId where;                          ///< line of the program that asked for the product
};
static_assert(sizeof(RowContent) == 88 && std::has_unique_object_representations_v<RowContent>);

struct RowRecord {
    RowContent content;
    std::uint32_t published;  ///< 1: the row is complete; stored last
    StringId stack;           ///< id of the FrameRecord of the call path's innermost frame; 0: not known
};
static_assert(sizeof(RowRecord) == 96);

// ---- call paths ---------------------------------------------------------------------------------------------------

/// A frame of a call path, stored as a text in a segment of strings. Equal frames with the same parent share one
/// record, so the frames of all call paths form a tree.
struct FrameRecord {
    StringId parent;       ///< id of the FrameRecord of the calling frame; 0: this frame is the outermost one
    StringId file;         ///< path of the source file, or of the loaded program or library
    StringId function;     ///< name of the function; 0: the frame is a location in a program or library
    std::uint32_t line;    ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset;  ///< return address in a program or library, in bytes from its load address
};
static_assert(sizeof(FrameRecord) == 20);

// ---- counters -----------------------------------------------------------------------------------------------------

/// Limits the estimate for untimed calls. An untimed call is assumed to last as long as the next timed call with the
/// same decision (row), but at most outlier_factor times the mean of all these calls without the longest one. So one
/// interrupted call does not distort the total.
inline constexpr std::uint64_t outlier_factor = 8;

/// Counters of the calls that one slot (thread) has made with one decision (row). `calls` is stored last, so a reader
/// may see the other fields include one call more than `calls` does. `total` is an estimate, because not all calls
/// are timed (outlier_factor).
struct CounterRecord {
    std::uint64_t calls;
    std::uint64_t total;  ///< ticks spent in the calls; the time of a call on CUDA ends when its kernels are launched
    std::uint64_t shortest;  ///< duration of the shortest timed call, in ticks
    std::uint64_t longest;   ///< duration of the longest timed call, in ticks
    std::uint64_t first;     ///< time at which the first call returned, in ticks
    std::uint64_t last;      ///< time at which the last call returned, in ticks; some untimed calls may have followed
    std::uint32_t row_plus_one;  ///< number of the row plus 1; 0: unused; stored after the other fields' first values
    std::uint32_t
        untimed;          ///< number of untimed calls after the newest timed call; `total` does not yet contain them
    std::uint64_t timed;  ///< number of timed calls
};
static_assert(sizeof(CounterRecord) == 64);

// ---- times on a GPU -----------------------------------------------------------------------------------------------

/// Times in nanoseconds that the calls of one slot (thread) with one decision (row) took on a GPU. Only some of the
/// calls are measured on the GPU. `samples` is stored last.
struct GpuTimeRecord {
    std::uint64_t samples;  ///< number of measured calls
    std::uint64_t total;    ///< sum of the times of the measured calls
    std::uint64_t shortest;
    std::uint64_t longest;
    std::uint64_t total_of_first_calls;  ///< sum of the times of those measured calls that were the slot's first
                                         ///< calls with this decision
    std::uint32_t row_plus_one;          ///< number of the row plus 1; 0: unused
    std::uint32_t first_calls;           ///< number of calls whose times are in `total_of_first_calls`
};
static_assert(sizeof(GpuTimeRecord) == 48);
/// Largest number of segments with times on a GPU in one slot. No times are stored for further rows of the slot.
inline constexpr std::uint32_t gpu_time_segment_limit = 64;

// ---- events -------------------------------------------------------------------------------------------------------

struct EventRecord {
    std::uint64_t time;  ///< ticks at which the call returned, or at which an untimed call began; 0: the entry is
                         ///< unused; stored last
    std::uint64_t duration_row;  ///< duration in ticks << 20 | number of the row
};
static_assert(sizeof(EventRecord) == 16);

/// The duration that is stored for a call that was not timed. Most short calls are not timed.
inline constexpr std::uint64_t untimed = 0;
/// Largest duration in ticks that can be stored. Longer durations are stored as longest_duration.
inline constexpr std::uint64_t longest_duration = (std::uint64_t{1} << 44) - 1;

constexpr std::uint64_t pack_duration_and_row(std::uint64_t duration, std::uint32_t row) {
    return (duration < longest_duration ? duration : longest_duration) << row_bits | row;
}
constexpr std::uint32_t row_of(const EventRecord& event) {
    return static_cast<std::uint32_t>(event.duration_row) & ((1U << row_bits) - 1);
}
constexpr std::uint64_t duration_of(const EventRecord& event) { return event.duration_row >> row_bits; }

// ---- objects ------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t object_is_bound_past = 1;  ///< the object's calls of BLAS functions may bypass the
                                                          ///< shim; if kernels are recorded, also its calls of the
                                                          ///< CUDA driver
inline constexpr std::uint32_t object_tells = 2;          ///< the object contains oneDNN, and each execution of this
                                                          ///< oneDNN is recorded
inline constexpr std::uint32_t object_is_silent =
    4;  ///< if the object contains oneDNN, some of its executions may not be recorded
inline constexpr std::uint32_t object_asks_past = 8;  ///< the object's calls of getenv may bypass the shim
inline constexpr std::uint32_t object_tells_jax =
    16;  ///< the object contains XLA, and fp32shim_jax.py sees each program that JAX has this XLA compile for a CPU
inline constexpr std::uint32_t object_has_narrow_jax =
    32;  ///< a program that JAX compiled with the object's XLA multiplies numbers narrower than float32, or its
         ///< products are not known
inline constexpr std::size_t build_id_limit = 20;
/// Largest number of segments with objects. If a process loads more objects than fit, flag_objects_missed is set.
inline constexpr std::uint32_t object_segment_limit = 8;

/// A program or library that was loaded into the process, and may have been unloaded since. Its path and its build id
/// identify it.
struct ObjectRecord {
    std::uint64_t first_seen;               ///< ticks at which the shim first noticed the object, which may have been
                                            ///< loaded earlier
    StringId path;                          ///< path that the loader has for the object
    std::uint32_t flags;                    ///< bits object_…, which may also be set after publication
    std::uint8_t build_id_size;             ///< number of bytes of the build id; 0: the file has no build id
    std::uint8_t build_id[build_id_limit];  ///< first bytes of the build id
    FileState file;           ///< facts about the file when the object was entered; older writers left zeros
    std::uint32_t published;  ///< 1: the entry is complete; stored last
};
static_assert(sizeof(ObjectRecord) == 48 && offsetof(ObjectRecord, file) == 37);

// ---- audits -------------------------------------------------------------------------------------------------------

/// One audited call. record::Audit describes the values.
struct AuditRecord {
    std::uint64_t time;      ///< ticks at which the call returned; stored last
    std::uint32_t row;       ///< number of the call's row (RowRecord)
    std::uint8_t tested;     ///< format of the tested result: a policy::AuditFormat
    std::uint8_t reference;  ///< format of the reference: a policy::AuditFormat
    std::uint8_t flags;      ///< flags of the audit: bits record::audit_…
    std::uint8_t notes;      ///< bits record::audit_noted and following; in a record with audit_received, a
                             ///< NonfiniteOperand
    double norm;             ///< errors of the audit: see record::AuditErrors
    double max;
    double mean;
    double component;
    double row_error;
    double column_error;
    std::uint32_t worst_row;
    std::uint32_t worst_column;
    std::int16_t exponents[6];  ///< lowest and highest binary exponent of A, of B and of C; the lowest exceeds the
                                ///< highest if no element has an exponent
    /// In a record about NaN or infinity, `further` has the number, from 0, of the product in its batch, and the bits
    /// of the magnitudes of alpha and beta as floats. In other records, it has the bits of Audit::cancellation,
    /// fp32_error and tested_error; `notes` says which of these are known.
    std::uint32_t further[3];
};
static_assert(sizeof(AuditRecord) == 96);

// ---- fingerprints -------------------------------------------------------------------------------------------------

/// Fingerprint of one call's result. record::Fingerprint describes the values.
struct FingerprintRecord {
    std::uint64_t time;    ///< ticks at which the call returned; stored last
    std::uint32_t row;     ///< number of the call's row (RowRecord)
    std::uint32_t flags;   ///< flags of the fingerprint: bits record::fingerprint_…
    std::uint32_t number;  ///< number, from 0, among the thread's fingerprints; a gap in the numbers means that the
                           ///< file had no space for some fingerprints
    std::int32_t thread;   ///< id of the calling thread
    std::uint64_t hash;
    double norm;
    double sketch[sketch_size];
};
static_assert(sizeof(FingerprintRecord) == 296);

/// The hashes of the operands of a call that has a fingerprint (record::OperandHashes), and of the rows of the call's
/// result.
struct OperandsRecord {
    std::uint64_t time;    ///< the same time as in the call's FingerprintRecord; stored last
    std::uint32_t row;     ///< number of the call's row (RowRecord)
    std::uint32_t number;  ///< the same number as in the call's FingerprintRecord
    std::int32_t thread;   ///< id of the calling thread
    std::uint32_t rows;    ///< Fingerprint::rows of the result; older writers left 0
    OperandHashes hashes;
};
static_assert(sizeof(OperandsRecord) == 56);

// ---- rules --------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t rule_is_used = 1;       ///< the rule has decided a call
inline constexpr std::uint32_t rule_is_withdrawn = 2;  ///< a reload has removed or changed the rule
/// Largest number of segments with rules. If reloads of changed policies bring more rules than fit, the further rules
/// are not recorded.
inline constexpr std::uint32_t rule_segment_limit = 4;

/// A rule of the policy that was in force at the start of the recording or after a reload.
struct RuleRecord {
    StringId name;
    StringId file;            ///< path of the policy file
    std::uint32_t line;       ///< line in the policy file, from 1
    std::uint32_t flags;      ///< bits rule_is_…, which may also be set after publication
    std::uint64_t content;    ///< the hash policy::Rule::content, which readers do not use
    std::uint32_t published;  ///< 1: the entry is complete; stored last
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
