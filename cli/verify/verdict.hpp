// The verdict of `fp32shim verify`: whether recordings show that nothing ran below a format, as data, as text and as
// JSON.
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
    std::vector<std::string> allowed_kernels;  ///< globs
    std::string at_least, expect, output;
    std::string accumulate;  ///< `fp32`: half products must add in FP32; empty: not asked
    std::string format = "table";
    bool allow_bf16x9 = false, requires_rules = false, reproducible = false;
};

/// A reason why the verdict cannot be `shown`.
struct Doubt {
    std::string where;  ///< path of the recording; empty: all recordings
    std::string reason;
};

/// A verdict as a word in JSON, as text, and as the command's exit code.
struct Verdict {
    std::string_view word, title;
    Colour colour;
    int exit_code;
};
inline constexpr Verdict shown = {"shown", "Shown", Colour::green, exit_code::ok};
inline constexpr Verdict violated = {"violated", "Violated", Colour::red, exit_code::finding};
inline constexpr Verdict inconclusive = {"inconclusive", "Inconclusive", Colour::yellow, exit_code::inconclusive};

/// The meaning of a possible bypass for the verdict.
enum class BypassStanding : std::uint8_t {
    open,      ///< something may have multiplied unseen
    assumed,   ///< --assume-unused names it
    recorded,  ///< its products are among the recorded calls
    float32,   ///< always multiplies at float32
    examined,  ///< an uncovered child whose file has nothing known that multiplies
};
/// A list of possible bypasses: its key in JSON, and its title in which `{}` stands for ` below fp32`.
struct BypassList {
    std::string_view key, title;
};
/// The lists by BypassStanding.
inline constexpr BypassList bypass_lists[] = {
    {"bypasses", "Not seen (if you know that one of these was not used{}, add --assume-unused BYPASS)"},
    {"assumed_unused", "Assumed not to have multiplied{} (--assume-unused)"},
    {"recorded_bypasses", "These multiply without the shim, but their products are recorded"},
    {"always_float32", "These multiply without the shim, but always at float32"},
    {"examined_children", "These ran without the shim, but their files contain nothing that is known to multiply"},
};

/// The jobs of which a user expects recordings (--expect), compared with those that have some.
struct ExpectedJobList {
    std::string file;                     ///< path of the list; empty: no list was given
    std::vector<std::string> jobs;        ///< each job once, in the order of the list
    std::vector<std::string> missing;     ///< expected jobs of which no process has a recording
    std::vector<std::string> unexpected;  ///< paths of recordings of other jobs, or of no known job
};

/// Predicate of a sentence about an expected job that has no recording, with the possible causes.
constexpr std::string_view no_recording_of_job =
    "is expected, but has no recording here (it multiplied nothing, did not load the shim, had "
    "FP32_MATMUL_DISABLE=1, "
    "recorded elsewhere, or lost the variables that name it: see the recordings without a job)";

/// Reads the list that --expect names. Returns an error message of one line; empty on success.
std::string read_expected_jobs(const std::string& path, ExpectedJobList& expected);

/// Sets the missing and the unexpected jobs of a list. Does nothing if no list was given.
void compare_jobs(const std::vector<MergedProcess>& processes, ExpectedJobList& expected);

/// Kinds of kernels on GPUs by what is known of their precision, from the best to the worst.
enum class KernelKind : std::uint8_t {
    no_product,  ///< its name says that it multiplies no matrices
    full,        ///< float32 or wider, by its name; or no instruction in its code multiplies in less
    split,       ///< float32 as several products of a lower format, about as accurate as FP32
    narrower,    ///< its operands are narrower than float32
    below,       ///< float32 in a lower format
    unknown,
};
inline constexpr std::size_t kernel_kinds = 6;

/// The kernels that recorded programs launched on GPUs, without those that belong to products of cuBLAS and multiply
/// in a format that the product may use.
struct KernelSummary {
    /// The names of the kernels by KernelKind. Each kernel is named once, by its worst kind.
    std::array<std::vector<std::string>, kernel_kinds> names;
    std::uint64_t launches = 0;  ///< number of launches, without replays
    std::uint64_t replays = 0;   ///< number of replays of graphs

