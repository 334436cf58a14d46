// What `fp32shim run` says at the end, from the recordings of the program and of those that it started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::cli {

class RunSummary {
  public:
    /// `log_path`: of the settings, placeholders and all; relative names are this process's, and so are those of
    /// recordings(). Where it is empty, the program is made to record into a temporary folder, in $TMPDIR. A process
    /// has one log: one that is no recording leaves nothing to summarise.
    RunSummary(const std::string& log_path, ProcessEnvironment& environment, const record::ProcessFacts& facts);
    ~RunSummary();
    RunSummary(const RunSummary&) = delete;
    RunSummary& operator=(const RunSummary&) = delete;

    /// Why there will be no summary, in one line; empty where nothing is wrong.
    const std::string& problem() const { return problem_; }

    /// Of the recordings; placeholders and all.
    const std::string& log_path() const { return log_path_; }
    bool is_temporary() const { return !folder_.empty(); }
    /// Those that began since this was made, the oldest first. The program has ended.
    /// `left_out`: a file that is none of a process.
    std::vector<std::string> recordings(const std::string& left_out) const;

    /// Reads them, and returns the lines to show of them, each with a line feed; empty where there are none.
    std::string read(const std::vector<std::string>& recordings);
    /// Of what was read: whether there are calls, and what was loaded that multiplies past the shim.
    bool has_calls() const { return has_calls_; }
    const std::string& bypasses() const { return bypasses_; }

    void remove_temporary_recordings();

  private:
    /// What to type where the summary does not show all rows.
    std::string how_to_see_more(const std::vector<std::string>& recordings) const;

    std::string folder_;    ///< the temporary one; empty: none
    std::string log_path_;  ///< of the recordings to read; placeholders and all
    record::ProcessFacts facts_;
    std::int64_t began_ns_;
    std::string problem_;
    bool has_calls_ = false;
    std::string bypasses_;
};

}  // namespace fp32shim::cli
