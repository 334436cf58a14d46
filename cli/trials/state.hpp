// The file that keeps the runs of a search, so that the same command can go on after an interruption.
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
    bool keeps_state = false;  ///< the runs so far are of use if the command is repeated
};

/// A run under a policy, with what its numbers have shown. A run of an earlier part of the search has no output.
struct Trial : FinishedRun {
    OutputDistance
        distance{};  ///< distance of the run's numbers; has a problem if the run ended otherwise than with status 0

    bool has_passed() const { return ended.signal == 0 && ended.exit_status == 0; }
    double duration_seconds() const { return static_cast<double>(time.end_ns - time.begin_ns) * 1e-9; }
    /// Returns true if all products ran on a CPU.
    bool is_on_cpu() const { return products.calls > 0 && products.calls_on_gpu == 0; }
};

/// The file of a search, as JSON lines: one with the identity of the search, then one for each input file, run and
/// reference output, in the order in which they came. The functions throw SearchAborted.
class TrialStateFile {
  public:
    /// Reads the file if it exists, and starts a new one otherwise. `identity`: all facts on which the runs depend.
    /// Refuses the file of another search, and one whose input files have changed.
    TrialStateFile(std::string path, const Json& identity);

    /// Keeps a run. `request`: the checksum of its request.
    void keep_trial(const std::string& request, const Trial& trial);
    /// Keeps the version of a file that runs depend on.
    void keep_file_version(const std::string& path, const std::string& version);
    /// Returns the next run of a request that an earlier part of the search has left; nothing if there is none.
    std::optional<Trial> take_trial(const std::string& request);
    /// Keeps the checksum of the exact run's numbers. Returns false if an earlier part of the search has another one.
    bool matches_or_keeps_reference(const std::string& checksum);
    /// Returns the number of runs that an earlier part of the search has left.
    std::size_t earlier_run_count() const { return earlier_runs_; }
    /// Returns the paths of the files that runs depend on.
    const std::set<std::string>& input_files() const { return files_; }
    const std::string& path() const { return path_; }
    void remove_file() const;

  private:
    void read_lines(const std::string& text, const std::string& first_line);
    void read_line(const Json& line);
    void append_lines(const std::string& lines) const;

    std::string path_;
    std::map<std::string, std::deque<Trial>> earlier_;  ///< runs by the checksum of their request
    std::string reference_;                             ///< checksum of the exact run's numbers; empty: not known
    std::size_t earlier_runs_ = 0;
    std::set<std::string> files_;
};

}  // namespace fp32shim::cli
