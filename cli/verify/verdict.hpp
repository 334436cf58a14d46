// Gives the verdict of `fp32shim verify` as data, as text and as JSON. The verdict says whether recordings show that
// nothing ran below a format.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/verify/bypasses.hpp"

namespace fp32shim::cli {

struct VerifyOptions {
    std::vector<std::string> recordings;
    std::vector<std::string> assumed_unused;   ///< each element may have several names, separated by commas
    std::vector<std::string> allowed_kernels;  ///< globs for the names of kernels that are not judged
    std::string at_least, expect, output;
    /// `fp32` if products of float16 and bfloat16 must add in FP32; empty if this is not asked.
    std::string accumulate;
    std::string format = "table";
    bool allow_bf16x9 = false, requires_rules = false, reproducible = false;
};

/// A reason why the verdict cannot be `shown`.
struct Doubt {
    std::string where;  ///< path of the recording; empty: all recordings
    std::string reason;
};

/// A verdict: its `word` in JSON, its `title` with a `colour` in texts, and the exit code of the command.
struct Verdict {
    std::string_view word, title;
    Colour colour;
    int exit_code;
};
inline constexpr Verdict shown = {"shown", "Shown", Colour::green, exit_code::ok};
inline constexpr Verdict violated = {"violated", "Violated", Colour::red, exit_code::finding};
inline constexpr Verdict inconclusive = {"inconclusive", "Inconclusive", Colour::yellow, exit_code::inconclusive};

/// The effect on the verdict of a possible bypass, which is code that multiplies without the shim.
enum class BypassStanding : std::uint8_t {
    open,      ///< the bypass may have multiplied unseen, so the verdict cannot be `shown`
    assumed,   ///< the option --assume-unused names the bypass
    recorded,  ///< the bypass's products are among the recorded calls
    float32,   ///< the bypass always multiplies at float32
    examined,  ///< the bypass is a child without the shim, whose file has nothing that is known to multiply
};
/// A list of possible bypasses: its key in JSON, and its title in which `{}` stands for ` below fp32`.
struct BypassList {
    std::string_view key, title;
};
/// The lists of possible bypasses, in the order of BypassStanding.
inline constexpr BypassList bypass_lists[] = {
    {"bypasses", "Not seen (if you know that one of these was not used{}, add --assume-unused BYPASS)"},
    {"assumed_unused", "Assumed not to have multiplied{} (--assume-unused)"},
    {"recorded_bypasses", "These multiply without the shim, but their products are recorded"},
    {"always_float32", "These multiply without the shim, but always at float32"},
    {"examined_children", "These ran without the shim, but their files contain nothing that is known to multiply"},
};

/// The jobs of which a user expects recordings (--expect), compared with the jobs that have recordings.
struct ExpectedJobList {
    std::string file;                     ///< path of the list; empty: no list was given
    std::vector<std::string> jobs;        ///< each job once, in the order of the list
    std::vector<std::string> missing;     ///< expected jobs of which no process has a recording
    std::vector<std::string> unexpected;  ///< paths of recordings of other jobs, or of no known job
};

/// The predicate of a sentence about an expected job that has no recording, with the possible causes.
constexpr std::string_view no_recording_of_job =
    "is expected, but has no recording here (it multiplied nothing, did not load the shim, had "
    "FP32_MATMUL_DISABLE=1, "
    "recorded elsewhere, or lost the variables that name it: see the recordings without a job)";

/// Reads the list that --expect names. Returns an error message of one line; empty on success.
std::string read_expected_jobs(const std::string& path, ExpectedJobList& expected);

/// Sets the missing and the unexpected jobs of a list. Does nothing if no list was given.
void compare_jobs(const std::vector<MergedProcess>& processes, ExpectedJobList& expected);

/// The kinds of kernels on GPUs by what is known of their precision, from the best to the worst.
enum class KernelKind : std::uint8_t {
    no_product,  ///< the name of the kernel says that it multiplies no matrices
    /// The kernel multiplies float32 or wider by its name, or no instruction in its code multiplies anything
    /// narrower.
    full,
    /// The kernel makes float32 products of several products of a lower format, about as accurate as FP32.
    split,
    narrower,  ///< the operands of the kernel are narrower than float32
    below,     ///< the kernel multiplies float32 in a lower format
    unknown,
};
inline constexpr std::size_t kernel_kinds = 6;

/// The kernels that recorded programs launched on GPUs, without the kernels that belong to products of cuBLAS and
/// multiply in a format that the product may use.
struct KernelSummary {
    /// The names of the kernels by KernelKind. Each kernel is named once, by its worst kind.
    std::array<std::vector<std::string>, kernel_kinds> names;
    std::uint64_t launches = 0;  ///< number of launches, without replays of CUDA graphs
    std::uint64_t replays = 0;   ///< number of replays of CUDA graphs

