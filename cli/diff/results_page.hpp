// The page of `fp32shim diff --format html`, which loads nothing else. report/page/results.html has its frame.
#pragma once

#include <string>
#include <vector>

#include "cli/diff/outcome.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

/// Returns the page: UTF-8, of bounded size. `problems` are shown as warnings.
std::string results_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
