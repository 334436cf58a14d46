// The verdict of verify: whether recordings show that nothing ran below a format, as data, as text and as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/verify/bypasses.hpp"
#include "cli/verify/evidence.hpp"
#include "cli/verify/expected_jobs.hpp"
#include "cli/verify/kernels.hpp"

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

/// Numbers of the products of float64 that cuBLAS was allowed to emulate.
struct EmulatedCalls {
    std::uint64_t known = 0;       ///< emulated, with a known number of bits
    std::uint64_t of_float64 = 0;  ///< those with at least the bits of float64
    std::uint64_t native = 0;      ///< not emulated, as cuBLAS told
    std::uint64_t unknown = 0;     ///< cuBLAS was not asked, or did not tell
};

/// All results on which the verdict depends.
struct VerifyResult {
    std::vector<const MergedRow*> violations;
    std::vector<Doubt> doubts;
    std::array<std::vector<PossibleBypass>, std::size(bypass_lists)>
        bypasses;                           ///< lists of bypasses by BypassStanding
    std::set<std::string> allowed_kernels;  ///< kernels that --allow-kernel names, which are not judged
    std::uint64_t allowed_launches = 0;
    Kernels kernels;
    std::vector<RuleUseCount> rules;
    ExpectedJobs expected;
    std::uint64_t shown_calls = 0;
    EmulatedCalls emulated;
    std::uint64_t half_calls = 0;  ///< with --accumulate: half products, which it judges

    /// Returns the number of calls of violations that `is_of` selects.
    template <class Condition>
    std::uint64_t violating_calls(const Condition& is_of) const {
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

/// Returns the floor that --at-least names; with --reproducible and --accumulate, which need none, fp32.
policy::Floor floor_of(const VerifyOptions& options);

/// Returns true if the calls of a row violate what the options ask. `row` is null for calls without a row.
bool is_violation(const record::RecordedRow* row, const VerifyOptions& options);

/// Returns true for half products that may add in less than FP32, or may add partial sums in less. `row` may be null.
bool adds_below_fp32(const record::RecordedRow* row);

/// Judges all calls and processes. `problems` are those of reading the recordings.
VerifyResult verify_calls(const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                          const VerifyOptions& options, ExpectedJobs expected);

/// Returns what is wrong with a list of --assume-unused; empty if nothing is.
std::string problem_with_bypass_names(const std::string& list);

/// Returns what a verdict about these recordings is about, and what it does not cover.
std::string scope_text(const VerifyOptions& options, const MergedCalls& calls);

Json to_json(const ExpectedJobs& expected);

/// The verdict by the floors that bound the recorded jobs: with a line for each job, or as JSON.
struct VerdictByFloors {
    const Verdict& verdict;
    bool lacks_rule;  ///< a rule of a policy decided no call
    std::string text;
};
VerdictByFloors verdict_by_floors(const RecordingPaths& found, const std::vector<ReadingProblem>& problems,
                                  const VerifyOptions& options, ExpectedJobs expected);

/// Returns the verdict as a sentence without its title.
std::string summary_of(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options);
/// Returns the verdict for people, and as JSON. `judged` has the calls of each recording, in the order of the
/// recordings.
std::string text_of(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
                    const std::vector<JudgedCalls>& judged);
Json to_json(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
             const std::vector<JudgedCalls>& judged);

}  // namespace fp32shim::cli
