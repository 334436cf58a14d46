// `fp32shim report --format html`: one page that needs nothing but itself. The page's files are in report_page/.
#pragma once

#include <string>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {

struct HtmlReport {
    const MergedCalls& calls;
    const Timeline& timeline;                     ///< empty: there are no events
    const std::vector<ReadingProblem>& problems;  ///< shown as warnings
    RowOrder order = RowOrder::time;              ///< of the decisions, until a column's title is clicked
    Grouping grouping;                            ///< of the decisions at first; the page can group by others
    bool is_filtered = false;                     ///< calls were left out, and the page says so
};

/// The page: UTF-8, some 250 KiB and 150 bytes for each decision that it lists (report/page_rows.hpp). Names in
/// recordings may be anything: they are in the page as JSON without `<`, and no other script than the page's own runs
/// in it.
std::string report_html(const HtmlReport& report);

}  // namespace fp32shim::cli
