// Makes the summary that `fp32shim run` prints after the program has ended, from the recordings of all processes of
// the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/own_files.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/run/children.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {

/// Chooses where the program records, and summarizes the recordings after the program has ended.
class RunSummary {
  public:
    /// Prepares the summary. `log_path` is the log's name in the settings; it may have placeholders, or be relative
    /// to this process's folder. If it is empty, `environment` is changed so that the program records into a folder
    /// in .fp32shim, which is kept. If `keeps` is false, or no folder can be kept there, the program records into a
    /// temporary folder in $TMPDIR. If the log is not a recording, there is no summary: a process has only one log.
    RunSummary(const std::string& log_path, bool keeps, ProcessEnvironment& environment);

    /// Returns one line with the reason why there will be no summary; empty if there will be one.
    const std::string& problem() const { return problem_; }

    /// Returns the name of the recordings, with placeholders.
    const std::string& log_path() const { return log_path_; }
    /// Returns true if the recordings are in a temporary folder, which will be removed.
    bool has_temporary_folder() const { return folder_.has_value(); }
    /// Returns the folder that is kept, relative to the working folder; empty if none is kept.
    std::string kept_folder() const { return kept_ && kept_->problem.empty() ? kept_->path : ""; }
    /// Returns the reason why nothing is kept although it should be; empty if there is none.
    std::string why_not_kept() const { return kept_ ? kept_->problem : ""; }
    /// Returns facts about the end of the run, with the recordings of the run, oldest first. Must be called after the
    /// program has ended.
    RunEnding run_ending(const RunChildrenFile& children, const record::ProcessFacts& facts) const;

    /// Reads the recordings and returns the lines of the summary, each with a line feed; empty if there is nothing to
    /// show. `program_ns` is the time from the start of the program to its end.
    std::string summarize(const std::vector<std::string>& recordings, const RunChildrenFile& children,
                          std::int64_t program_ns);
    /// Returns commands that the user may run next, each with its purpose; empty if summarize() found no calls.
    /// `options` are the options of this `run` without --log. `program` is the program and its arguments, and `floor`
    /// the floor with which it was started.
    std::string next_commands(const std::vector<std::string>& recordings, std::vector<std::string> options,
                              const std::vector<std::string>& program, policy::Floor floor) const;
    /// Returns true if summarize() found calls.
    bool has_calls() const { return has_calls_; }
    /// Returns true if summarize() found products of float32 or complex64 matrices.
    bool has_single_precision() const { return has_single_precision_; }
    /// Returns true if summarize() found a rule that decided no call.
    bool has_unused_rule() const { return has_unused_rule_; }
    /// Returns a text with the bypasses (code that multiplies without the shim) in files that processes of the run
    /// had loaded; empty if there are none.
    const std::string& bypasses() const { return bypasses_; }
    /// Returns true if a process of the run had loaded cuDNN and a GPU's driver, and nothing switched cuDNN's TF32
    /// off.
    bool may_use_tf32_of_cudnn() const { return may_use_tf32_of_cudnn_; }

    void remove_temporary_recordings() { folder_.reset(); }
    /// Removes the folders that were made for recordings, after the program could not be started.
    void remove_folder();

  private:
    /// Returns a text that says how the user can see all rows of these recordings.
    std::string how_to_see_more(const std::vector<std::string>& recordings) const;

    std::optional<NewRunFolder> kept_;
    std::optional<TemporaryFolder> folder_;
    std::string log_path_;  ///< name of the program's recordings, with placeholders
    std::int64_t began_ns_;
    std::string problem_;
    bool has_calls_ = false, has_unused_rule_ = false;
    bool has_single_precision_ = false;
    bool has_float32_ = false;     ///< summarize() found products of matrices that are not of float64
    bool ran_below_fp32_ = false;  ///< summarize() found calls that ran below FP32, or whose format is not known
    bool has_places_ = false;      ///< summarize() found calls whose place in the program was recorded
    bool needs_cpu_mode_ = false;  ///< summarize() found calls that ran as called because the CPU mode is off
    bool may_use_tf32_of_cudnn_ = false;
    std::string bypasses_;
};

}  // namespace fp32shim::cli
