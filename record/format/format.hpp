// The bytes of a recording, `NAME.fp32rec`, which the writer maps and the reader copies. docs/recording-format.md
// describes them in words, with a hexdump.
//
//     file      | 0: header | 1: segment | 2: segment | 3: segment | …            each has 64 KiB
//
//     segment   | SegmentHeader 64 bytes | entries of one kind                      |
//               kind   strings   texts, each | size + 1 : u32 | bytes | padding to a multiple of 16 bytes |
//                      rows      682 RowRecords of 96 bytes, one for each distinct decision
//                      counters  1023 CounterRecords of 64 bytes, all of one slot
//                      ring      4092 EventRecords of 16 bytes, which are the newest events of one slot
//                      events    4092 EventRecords of 16 bytes, which are a copy of a slot's ring when it was full
//                      objects   1364 ObjectRecords of 48 bytes, one for each loaded program or library
//                      audits    682 AuditRecords of 96 bytes, one for each audited call of one slot
//                      fingerprints  221 FingerprintRecords of 296 bytes, one for each fingerprinted call of one slot
//                      operands  1169 OperandsRecords of 56 bytes, one for each fingerprinted call of one slot
//                      rules     2046 RuleRecords of 32 bytes, one for each rule of the policy
//                      gpu times 1364 GpuTimeRecords of 48 bytes, one for each row of one slot that was measured
//
//     event     63                                                              0
//               | time: ticks at which the call returned; rises within a slot    |   stored last
//               | duration: ticks, 44 bits                   | row: 20 bits      |
//
//     string id 31                       12 11          0
//               | sequence of its segment  | offset / 16 |                           0 means that there is no text
//
// A slot is the part of the file that one thread writes to. All integers are in the byte order of the machine that
// wrote the file (`byte_order` tells which). Times are ticks of the processor's counter (format/clock.hpp); the
// header has the facts by which readers convert ticks to nanoseconds.
//
// A writer publishes an entry by a single store with release order, after it has written all other bytes of the
// entry. The fields stored last are `magic`, `kind`, `RowRecord::published`, the size of a text,
// `CounterRecord::row_plus_one` and `calls`, `EventRecord::time`, `ObjectRecord::published`, `AuditRecord::time`,
// `FingerprintRecord::time`, `OperandsRecord::time`, `GpuTimeRecord::samples`, `RuleRecord::published`,
// `ChildRecord::state`, `ListedRecording::published` and `EnvironmentRecord::fact`. Until it is stored, such a field
// is zero or has its earlier value. So the file of a running or killed process has complete entries only.
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

/// Version of the format. It grows with each change after which older readers would misread the file. The first 4096
/// bytes of the header keep their meaning in all versions.
inline constexpr std::uint32_t version = 1;

inline constexpr std::uint64_t magic = 0x0a43455232335046;  ///< the text "FP32REC\n" in a file whose integers begin
                                                            ///< with the low byte
inline constexpr std::uint32_t byte_order = 0x01020304;

// ---- header -------------------------------------------------------------------------------------------------------

enum class Architecture : std::uint8_t { unknown, x86_64, aarch64 };

/// Bits of Header::flags, which tell failures, omissions and settings of the recording. A bit that is set stays set.
inline constexpr std::uint32_t flag_file_full = 1;  ///< the file has reached its largest size
inline constexpr std::uint32_t flag_io_error = 2;   ///< the kernel refused disk space or a write; Header::last_error
                                                    ///< has the errno
inline constexpr std::uint32_t flag_rows_folded = 4;      ///< the sizes in some rows are rounded up to powers of two
                                                          ///< (row_is_folded)
inline constexpr std::uint32_t flag_rows_overflowed = 8;  ///< there was no space for more rows; overflow_row counts
                                                          ///< the calls that have no row of their own
inline constexpr std::uint32_t flag_closed = 16;          ///< the program closed the file, and reopening it failed
inline constexpr std::uint32_t flag_lookup_past = 32;     ///< dlsym gave the program a library's own function instead
                                                          ///< of the shim's
inline constexpr std::uint32_t flag_objects_missed = 64;  ///< some loaded objects are not in the file
inline constexpr std::uint32_t flag_left = 128;  ///< the process no longer records into this file, because of a
                                                 ///< reload or a strict seccomp mode (Header::went_on_at)
inline constexpr std::uint32_t flag_children_only = 256;  ///< the file only lists programs that ran without the shim
inline constexpr std::uint32_t flag_children_file =
    512;  ///< the run has a separate file that lists its children; `verify` has to read that file, too
