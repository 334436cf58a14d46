// Runs of a command with some groups lowered, as the search sees them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/bisect/state.hpp"

namespace fp32shim::cli {

/// The end of one run.
struct TrialRun {
    Verdict verdict = Verdict::unresolved;
    std::string how;               ///< `ended with status 1`
    Subset lowered;                ///< Lowered::all_but: groups that ran at the lower precision
    std::uint64_t new_groups = 0;  ///< number of groups that no earlier run had met
    Subset ran{};                  ///< with everything exact, and of Lowered::all_but: groups that ran
    Subset as_often{};             ///< those that ran as often as in the first run with them; empty for the first run
    bool is_on_cpu = false;        ///< all products ran on a CPU
    std::map<std::string, Subset> other_formats{};  ///< those of `lowered` that also ran at others, by their words
    std::string output{};  ///< checksum of the output, or of the compared file; empty: not known
};

/// Runs the command. Tests of the search have another implementation, which only computes.
class Trials {
  public:
    virtual ~Trials() = default;

    /// Runs the command once for each set, all at once; a set may be there several times. `takes_new_groups`: runs
    /// with all but a set lowered add groups that they meet for the first time.
    virtual std::vector<TrialRun> run(const std::vector<const TestedSet*>& sets, bool takes_new_groups) = 0;
    /// Takes notice of a set whose outcome is known now.
    virtual void note(const TestedSet& tested) = 0;
};

}  // namespace fp32shim::cli
