// What `fp32shim run` leaves beside the recordings of a run. A file lists the children that the shim does not cover:
// `run` chooses its name and passes it to all processes in a variable. The end of the run is noted in each recording,
// so that `fp32shim verify` knows whether it has all of them.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"
#include "record/read/processes.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// The process that becomes the program: `fp32shim run` itself, or its child.
enum class ProgramProcess : bool { own, child };

/// The file of a run that lists the children that the shim does not cover.
class RunChildrenFile {
  public:
    /// Chooses a number for this run and a file for uncovered children, and puts both into `environment`. Does
    /// nothing if `log_path` names no recordings. `is_own` is true if this run named the log. If it is false and
    /// there is an outer `fp32shim run`, that run's number and file are used.
    RunChildrenFile(const std::string& log_path, bool is_own, ProgramProcess process, ProcessEnvironment& environment,
                    const record::ProcessFacts& facts);

    /// Returns the number of this run in its recordings (ProcessFacts::run); 0: none.
    std::uint64_t run_number() const { return run_; }
    /// Returns true if this command waits for the program and has made the file, in which processes count their
    /// recordings. Then it has to note the end of the run.
    bool is_awaited() const { return is_awaited_; }
    /// Returns the path of the file for uncovered children; empty: none. If no run waits, the file is made for the
    /// first such child.
    const std::string& path() const { return path_; }
    /// Removes the file, since the program could not be started.
    void remove_file() const;

    /// Notes in the file that the shim does not cover `program`, and why.
    void add_unseen_program(const std::string& program, record::WhyUnseen why) const;

    /// Reads the children that the file lists.
    std::vector<record::RecordedChild> read_children() const;

  private:
    std::string path_;
    std::uint64_t run_ = 0;
    bool is_awaited_ = false;
};

/// Returns a line `started without the shim, …` with the first few of `children`; empty if there are none.
std::string unseen_children_line(const std::vector<record::RecordedChild>& children);

/// Facts about a run, taken when the program that `fp32shim run` started has ended; other processes of the run may
/// still be running.
struct RunEnding {
    std::vector<std::string> recordings;            ///< recordings of the run
    std::string children_file;                      ///< file for the children of the run
    std::vector<record::RemainingProcess> running;  ///< other processes of the run that still run
};

/// Notes the end in each recording. A recording that cannot be written stays without the note. Removes the file for
/// children if all processes have ended and it says nothing that the recordings do not.
void note_run_end(const RunEnding& ending);

/// Returns a line about the processes that still run; empty if there are none.
std::string still_running_line(const RunEnding& ending);

}  // namespace fp32shim::cli