inline constexpr std::uint32_t flag_run_is_awaited = 1024;  ///< `fp32shim run` waits for the end of the run, and then
                                                            ///< writes Header::run_end
inline constexpr std::uint32_t flag_asks_onednn = 2048;     ///< each oneDNN in the process prints its executions,
                                                            ///< because the shim answers its reads of ONEDNN_VERBOSE
                                                            ///< (object_tells)
inline constexpr std::uint32_t flag_asks_kernels = 4096;  ///< the shim records the kernels that the process launches
                                                          ///< on GPUs
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
inline constexpr std::uint8_t no_precision = 0xf;  ///< no precision is requested; environment variables and policy
                                                   ///< files decide again

/// A command of `fp32shim set` or `fp32shim reload` in 64 bits. The value 0 means that no command was sent.
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
    command,       ///< `fp32shim set` or `fp32shim reload` requested the change
    program,       ///< the program itself made the change, by the C API
    carried_over,  ///< the setting did not change: it was in force before this recording began, after a fork or in a
                   ///< new log file
};

/// Settings that environment variables and policy files give after a reload.
struct ReloadedSettings {
    policy::Precision default_precision = policy::Precision::native;
    policy::Floor floor = policy::Floor::none;
    policy::CpuMode cpu_mode = policy::CpuMode::off;
    bool allow_bf16x9 = false;
};

/// One change of the process's settings while it ran.
struct SettingsChangeRecord {
    std::uint64_t time;      ///< time of the change, in ticks; stored last
    std::uint32_t kind;      ///< setting that was changed: a SettingsChangeKind
    std::uint32_t origin;    ///< who made the change: a SettingsChangeOrigin
    std::uint32_t result;    ///< outcome of the change: a CommandResult, such as `refused` if the policy to reload
                             ///< was wrong
    std::int32_t requester;  ///< process id of the `fp32shim` command; 0: the program itself made the change
    std::uint8_t precision;  ///< requested precision: a policy::Precision, or no_precision
    std::uint8_t floor;      ///< requested floor: a policy::Floor
    std::uint8_t allows_bf16x9;  ///< 1: after the reload, BF16x9 may be used where the floor, the lowest allowed
                                 ///< precision, is fp32
    std::uint8_t reserved0;
    StringId policy_name;  ///< name of the policy after a reload
    StringId policy_revision;
    StringId policy_sha256;
    StringId message;
    // The next fields are valid after a reload. Older writers left zeros in them.
    std::uint8_t has_settings;       ///< 1: `default_precision`, `settings_floor` and `cpu_mode` are the settings
                                     ///< after a reload
    std::uint8_t default_precision;  ///< default precision that the policy and the environment give: a
                                     ///< policy::Precision; `fp32shim set` overrides it
    std::uint8_t settings_floor;     ///< floor that the policy and the environment give: a policy::Floor; the C API
                                     ///< can raise it
    std::uint8_t cpu_mode;           ///< treatment of products on the CPU: a policy::CpuMode
    StringId floor_exception;        ///< names of the exceptions that lowered `settings_floor`
    std::uint32_t reserved1[3];
};
static_assert(sizeof(SettingsChangeRecord) == 64 && offsetof(SettingsChangeRecord, has_settings) == 44);
/// Number of changes of settings that the header keeps. Change number i, from 0, is at index i % change_limit of
/// Header::changes, where it overwrites an older change.
inline constexpr std::size_t change_limit = 256;

// ---- children -----------------------------------------------------------------------------------------------------

enum class ChildDetail : std::uint8_t { none, folder, interpreter };
inline constexpr std::size_t child_text_limit = 224;
inline constexpr std::size_t child_limit = 40;
inline constexpr std::uint32_t child_is_whole = 2;
/// A bit of ChildRecord::detail_kind. It is set if the child's environment names further libraries for the loader, or
/// folders in which the loader looks for libraries.
inline constexpr std::uint8_t child_has_own_libraries = 128;

/// A program that ran without the shim. In a file with flag_children_only, a process without a recording started the
/// program; in other files, the recorded process did. Starts of the same program that differ only in their time or in
/// the process that starts it share one record.
struct ChildRecord {
    std::uint32_t state;       ///< 0: the record is unused; 1: it is being written; child_is_whole: it is complete;
                               ///< stored last
    std::uint32_t count;       ///< number of starts; 0: the kernel refused every start
    std::int64_t first_ns;     ///< time of the first start: nanoseconds since 1970, UTC
    std::int64_t last_ns;      ///< time of the last start: nanoseconds since 1970, UTC
    std::int32_t pid;          ///< id of the first process that started the program or became it by exec
    std::uint8_t why;          ///< reason why the program lacked the shim: a record::WhyUnseen
    std::uint8_t detail_kind;  ///< meaning of the detail in `text`: a ChildDetail, combined with the bit
                               ///< child_has_own_libraries
    std::uint8_t path_size;    ///< number of bytes of the path in `text`; a `…` at the start of the path replaces a
                               ///< beginning that was too long
    std::uint8_t detail_size;  ///< number of bytes of the detail, which follows the path in `text`
    char text[child_text_limit];
};
static_assert(sizeof(ChildRecord) == 256);

