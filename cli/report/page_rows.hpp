// Which decisions the report's page lists, and how: a page is bounded, also where a program made a million decisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Every call of a recording is in one of these.
struct PageRows {
    std::vector<const MergedRow*> listed;  ///< one by one
    std::vector<RowGroup> summed;          ///< by function and size class: the page's filters judge these right
    /// Beyond those: only sums are known on the page.
    std::uint64_t left_out_decisions = 0, left_out_calls = 0, left_out_ns = 0;
};

/// Lists the first of each `order`, then all that ran below FP32 or not as requested; sums up the others, and of
/// these two what exceeds the page's bounds.
PageRows choose_page_rows(const MergedCalls& calls, RowOrder order);

/// For page.js: the listed rows as arrays, whose texts are places in one list; the groups as objects. `shorten` cuts
/// texts.
Json page_rows_json(const PageRows& rows, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
