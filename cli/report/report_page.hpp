// Makes the page of `fp32shim report --format html`. It loads nothing else. Its parts are in report/page/.
#pragma once

#include <string>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {

class CallPaths;

/// All that the page shows.
struct HtmlReport {
    const MergedCalls& calls;
    const CallPaths& paths;
    const Timeline& timeline;                     ///< empty if no recording holds single calls
    const std::vector<ReadingProblem>& problems;  ///< shown as warnings
    RowOrder order = RowOrder::time;              ///< initial order of the decisions
    Grouping grouping;                            ///< initial grouping of the decisions
    bool is_filtered = false;                     ///< the page says that a filter left calls out
    bool is_since = false;                        ///< does not warn that more calls may follow
};

/// Returns the page, in UTF-8: some 250 KiB, and 150 bytes for each listed decision (report/page_rows.hpp). Names
/// come from recordings and may be any text. They become JSON without `<`, and the page runs only its own scripts.
std::string report_page(const HtmlReport& report);

}  // namespace fp32shim::cli
