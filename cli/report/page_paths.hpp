// Call paths for the report's page: a tree whose size is bounded, in columns of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Decisions that the page lists.
struct PagePlaces {
    const MergedCalls& calls;
    const std::vector<std::int32_t>& of_row;  ///< place in the page's list, by place in calls.rows(); -1: not listed
};

/// Returns the data of a tree for flame.js. `texts`: names, to which the others refer by index. `parent`, `name`,
/// `file` and `line`: of each node, the root first; a parent stands before its children. `node`, `row`, `format`,
/// `calls`, `host_ns`, `work`: of each sum of calls. `folded`: number of sums that found no room and were added to a
/// caller.
Json page_paths_json(const CallPaths& paths, const PagePlaces& places, RowOrder order,
                     std::string (*shorten)(std::string_view));

/// Returns the source lines of the nodes that have some, as SourceLines::read() does.
Json page_sources_json(const CallPaths& paths, std::int64_t changed_after_ns);

/// Returns the tree of scopes: labels are split at `/`, and paths of modules at `.`.
CallPaths scope_paths(const MergedCalls& calls);

}  // namespace fp32shim::cli
