// Choice of the decisions that the report's page lists: a page is bounded even for a million decisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Decisions on the report's page. Every call of a recording is in one of these parts.
struct PageRows {
    std::vector<const MergedRow*> listed;  ///< listed one by one
    std::vector<RowGroup> summed;  ///< grouped by function and size class, so that the page's filters can judge them
    /// Sums of the decisions that are left out.
    std::uint64_t left_out_decisions = 0, left_out_calls = 0, left_out_ns = 0;
};

/// Lists the first decisions of `order`, then all that ran below FP32 or not as requested. Groups the others, and
/// those that exceed the page's bounds.
PageRows choose_page_rows(const MergedCalls& calls, RowOrder order);

/// Returns the data for page.js: listed rows as arrays, with texts as places in one list; groups as objects.
/// `shorten` cuts texts.
Json page_rows_json(const PageRows& rows, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
