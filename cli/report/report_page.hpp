// The page of `fp32shim report --format html`, which loads nothing else. report/page/ has its parts.
#pragma once

#include <string>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {

class CallPaths;

/// Everything that the page shows.
struct HtmlReport {
    const MergedCalls& calls;
    const CallPaths& paths;
    const Timeline& timeline;                     ///< empty if no single calls were recorded
    const std::vector<ReadingProblem>& problems;  ///< shown as warnings
    RowOrder order = RowOrder::time;              ///< initial order of the decisions
    Grouping grouping;                            ///< initial grouping of the decisions
    bool is_filtered = false;                     ///< the page says that a filter left calls out
};

/// Returns the page: UTF-8, some 250 KiB and 150 bytes for each listed decision (report/page_rows.hpp). It holds the
/// names in recordings, which may be anything, as JSON without `<`, and runs no script but its own.
std::string report_page(const HtmlReport& report);

}  // namespace fp32shim::cli