inline constexpr std::size_t listed_name_limit = 44;
inline constexpr std::size_t listed_limit = 31;

/// An entry of the list in a header: another recording of the same run or family (write/listing.hpp). The process
/// that makes this other recording writes the entry.
struct ListedRecording {
    std::uint32_t published;      ///< 1: the entry is complete; stored last
    std::int32_t pid;             ///< process id of this process, in its own PID namespace
    std::uint64_t process_start;  ///< start of this process, in the unit of Header::process_start
    std::uint32_t name_size;
    char name[listed_name_limit];  ///< name of the recording's file; a `…` at its start replaces a beginning that was
                                   ///< too long
};
static_assert(sizeof(ListedRecording) == 64);

// ---- environment --------------------------------------------------------------------------------------------------

/// One fact about the process's environment. A fact whose value changes has one record for each value.
struct EnvironmentRecord {
    std::uint32_t fact;  ///< number of the fact: a record::EnvironmentFact; 0: the record is unused; stored last
    StringId subject;    ///< library or device that the fact is about; 0: the fact is about the process
    StringId value;
    std::uint32_t reserved;
};
static_assert(sizeof(EnvironmentRecord) == 16);
inline constexpr std::size_t environment_limit = 64;

// ---- marks --------------------------------------------------------------------------------------------------------

inline constexpr std::size_t mark_limit = 256;
inline constexpr std::uint32_t mark_lacks_files = 1;  ///< some loaded files are not in the mark, because it had no
                                                      ///< space for them
inline constexpr std::uint32_t mark_has_lookup_past = 2;  ///< dlsym gave the program a library's own function instead
                                                          ///< of the shim's
/// The process multiplied matrices after it had changed the name of its log or had switched the shim off.
inline constexpr std::uint32_t mark_has_changed_log = 4;
inline constexpr std::uint32_t mark_flag_onednn_log_requested = 8;   ///< the process was started with
                                                                     ///< FP32_MATMUL_ONEDNN=1
inline constexpr std::uint32_t mark_flag_kernel_log_requested = 16;  ///< the process was started with
                                                                     ///< FP32_MATMUL_KERNELS=1, and ended before it
                                                                     ///< read its settings

/// A mark: the list of the files that a process had loaded, if the process ended without a recording. Processes whose
/// marks would be equal share one mark. Marks are stored in the file for the children of a run (write/children.hpp).
/// The mark with the hash Header::marks[i] is in segment i + 1.
struct UnrecordedProcessSegment {
    std::uint32_t published;  ///< 1: the mark is complete; stored last
    std::uint32_t flags;      ///< flags of the mark: bits mark_…
    std::int64_t noted_ns;    ///< end of the first process that left this mark: nanoseconds since 1970, UTC
    std::uint16_t pins;  ///< environment variables that `run --pin` sets and the process had (see ProcessFacts::pins)
    std::uint16_t processor;  ///< processor of the process, encoded as Header::processor is; older writers left zeros
    std::uint32_t layouts;    ///< number of the files, from the first one on, that have a FileState::layout; the
                              ///< layouts follow the last file
    std::uint32_t count;      ///< number of files; the first file is the program itself
    std::uint32_t size;       ///< number of bytes that the files fill in `files`
    char files[segment_size - 32];  ///< each file's UnrecordedProcessFile, path and build id, one file after another;
                                    ///< then the layouts
};
static_assert(sizeof(UnrecordedProcessSegment) == segment_size && offsetof(UnrecordedProcessSegment, files) == 32);

struct UnrecordedProcessFile {
    std::uint16_t path_size;
    std::uint8_t build_id_size;
    std::uint8_t flags;  ///< flags of the file: bits object_…
};
static_assert(sizeof(UnrecordedProcessFile) == 4);

// ---- end of a run -------------------------------------------------------------------------------------------------

