// Writes SARIF, the format in which tools tell reviewers about lines of source.
#pragma once

#include <vector>

#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Writes SARIF 2.1.0 (OASIS) with a result for each line of the program whose calls ran below FP32, or were allowed
/// to, and for each format of these. Calls without a source line have their place in compiled code. Calls of unknown
/// format have no result. `problems` are recordings that could not be read completely.
void write_sarif(const CallPaths& paths, const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                 ReportOutput& output);

}  // namespace fp32shim::cli
