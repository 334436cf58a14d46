// Writes what `fp32shim run` adds to the recordings of a run. A file beside them lists the children that the shim
// does not cover; `run` chooses its name and passes the name to all processes in a variable. The end of the run is
// noted in each recording, so that `fp32shim verify` knows whether it has all recordings of the run.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"
#include "record/read/processes.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Says which process becomes the program: that of `fp32shim run` itself (`own`), or a child process of it.
enum class ProgramProcess : bool { own, child };

/// The file of a run that lists those children (programs that processes of the run start) that the shim does not
/// cover.
class RunChildrenFile {
  public:
    /// Chooses a number for this run and a file for children that the shim does not cover, and puts both into
    /// `environment`. Does nothing if `log_path` is not the name of a recording. `is_own` is true if this run named
    /// the log. If it is false and there is an outer `fp32shim run`, uses the number and the file of the outer run.
    RunChildrenFile(const std::string& log_path, bool is_own, ProgramProcess process, ProcessEnvironment& environment,
                    const record::ProcessFacts& facts);

    /// Returns the number of this run in its recordings (ProcessFacts::run); 0 if it has none.
    std::uint64_t run_number() const { return run_; }
    /// Returns true if this command waits for the program and has made the file, in which processes count their
    /// recordings. This command then has to note the end of the run.
    bool is_awaited() const { return is_awaited_; }
    /// Returns the path of the file; empty if there is none. If no command waits for the program, the file is made
    /// when the first child that the shim does not cover starts.
    const std::string& path() const { return path_; }
    /// Removes the file, after the program could not be started.
    void remove_file() const;

    /// Adds `program` to the file as one that the shim does not cover, with the reason `why`.
    void add_unseen_program(const std::string& program, record::WhyUnseen why) const;

    /// Returns the children that the file lists.
    std::vector<record::RecordedChild> read_children() const;

  private:
    std::string path_;
    std::uint64_t run_ = 0;
    bool is_awaited_ = false;
};

/// Returns a line `started without the shim, …` with the first few of `children`; empty if there are none.
std::string unseen_children_line(const std::vector<record::RecordedChild>& children);

/// Facts about a run at the time when the program that `fp32shim run` started has ended. Other processes of the run
/// may still be running.
struct RunEnding {
    std::vector<std::string> recordings;            ///< recordings of the run
    std::string children_file;                      ///< file for the children of the run
    std::vector<record::RemainingProcess> running;  ///< other processes of the run that still run
    bool has_lost_recordings = false;  ///< there is no recording, although processes of the run may have made some
};

/// Notes the end of the run in each recording that can be written. Removes the file for children if all processes
/// have ended and the file says nothing that the recordings do not say.
void note_run_end(const RunEnding& ending);

/// Returns a line about the processes that still run; empty if there are none.
std::string still_running_line(const RunEnding& ending);

}  // namespace fp32shim::cli
