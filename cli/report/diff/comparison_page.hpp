// The page of `fp32shim report --diff --format html`, which loads nothing else. page/diff.html has its frame.
#pragma once

#include <string>
#include <vector>

#include "cli/recordings/recordings.hpp"
#include "cli/report/diff/comparison.hpp"

namespace fp32shim::cli {

/// Returns the page: UTF-8, bounded as that of a report. `problems` are shown as warnings. `is_filtered`: the page
/// says that a filter left calls out.
std::string comparison_page(const Comparison& comparison, const std::vector<ReadingProblem>& problems,
                            bool is_filtered);

}  // namespace fp32shim::cli