    std::size_t kernel_count() const;
    const std::vector<std::string>& names_of(KernelKind kind) const { return names[static_cast<std::size_t>(kind)]; }
};

/// Summarizes the kernels that were launched: those of all rows whose number of calls is not 0.
KernelSummary summarize_kernels(const MergedCalls& calls);

/// Returns a number of launches as text: `1 launch`, `2 launches`.
std::string launch_count_text(std::uint64_t count);

/// Returns a sentence about the kernels; empty if there are none.
std::string kernels_text(const KernelSummary& kernels);
Json to_json(const KernelSummary& kernels);

/// The numbers of the products of float64 that cuBLAS was allowed to emulate.
struct EmulatedCallCounts {
    std::uint64_t known = 0;       ///< number of products that were emulated with a known number of bits
    std::uint64_t of_float64 = 0;  ///< number of emulated products that kept at least the bits of float64
    std::uint64_t native = 0;      ///< number of products that were not emulated, as cuBLAS told
    std::uint64_t unknown = 0;     ///< number of products for which cuBLAS was not asked, or did not tell
};

/// All results on which the verdict depends.
struct VerifyResult {
    std::vector<const MergedRow*> violations;
    std::vector<Doubt> doubts;
    std::array<std::vector<PossibleBypass>, std::size(bypass_lists)> bypasses;  ///< lists by BypassStanding
    std::set<std::string> allowed_kernels;  ///< kernels that --allow-kernel names, which are not judged
    std::uint64_t allowed_launches = 0;
    KernelSummary kernels;
    std::vector<RuleUseCount> rules;
    ExpectedJobList expected;
    std::uint64_t shown_calls = 0;
    EmulatedCallCounts emulated;
    std::uint64_t half_calls = 0;  ///< number of products of float16 and bfloat16 that --accumulate judges

    /// Adds a doubt about all recordings.
    void add_doubt(std::string reason) { doubts.push_back({"", std::move(reason)}); }
    /// Returns the number of calls that violate the options, out of those whose rows meet the condition `is_of`.
    template <class Condition>
    std::uint64_t count_violating_calls(const Condition& is_of) const {
        std::uint64_t sum = 0;
        for (const MergedRow* row : violations)
            if (std::invoke(is_of, row)) sum += row->counters.calls;
        return sum;
    }
    const Verdict& verdict() const;
};

/// Numbers and times of the calls of one recording.
struct JudgedCallCounts {
    /// The times at which the first and the last call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint64_t below = 0;  ///< number of calls that violate what the options ask
    /// The numbers of violating calls, by the index of their row in MergedCalls::rows().
    std::map<std::size_t, std::uint64_t> below_by_row;
};

/// Counts the calls of a recording. `is_below` returns true for a row whose calls count as JudgedCallCounts::below.
/// It is called with null for calls of which only the number is known. `index_of` returns a row's index in
/// MergedCalls::rows().
JudgedCallCounts count_judged_calls(
    const record::RecordingReader& recording, const std::function<bool(const record::RecordedRow*)>& is_below,
    const std::function<std::optional<std::size_t>(const record::RecordedRow*)>& index_of);

/// Returns the facts by which people find a recording and its process: path, program, command, host, pid, job and
/// rank.
Json process_identity_json(const MergedProcess& process);

/// Returns process_identity_json() with the file's checksum, times, numbers of calls and loaded files, so that a
/// report can cite the recording. Reads the whole file to compute the checksum.
Json process_evidence_json(const MergedProcess& process, const JudgedCallCounts& calls);

/// Describes fields of a row that contradict each other; empty if none do. A consistent row proves nothing, since
/// somebody may have changed all of its fields.
std::string describe_contradiction(const MergedRow& row);

/// Returns the floor that --at-least names. Returns fp32 with --reproducible and --accumulate, which name no floor.
policy::Floor asked_floor(const VerifyOptions& options);

/// Returns true if the calls of a row violate what the options ask. `row` is null for calls of which only the number
/// is known.
bool is_violation(const record::RecordedRow* row, const VerifyOptions& options);

/// Judges all calls and processes. `problems` were found while the recordings were read.
VerifyResult verify_calls(const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                          const VerifyOptions& options, ExpectedJobList expected);

/// Returns an error message about `list`, a value of --assume-unused; empty if the list is valid.
std::string problem_with_bypass_names(const std::string& list);

/// Returns sentences that say which products a verdict covers, and which products it does not cover.
std::string verdict_scope_text(const VerifyOptions& options, const MergedCalls& calls);

Json to_json(const ExpectedJobList& expected);

/// The verdict on the recorded jobs by their own floors. `text` has a line for each job, or is JSON.
struct VerdictByFloors {
    const Verdict& verdict;
    bool lacks_rule;  ///< a rule of a policy decided no call
    std::string text;
};
VerdictByFloors verdict_by_floors(const RecordingPaths& found, const std::vector<ReadingProblem>& problems,
                                  const VerifyOptions& options, ExpectedJobList expected);

/// Returns the verdict as a sentence without its title.
std::string verdict_summary(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options);
/// Returns the verdict as text. `judged` has the calls of each recording, in the order of the recordings.
std::string text_of(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
                    const std::vector<JudgedCallCounts>& judged);
/// Returns the verdict as JSON. `judged` has the calls of each recording, in the order of the recordings.
Json to_json(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
             const std::vector<JudgedCallCounts>& judged);

}  // namespace fp32shim::cli
