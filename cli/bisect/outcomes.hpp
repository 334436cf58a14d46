// Outcomes of sets of groups, and the interface of what runs the sets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Groups that a test lowers: only those of a set, or all except those of a set.
enum class Lowered : std::uint8_t { only, all_but };

enum class Verdict : std::uint8_t { acceptable, not_acceptable, unresolved };

constexpr std::string_view to_string(Verdict verdict) {
    return verdict == Verdict::acceptable       ? "acceptable"
           : verdict == Verdict::not_acceptable ? "not acceptable"
                                                : "unresolved";
}

/// The outcome of one run of a set.
struct SetRun {
    Verdict verdict = Verdict::unresolved;
    std::string how{};             ///< end of a sentence: `ended with status 1`
    Subset lowered{};              ///< Lowered::all_but: groups that ran at the lower precision
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had met
    Subset ran{};                  ///< groups that ran; only of runs with everything exact and of Lowered::all_but
    Subset as_often{};  ///< groups called as often as in the first run that met them, or more; none of the first run
    bool is_on_cpu = false;  ///< all products ran on a CPU
    std::map<std::string, Subset>
        other_formats{};   ///< groups of `lowered` that also ran at other formats, by the formats' words
    std::string output{};  ///< checksum of the output, or of the compared file; empty: not known
};

/// The outcome of all runs of a set.
struct Outcome {
    Verdict verdict = Verdict::unresolved;
    std::string how;              ///< how the last failed run ended, or the last run if none failed
    bool is_flaky = false;        ///< equal runs had different outcomes
    std::uint64_t last_run = 0;   ///< number of the last run, from 1
    std::uint64_t runs = 0;       ///< number of runs
    std::uint64_t failures = 0;   ///< number of runs that were not acceptable
    std::uint64_t undecided = 0;  ///< number of runs that cannot be judged
    bool is_confirmed = false;    ///< further runs, judged by themselves, gave the same verdict
    Subset lowered;               ///< Lowered::all_but: groups that ran at the lower precision
    std::map<std::string, Subset>
        other_formats;   ///< groups of `lowered` that also ran at other formats, by the formats' words
    std::string output;  ///< checksum of the output, equal in all runs; empty: it differed, or is not known
    Subset ran;  ///< groups that ran in acceptable runs; only of Lowered::all_but and of runs with everything exact
    Subset as_often;    ///< groups of `ran` that ran at least as often as in the first run, in some run after it
    Subset less_often;  ///< groups that ran less often, or not at all, with everything exact in a run after the first
    bool was_on_cpu = false;       ///< all products of the first run of the set ran on a CPU
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had met

    std::uint64_t passed() const { return runs - failures - undecided; }
};

/// A set of groups, and the outcome of its runs.
struct TestedSet {
    Lowered lowered = Lowered::only;
    Subset set;
    Outcome outcome;
    CallRange calls{};  ///< the only calls of their group that are lowered, if given

    bool is_everything_exact() const { return lowered == Lowered::only && set.empty(); }
};

/// Runs the command with sets lowered. Tests of the search have another implementation, which only computes.
class SetRunner {
  public:
    virtual ~SetRunner() = default;

    /// Runs the command once for each set, all at the same time; a set may occur several times. If not all may run,
    /// only the first ones do, and have a result. `takes_new_groups`: runs with all but a set lowered add groups that
    /// they meet for the first time.
    virtual std::vector<SetRun> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) = 0;
    /// Is called when the outcome of a set is known.
    virtual void report_outcome(const TestedSet& tested) = 0;
};

}  // namespace fp32shim::cli
