// Choice of the decisions that the report's page lists: a page is bounded even for a million decisions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Decisions of the page.
struct PageRows {
    Json json;
    std::vector<std::int32_t> list_indices;  ///< index in the list, by index in MergedCalls::rows(); -1: not listed
};

/// Returns the data for page/report/decisions.js; its parts account for every call. `listed`: the first decisions in
/// `order`, then those that ran below FP32 or not as requested, up to a limit; each is an array, with texts as
/// indices into one shared list. `groups`: the other decisions, summed by function and size class, as objects, up to
/// a limit. `rest`: sums of the groups above that limit. `shorten` limits the length of every text.
PageRows page_rows(const MergedCalls& calls, RowOrder order, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
