// Choice of the decisions that the report's page lists: a page is bounded even for a million decisions.
#pragma once

#include <string>
#include <string_view>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Returns the data for page.js. Every call of a recording is in one of three parts. `listed`: the first decisions of
/// `order`, then all that ran below FP32 or not as requested, as arrays, with texts as indices into one shared list.
/// `groups`: the other decisions by function and size class, so that the page's filters can judge them, as objects.
/// `rest`: sums of the groups that exceed the page's bounds. `shorten` limits the length of every text.
Json page_rows_json(const MergedCalls& calls, RowOrder order, std::string (*shorten)(std::string_view));

}  // namespace fp32shim::cli
