// Children of a run that the shim does not cover. `run` names a file for them, tells the processes by a variable, and
// lists the children when the program has ended.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class RunChildren {
  public:
    /// Gives the run a number and a file for children, and tells `environment`, if `log_path` names recordings. A log
    /// that is not the run's own (`is_own`) belongs to an outer run; then the outer run's number and file are used.
    RunChildren(const std::string& log_path, bool is_own, ProcessEnvironment& environment,
                const record::ProcessFacts& facts);

    /// Number that the recordings of this run have (ProcessFacts::run); 0: none.
    std::uint64_t run() const { return run_; }
    /// File for children, made with the first of them; empty if no name was free.
    const std::string& path() const { return path_; }

    /// Notes that the program itself is not covered.
    void note(const std::string& program, record::WhyUnseen why) const;

    /// Returns the children that were noted.
    std::vector<record::RecordedChild> all() const;

  private:
    std::string path_;
    std::uint64_t run_ = 0;
};

/// Returns a line `not covered: …` with the first few children; empty if there are none.
std::string children_line(const std::vector<record::RecordedChild>& children);

}  // namespace fp32shim::cli