    std::size_t kernel_count() const;
    const std::vector<std::string>& names_of(KernelKind kind) const { return names[static_cast<std::size_t>(kind)]; }
};

/// Sums up the kernels in rows that have calls.
KernelSummary summarize_kernels(const MergedCalls& calls);

/// Returns `1 launch`, `2 launches`.
std::string launch_count_text(std::uint64_t count);

/// Returns a sentence about the kernels; empty if there are none.
std::string kernels_text(const KernelSummary& kernels);
Json to_json(const KernelSummary& kernels);

/// Numbers of the products of float64 that cuBLAS was allowed to emulate.
struct EmulatedCallCounts {
    std::uint64_t known = 0;       ///< emulated, with a known number of bits
    std::uint64_t of_float64 = 0;  ///< those with at least the bits of float64
    std::uint64_t native = 0;      ///< not emulated, as cuBLAS told
    std::uint64_t unknown = 0;     ///< cuBLAS was not asked, or did not tell
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
    std::uint64_t half_calls = 0;  ///< with --accumulate: half products, which it judges

    /// Adds a doubt about all recordings.
    void add_doubt(std::string reason) { doubts.push_back({"", std::move(reason)}); }
    /// Returns the number of the calls that violate what is asked and whose rows `is_of` selects.
    template <class Condition>
    std::uint64_t count_violating_calls(const Condition& is_of) const {
        std::uint64_t sum = 0;
        for (const MergedRow* row : violations)
            if (std::invoke(is_of, row)) sum += row->counters.calls;
        return sum;
    }
    const Verdict& verdict() const {
        if (!violations.empty()) return violated;
        return doubts.empty() && bypasses[static_cast<std::size_t>(BypassStanding::open)].empty() ? shown
                                                                                                  : inconclusive;
    }
};

/// Numbers and times of the calls of one recording.
struct JudgedCallCounts {
    /// Times at which the first and the last call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint64_t below = 0;                            ///< number of calls that violate what is asked
    std::map<std::size_t, std::uint64_t> below_by_row;  ///< numbers of such calls, by index in MergedCalls::rows()
};

/// Counts the calls of a recording. `is_below` returns true for a row whose calls count as JudgedCallCounts::below.
/// It is called with null for calls without a row. `index_of` returns a row's index in MergedCalls::rows().
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

/// Returns the floor that --at-least names; with --reproducible and --accumulate, which need none, fp32.
policy::Floor asked_floor(const VerifyOptions& options);

/// Returns true if the calls of a row violate what the options ask. `row` is null for calls without a row.
bool is_violation(const record::RecordedRow* row, const VerifyOptions& options);

/// Judges all calls and processes. `problems` are those that were found while the recordings were read.
VerifyResult verify_calls(const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                          const VerifyOptions& options, ExpectedJobList expected);

/// Returns what is wrong with a list of --assume-unused; empty if nothing is.
std::string problem_with_bypass_names(const std::string& list);

/// Returns sentences that say which products a verdict covers, and which it does not.
std::string verdict_scope_text(const VerifyOptions& options, const MergedCalls& calls);

Json to_json(const ExpectedJobList& expected);

/// The verdict by the floors that bound the recorded jobs: with a line for each job, or as JSON.
struct VerdictByFloors {
    const Verdict& verdict;
    bool lacks_rule;  ///< a rule of a policy decided no call
    std::string text;
};
VerdictByFloors verdict_by_floors(const RecordingPaths& found, const std::vector<ReadingProblem>& problems,
                                  const VerifyOptions& options, ExpectedJobList expected);

/// Returns the verdict as a sentence without its title.
std::string verdict_summary(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options);
/// The next two functions return the verdict as text and as JSON. `judged` has the calls of each recording, in the
/// order of the recordings.
std::string text_of(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
                    const std::vector<JudgedCallCounts>& judged);
Json to_json(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
             const std::vector<JudgedCallCounts>& judged);

}  // namespace fp32shim::cli
