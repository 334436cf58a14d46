// Choice of the decisions that the report's page lists: a page is bounded even for a million decisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Decisions on the report's page. The three parts together account for every call.
struct PageRows {
    std::vector<const MergedRow*> listed;  ///< listed one by one
    std::vector<RowGroup> summed;  ///< grouped by function and size class, so that the page's filters can judge them
    /// Number, calls and host time of the decisions that are neither in `listed` nor in `summed`.
    std::uint64_t left_out_decisions = 0, left_out_calls = 0, left_out_ns = 0;
};

/// Lists the first decisions in `order`, then all that ran below FP32 or not as requested. Groups the others, and
/// those above the limit of listed rows. Groups above their own limit are left out.
PageRows choose_page_rows(const MergedCalls& calls, RowOrder order);

/// Returns the data for page.js. A listed row is an array, with texts as indices into one shared list; a group is an
/// object. `shorten` limits the length of every text.
Json page_rows_json(const PageRows& rows, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
