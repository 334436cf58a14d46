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
//                      operands  1169 OperandsRecords of 56 bytes, all of one slot: one per fingerprinted call
//                      rules     2046 RuleRecords of 32 bytes: one per rule of the policy
//                      gpu times 1364 GpuTimeRecords of 48 bytes, all of one slot: one per row that was measured
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
// `OperandsRecord::time`, `GpuTimeRecord::samples`, `RuleRecord::published`, `ChildRecord::state`,
// `ListedRecording::published`, `EnvironmentRecord::fact`. Before that store the field reads as zero, or as its
// earlier value. The file of a running or killed process therefore holds whole entries only.
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
#include "record/format/segments.hpp"
#include "record/why_unseen.hpp"
#include "system/hash.hpp"

namespace fp32shim::record::format {

/// Version of the format. It grows when an older reader would misread the file. The first 4096 bytes of the header
/// keep their meaning in all versions.
inline constexpr std::uint32_t version = 1;

inline constexpr std::uint64_t magic = 0x0a43455232335046;  ///< "FP32REC\n" if the low byte comes first
inline constexpr std::uint32_t byte_order = 0x01020304;

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
inline constexpr std::uint32_t flag_children_file =
    512;  ///< the run has a file for children, which `verify` has to read, too
inline constexpr std::uint32_t flag_run_is_awaited = 1024;  ///< `fp32shim run` was to note the end of the run
inline constexpr std::uint32_t flag_asks_onednn = 2048;   ///< the shim answers each oneDNN that reads ONEDNN_VERBOSE
                                                          ///< so that it prints its executions (object_tells)
inline constexpr std::uint32_t flag_asks_kernels = 4096;  ///< the kernels that are launched on GPUs are recorded
inline constexpr std::uint32_t flag_kernels_missed = 8192;  ///< some launched kernels may not be recorded

/// Offset and size of one text in the header.
struct TextRange {
    std::uint32_t offset;  ///< bytes from the beginning of the header
    std::uint32_t size;
};

enum class HeaderText : std::uint32_t {
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
inline constexpr std::size_t text_count = static_cast<std::size_t>(HeaderText::count_);

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
constexpr CommandWord make_command_word(std::uint32_t sequence, CommandKind kind, std::uint8_t precision,
                                        std::int32_t requester) {
    return {std::uint64_t{sequence & 0xffffff} << 40 | static_cast<std::uint64_t>(kind) << 36 |
            static_cast<std::uint64_t>(precision & 0xf) << 32 | static_cast<std::uint32_t>(requester)};
}

enum class CommandResult : std::uint32_t { none, done, refused };
inline constexpr std::size_t answer_limit = 432;

enum class SettingsChangeKind : std::uint32_t { none, set_precision, reload, set_floor };
enum class SettingsChangeOrigin : std::uint32_t {
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
    bool allow_bf16x9 = false;
};

/// One change of the process's settings while it ran.
struct SettingsChangeRecord {
    std::uint64_t time;          ///< time of the change, in ticks; stored last
    std::uint32_t kind;          ///< setting that was changed: a SettingsChangeKind
    std::uint32_t origin;        ///< maker of the change: a SettingsChangeOrigin
    std::uint32_t result;        ///< a CommandResult: `refused`, for example, if the policy to reload was wrong
    std::int32_t requester;      ///< process id of the `fp32shim` command; 0: the program itself made the change
    std::uint8_t precision;      ///< requested precision: a policy::Precision, or no_precision
    std::uint8_t floor;          ///< requested floor: a policy::Floor
    std::uint8_t allows_bf16x9;  ///< 1: BF16x9 meets the floor fp32 after a reload
    std::uint8_t reserved0;
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
    StringId floor_exception;        ///< names of the exceptions that lowered `settings_floor`
    std::uint32_t reserved1[3];
};
static_assert(sizeof(SettingsChangeRecord) == 64 && offsetof(SettingsChangeRecord, has_settings) == 44);
/// Number of changes that the header keeps. Change number i, from 0, is at index i % change_limit.
inline constexpr std::size_t change_limit = 256;

// ---- children -----------------------------------------------------------------------------------------------------

enum class ChildDetail : std::uint8_t { none, folder, interpreter };
inline constexpr std::size_t child_text_limit = 224;
inline constexpr std::size_t child_limit = 40;
inline constexpr std::uint32_t child_is_whole = 2;
/// Bit of ChildRecord::detail_kind: the child's environment names further libraries for the loader or folders for
/// them.
inline constexpr std::uint8_t child_has_own_libraries = 128;

/// A program that ran without the shim. Either the recorded process started it, or, with flag_children_only, some
/// process without a recording did. Starts that differ only in time and in the starting process share one record.
struct ChildRecord {
    std::uint32_t state;       ///< 0 unused, 1 being written, child_is_whole; stored last
    std::uint32_t count;       ///< number of starts; 0: the kernel refused every one
    std::int64_t first_ns;     ///< time of the first start: nanoseconds since 1970, UTC
    std::int64_t last_ns;      ///< time of the last start: nanoseconds since 1970, UTC
    std::int32_t pid;          ///< id of the process that started the program or became it by exec; of the first, if
                               ///< there were several
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
/// The process multiplied after it had changed the name of its log, or had switched the shim off.
inline constexpr std::uint32_t mark_has_changed_log = 4;
inline constexpr std::uint32_t mark_flag_onednn_log_requested = 8;   ///< as flag_asks_onednn
inline constexpr std::uint32_t mark_flag_kernel_log_requested = 16;  ///< as flag_asks_kernels

/// Marks list the loaded files of processes that ended without a recording. Processes with the same files and pins
/// share one mark. Marks are stored in the file for the children of a run; mark number i is in segment i + 1.
struct UnrecordedProcessSegment {
    std::uint32_t published;  ///< 1: the mark is whole; stored last
    std::uint32_t flags;      ///< flags of the mark: bits mark_…
    std::int64_t noted_ns;    ///< end of the first process that left this mark: nanoseconds since 1970, UTC
    std::uint16_t pins;       ///< variables of `run --pin`: see ProcessFacts::pins
    std::uint16_t processor;  ///< as Header::processor; older writers left zeros
    std::uint32_t layouts;    ///< number of files, from the first on, whose FileState::layout follows the files
    std::uint32_t count;      ///< number of files; the first is the program itself
    std::uint32_t size;       ///< number of bytes of the files in `files`
    char files[segment_size -
               32];  ///< for each file: a UnrecordedProcessFile, then its path, then its build id; then layouts
};
static_assert(sizeof(UnrecordedProcessSegment) == segment_size && offsetof(UnrecordedProcessSegment, files) == 32);

struct UnrecordedProcessFile {
    std::uint16_t path_size;
    std::uint8_t build_id_size;
    std::uint8_t flags;  ///< flags of the file: bits object_…
};
static_assert(sizeof(UnrecordedProcessFile) == 4);

// ---- end of a run -------------------------------------------------------------------------------------------------

/// Note that `fp32shim run` leaves in each recording of a run when the run's program has ended.
struct RunEnd {
    std::int64_t ended_ns;     ///< time of this note: nanoseconds since 1970, UTC; 0: no note
    std::uint32_t running;     ///< number of other processes of the run that were still running
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
    std::uint8_t where;              ///< sources of a call's location in its program: a policy::LocationSourceSet
    std::uint8_t native_frames;      ///< largest number of native callers in a call path; 0: the call site only
    std::uint8_t accumulation;       ///< how previews add products: a policy::AccumulationModel
    std::uint8_t rounds_at_random;   ///< 1: previews round operands at random
    std::uint8_t reserved_line1[3];
    // Offset 128. Places of the texts:
    TextRange texts[text_count];
    std::uint16_t processor;     ///< word of record/processor.hpp; its bits about AMX are set when the process ends
    std::uint8_t allows_bf16x9;  ///< 1: BF16x9 met the floor fp32 at the start
    std::uint8_t reserved2;
    TextRange floor_exception;   ///< names of the exceptions that lowered `floor`; behind the texts
    std::uint32_t user_and_one;  ///< real user id outside of the user namespace, plus 1; 0: not known
    std::uint8_t reserved11[32];
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
    std::uint32_t segments_in_use;   ///< number of segments whose `kind` is stored, not counting the header
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
    std::uint32_t python;  ///< state of the reader of Python's stacks: a record::PythonReaderState
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
    std::uint64_t listed_in;  ///< list_id() of the file whose list this recording entered; 0: none
    std::uint64_t program;    ///< number of the program that the process runs, equal in forked children; 0: unknown
    std::uint64_t reserved9;
    ListedRecording listed[listed_limit];
    std::uint8_t reserved10[4088 - 4064];
    // Offset 4088. Written by the process:
    std::uint64_t searched_calls;  ///< number of calls whose results were searched for NaN and infinity
    // Offset 4096. Changes of settings:
    SettingsChangeRecord changes[change_limit];
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

/// Number of bytes at the beginning of a header that are equal in copies of one recording, and differ between any two
/// recordings.
inline constexpr std::size_t identity_size = offsetof(Header, texts);
/// Returns the number of a file's list, by which recordings in the list name it (Header::listed_in): a hash of
/// `identity`, the first identity_size bytes of the file. Never 0.
inline std::uint64_t list_id(std::string_view identity) { return system::Hash().add(identity).value(); }
inline std::uint64_t list_id(const Header& header) {
    return list_id(std::string_view(reinterpret_cast<const char*>(&header), identity_size));
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
                                  How::math_mode, How::fixed_order, How::bf16_units, How::algorithm));
static_assert(are_numbered_from_0(policy::Device::cpu, policy::Device::cuda));
static_assert(are_numbered_from_0(policy::Dtype::float32, policy::Dtype::complex64, policy::Dtype::float16,
                                  policy::Dtype::bfloat16, policy::Dtype::float8, policy::Dtype::float64,
                                  policy::Dtype::complex128, policy::Dtype::int8));
static_assert(are_numbered_from_0(policy::Accumulator::unknown, policy::Accumulator::fp16,
                                  policy::Accumulator::fp32_reduced, policy::Accumulator::fp32));
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