/// A note that `fp32shim run` writes into each recording of a run when the run's program has ended.
struct RunEnd {
    std::int64_t ended_ns;     ///< time of this note: nanoseconds since 1970, UTC; 0: there is no note
    std::uint32_t running;     ///< number of other processes of the run that were still running
    std::uint32_t recordings;  ///< number of recordings of the run on this machine; 0: unknown
    std::uint64_t began;  ///< start of the process `fp32shim run`, in the unit of Header::process_start; 0: unknown
};
static_assert(sizeof(RunEnd) == 24);

/// The first segment of a file. Fields that different processes write lie on different cache lines.
struct Header {
    // The fields from offset 0 are written once, when the recording is made.
    std::uint64_t magic;  ///< the constant format::magic; stored last, once the header is complete
    std::uint32_t version;
    std::uint32_t byte_order;
    std::uint32_t segment_size;
    std::int32_t pid;          ///< process id in the process's own namespace
    std::int32_t forked_from;  ///< process id of the nearest ancestor that was recorded, if the process was forked;
                               ///< 0: it was not forked
    std::int32_t rank;         ///< rank of the process in a parallel job; -1: unknown
    std::int64_t start_realtime_ns;   ///< start of the recording: nanoseconds since 1970, UTC
    std::int64_t start_monotonic_ns;  ///< start of the recording by CLOCK_MONOTONIC
    std::uint64_t start_ticks;        ///< start of the recording by the processor's counter
    std::uint64_t run;  ///< number of the `fp32shim run` that the process belongs to; 0: it belongs to no run
    // The fields from offset 64 identify the process and hold its settings at the start.
    std::uint64_t process_start;     ///< start of the process, in clock ticks after boot: field 22 of /proc/PID/stat
    std::uint64_t pid_namespace;     ///< inode of the process's PID namespace, /proc/PID/ns/pid
    std::uint8_t boot_id[16];        ///< id of this boot, from /proc/sys/kernel/random/boot_id
    std::uint64_t max_size;          ///< limit of the file's size, in bytes
    std::uint8_t architecture;       ///< processor family: an Architecture
    std::uint8_t default_precision;  ///< default precision at the start: a policy::Precision
    std::uint8_t floor;              ///< floor at the start, which is the lowest allowed precision: a policy::Floor
    std::uint8_t cpu_mode;           ///< treatment of products on the CPU: a policy::CpuMode
    std::uint8_t tf32_rounding;      ///< how emulation rounds to TF32: a policy::Tf32Rounding
    std::uint8_t level;              ///< level of detail, summary or calls: a policy::LogLevel
    std::uint8_t on_full;            ///< what happens to events when the file is full: a policy::OnFull
    std::uint8_t pins;               ///< low 8 bits of ProcessFacts::pins (environment variables that `run --pin`
                                     ///< sets); 0: not recorded
    std::int64_t facts_ns;           ///< the time ProcessFacts::start_ns, which replaces %t in a log's name
    std::uint8_t more_pins;          ///< high 8 bits of ProcessFacts::pins
    std::uint8_t where;              ///< sources from which the shim learns a call's location in the program: a
                                     ///< policy::LocationSourceSet
    std::uint8_t native_frames;  ///< largest number of compiled callers in a call path; 0: a call path has only the
                                 ///< location of the call
    std::uint8_t accumulation;   ///< how previews add products: a policy::AccumulationModel
    std::uint8_t rounds_at_random;  ///< 1: previews round operands at random
    std::uint8_t reserved_line1[3];
    // The field at offset 128 tells where the texts are.
    TextRange texts[text_count];
    std::uint16_t processor;  ///< processor features, encoded as in record/processor.hpp; the bits about AMX are set
                              ///< when the process ends
    std::uint8_t allows_bf16x9;  ///< 1: at the start, BF16x9 could be used where the floor, the lowest allowed
                                 ///< precision, is fp32
    std::uint8_t reserved2;
    TextRange floor_exception;   ///< names of the exceptions that lowered `floor`; this text lies behind the texts of
                                 ///< `texts`
    std::uint32_t user_and_one;  ///< real user id, as outside of the process's user namespace, plus 1; 0: not known
    std::uint8_t reserved11[32];
    // The fields from offset 256 are written whenever the file grows.
    std::uint32_t next_segment;  ///< number of the first segment that no thread has reserved yet
    std::uint32_t flags;
    std::uint64_t ticks_per_second;  ///< rate of the processor's counter, which is measured again and becomes more
                                     ///< exact while the process runs
    std::uint64_t uncounted_calls;  ///< number of calls that are in no counter, because there was no space even for a
                                    ///< counter of overflow_row
    std::uint64_t uncounted_events;  ///< number of events that were lost because there was no space for a ring of
                                     ///< their thread
    std::int32_t last_error;         ///< errno of the last refusal of disk space or a write; 0: none
    std::uint32_t change_count;      ///< number of changes of settings so far; `changes` keeps the last change_limit
                                     ///< of them
    std::uint32_t segments_in_use;   ///< number of segments whose `kind` is stored, not counting the header
    std::uint8_t reserved3[20];
    // The field at offset 320 is written by `fp32shim set` and `fp32shim reload`, and read by each recorded call.
    std::uint64_t command;  ///< the newest CommandWord; 0: none was sent
    std::uint8_t reserved4[56];
    // The fields from offset 384 are the process's answer to a command.
    std::uint64_t answered;  ///< the newest CommandWord that the process has obeyed or refused; 0: none; stored last
    std::uint32_t answer;    ///< outcome of the command in `answered`: a CommandResult
    std::uint32_t answer_size;
    char answer_text[answer_limit];
    std::uint8_t reserved5[64];
    // The fields from offset 896 are written by the process.
    std::uint64_t objects_looked_at;  ///< ticks when all loaded objects were most recently listed; 0: never
    std::uint64_t exited_at;   ///< ticks at which the program called `exit`, stored after its objects were listed; 0:
                               ///< it has not called `exit`
    std::uint64_t went_on_at;  ///< `start_ticks` of the recording in which the process continued after a reload
                               ///< (flag_left); 0: there is none
    // The field at offset 920 is written by the process that starts children.
    /// Number of starts of programs without the shim that the file had no space to list.
    std::uint32_t children_missed;
    // The field at offset 924 is written by the process.
    std::uint32_t python;  ///< state of the reader of Python's stacks: a record::PythonReaderState
    // The fields from offset 928 count losses.
    std::uint64_t lost_audits;        ///< number of audits that the file had no space for
    std::uint64_t lost_fingerprints;  ///< number of fingerprints that the file had no space for
    // The field at offset 944 is used in the file for the children of a run (write/children.hpp).
    std::uint32_t marks_missed;  ///< number of processes for which no mark (UnrecordedProcessSegment) could be
                                 ///< written
    std::uint8_t reserved6[4];
    // The field at offset 952 is written by the process.
    std::uint64_t lost_operands;  ///< number of calls whose operand hashes the file had no space for
    // The field at offset 960 is written by `fp32shim run` at its end.
    RunEnd run_end;
    // The field at offset 984 is used in the file for the children of a run (write/children.hpp).
    std::uint32_t run_recordings;  ///< number of recordings that processes of the run have made
    std::uint8_t reserved7[1024 - 988];
    // The field at offset 1024 is written by the process when facts become known. Older writers left zeros.
    EnvironmentRecord environment[environment_limit];
    // The fields from offset 2048 list other recordings of the same run or family. The processes that make these
    // recordings write the list. Older writers left zeros.
    std::uint32_t listed_count;  ///< number of entries of the list; `listed` has the first listed_limit of them
    /// Number of processes that multiplied matrices and could not make a recording. They are forked children of the
    /// process; in the file for the children of a run, they are processes of the run.
    std::uint32_t unrecorded;
    std::uint64_t listed_in;  ///< list_id() of the file whose list `listed` contains this recording; 0: no list does
    std::uint64_t program;    ///< number that identifies the program that the process runs, and that forked children
                              ///< inherit; 0: unknown
    std::uint64_t reserved9;
    ListedRecording listed[listed_limit];
    std::uint8_t reserved10[4088 - 4064];
    // The field at offset 4088 is written by the process.
    std::uint64_t searched_calls;  ///< number of calls whose results were searched for NaN and infinity
    // The field at offset 4096 has the changes of settings.
    SettingsChangeRecord changes[change_limit];
    // The field at offset 20480 has the children that ran without the shim.
    ChildRecord children[child_limit];
    // The field at offset 30720, `marks`, is for the file for the children of a run (write/children.hpp).
    std::uint64_t marks[mark_limit];  ///< hash of each mark's content; 0: there is no mark with this number
    // The field at offset 32768 holds the texts.
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

/// Number of bytes at the beginning of a header that identify a recording. These bytes are equal in all copies of one
/// recording, and differ between any two recordings.
inline constexpr std::size_t identity_size = offsetof(Header, texts);
/// Returns the number of the list in a file. The recordings in the list have it in Header::listed_in. The number is a
/// hash of `identity`, the first identity_size bytes of the file, and is never 0.
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
using policy::Source;  // precisions, formats and floors have their numbers in policy/formats.def, and reasons in
                       // policy/reasons.def
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
