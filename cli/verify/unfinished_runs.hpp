// Runs of which it is not known that all of their processes have ended and that all of their recordings are here.
#pragma once

#include <string>
#include <vector>

#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

/// Returns a doubt for each `fp32shim run` whose recordings are among these and do not say that it has ended, that
/// has processes which still run, or that made further recordings.
std::vector<ReadingProblem> problems_of_unfinished_runs(const std::vector<std::string>& paths);

}  // namespace fp32shim::cli
