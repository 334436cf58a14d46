// The jobs that a user expects recordings of: `fp32shim verify --expect FILE`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// The jobs of a list, compared with those of recordings.
struct ExpectedJobList {
    std::string file;                     ///< path of the list; empty: no list was given
    std::vector<std::string> jobs;        ///< each job once, in the order of the list
    std::vector<std::string> missing;     ///< expected jobs of which no process has a recording
    std::vector<std::string> unexpected;  ///< paths of recordings of other jobs, or of no known job
};

/// Predicate of a sentence about an expected job that has no recording, with the possible causes.
constexpr std::string_view no_recording_of_job =
    "is expected, but has no recording here (it multiplied nothing, did not load the shim, had "
    "FP32_MATMUL_DISABLE=1, "
    "recorded elsewhere, or lost the variables that name it: see the recordings without a job)";

/// Returns the job ids in `text`, each once: one a line, or the column JobIDRaw or else JobID of a table that sacct
/// prints, with `|` or blanks between columns. Steps (`12.batch`, `12.0`) count as their job. Lines that begin with
/// `#` are left out.
std::vector<std::string> parse_job_ids(std::string_view text);

/// Reads a list. Returns an error message of one line; empty on success.
std::string read_expected_jobs(const std::string& path, ExpectedJobList& expected);

/// Sets `missing` and `unexpected`. Does nothing without a list.
void compare_jobs(const std::vector<MergedProcess>& processes, ExpectedJobList& expected);

}  // namespace fp32shim::cli
