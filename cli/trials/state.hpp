// The file that keeps the runs of a search, so that the same command can continue the search after an interruption.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/output/json_fwd.hpp"
#include "cli/trials/distance.hpp"
#include "cli/trials/runs.hpp"

namespace fp32shim::cli {

/// Thrown to end a search before it has an answer, with a message and an exit code.
struct SearchAborted {
    std::string message;
    int exit_code;
    bool keeps_state =
        false;  ///< the runs made so far are useful if the command is repeated, so the state file is kept
};

/// A finished run under a policy, with the distance of its numbers from the exact numbers. A run that was read from
/// the state file has no output.
struct Trial : FinishedRun {
    OutputDistance distance{};  ///< its `problem` is set if the run did not end with status 0

    bool has_passed() const { return ended.signal == 0 && ended.exit_status == 0; }
    double duration_seconds() const { return static_cast<double>(time.end_ns - time.begin_ns) * 1e-9; }
    /// Returns true if all products ran on a CPU.
    bool is_on_cpu() const { return products.calls > 0 && products.calls_on_gpu == 0; }
};

/// The state file of a search, in JSON lines. The first line identifies the search. Each of the other lines holds an
/// input file, a run or the reference output, in the order in which they were added. The functions throw
/// SearchAborted.
class TrialStateFile {
  public:
    /// Reads the file if it exists, and otherwise starts a new one. `identity` holds all facts on which the runs
    /// depend. Throws if the file belongs to another search, or if an input file has changed since the earlier runs.
    TrialStateFile(std::string path, const Json& identity);

    /// Writes a run to the file. `request` is the checksum of the run's RunRequest.
    void keep_trial(const std::string& request, const Trial& trial);
    /// Writes `version`, which changes whenever the input file `path` does.
    void keep_file_version(const std::string& path, const std::string& version);
    /// Returns the next run with the request checksum `request` that an interrupted search has left in the file, or
    /// nothing if there is none.
    std::optional<Trial> take_trial(const std::string& request);
    /// Writes the checksum of the exact run's numbers, unless the file has one already. Returns false if the file has
    /// a different one.
    bool matches_or_keeps_reference(const std::string& checksum);
    /// Returns the number of runs that an interrupted search has left in the file.
    std::size_t earlier_run_count() const { return earlier_runs_; }
    /// Returns the paths of the files on which the runs depend.
    const std::set<std::string>& input_files() const { return files_; }
    const std::string& path() const { return path_; }
    void remove_file() const;

  private:
    void read_lines(const std::string& text, const std::string& first_line);
    void read_line(const Json& line);
    void append_lines(const std::string& lines) const;

    std::string path_;
    std::map<std::string, std::deque<Trial>> earlier_;  ///< runs by the checksum of their request
    std::string reference_;  ///< checksum of the exact run's numbers; empty if it is not known
    std::size_t earlier_runs_ = 0;
    std::set<std::string> files_;
};

}  // namespace fp32shim::cli
