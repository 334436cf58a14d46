// Call paths for the report's page: a tree whose size is bounded, in columns of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Returns the name that a page's scripts have for a quantity.
std::string_view page_name(RowOrder order);

/// Calls by one path, as the page shows them.
struct PagePart {
    SharedText format;      ///< format that they ran at
    double flops = 0;       ///< floating-point operations of one call; negative: not known
    std::int32_t row = -1;  ///< index in the page's list of decisions or groups; -1: not listed
    int side = 0;           ///< of a comparison: 0 before, 1 after
};
/// Returns the part for an entry of CallPaths::calls(), by its index.
using PartOf = std::function<PagePart(std::size_t index)>;

/// Returns the data of a tree for page/flame_graph/path_tree.js. `texts`: names, to which the others refer by index.
/// `parent`, `name`, `file` and `line`: of each node, the root first; a parent stands before its children. `node`,
/// `row`, `format`, `calls`, `host_ns`, `work`: of each sum of calls; `side` too, if one is 1. `folded`: number of
/// sums that found no room and were added to a caller.
Json page_paths_json(const CallPaths& paths, const PartOf& part_of, RowOrder order,
                     std::string (*shorten)(std::string_view));

/// Returns the source lines of the nodes that have some, as SourceLines::read() does.
Json page_sources_json(const CallPaths& paths, std::int64_t changed_after_ns);

}  // namespace fp32shim::cli
