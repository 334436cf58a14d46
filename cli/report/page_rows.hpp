// Selects the decisions that a report's page lists, so that the page stays small even with a million decisions.
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
    std::vector<std::int32_t> list_indices;  ///< index in the page's list, by index in MergedCalls::rows(); -1: not
                                             ///< listed
};

/// Returns the data for page/report/decisions.js. Its three parts together have all calls:
/// - `listed`: the first decisions in `order`, then those that ran below FP32 or not as requested, up to a limit.
/// Each
///   is an array whose texts are indices into one shared list.
/// - `groups`: the other decisions, summed by function and size class, as objects, up to a limit.
/// - `rest`: the sum of the groups beyond that limit.
///
/// `shorten` shortens each text.
PageRows page_rows(const MergedCalls& calls, RowOrder order, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
