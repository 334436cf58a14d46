// Children of a run that the shim does not cover. `run` names a file for them, tells it to the processes by a
// variable, and lists the children when the program has ended.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// The process in which the program runs: that of `fp32shim run`, or a child of it.
enum class ProgramProcess : bool { own, child };

class RunChildren {
  public:
    /// Chooses a number for this run and a file for uncovered children, and puts both into `environment`. Does
    /// nothing if `log_path` names no recordings. `is_own`: this run named the log; if false, number and file of an
    /// outer `fp32shim run` are used, if there is one.
    RunChildren(const std::string& log_path, bool is_own, ProgramProcess process, ProcessEnvironment& environment,
                const record::ProcessFacts& facts);

    /// Number of this run in its recordings (ProcessFacts::run); 0: none.
    std::uint64_t run() const { return run_; }
    /// Path of the file for uncovered children, which is made for the first of them; empty: none.
    const std::string& path() const { return path_; }

    /// Notes in the file for uncovered children that the shim does not cover `program`, and why.
    void record_unseen(const std::string& program, record::WhyUnseen why) const;

    /// Returns the children that the file for uncovered children lists.
    std::vector<record::RecordedChild> all() const;

  private:
    std::string path_;
    std::uint64_t run_ = 0;
};

/// Returns a line `not covered…: …` with the first few of `children`; empty if there are none.
std::string children_line(const std::vector<record::RecordedChild>& children);

}  // namespace fp32shim::cli
