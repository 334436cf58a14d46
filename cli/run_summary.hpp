// What `fp32shim run` says at the end, from the recordings of the program and of those that it started.
#pragma once

#include <cstdint>
#include <string>

#include "cli/merged_calls.hpp"
#include "cli/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

class RunSummary {
  public:
    /// Where the settings name no log, the program is made to record into a temporary folder, in $TMPDIR. A recording
    /// that the settings ask for is read where it is. A process has one log: others leave nothing to summarise.
    RunSummary(const policy::Policy& policy, ProcessEnvironment& environment);
    ~RunSummary();
    RunSummary(const RunSummary&) = delete;
    RunSummary& operator=(const RunSummary&) = delete;

    /// Why there will be no summary, in one line; empty where nothing is wrong.
    const std::string& problem() const { return problem_; }

    /// The lines to show, each with a line feed; empty where nothing was recorded. The program has ended.
    std::string text() const;

    void remove_temporary_recordings();

  private:
    /// What to type where the summary does not show all rows.
    std::string how_to_see_more(const MergedCalls& calls) const;

    std::string folder_;   ///< the temporary one; empty: none
    std::string pattern_;  ///< of the recordings to read; empty: none
    std::int64_t began_ns_;
    std::string problem_;
};

}  // namespace fp32shim::cli
