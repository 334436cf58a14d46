// Makes the data of call paths for a report's page: a tree of limited size, as columns of numbers.
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

/// Returns the name of a quantity in a page's scripts.
std::string_view page_name(RowOrder order);

/// Describes how the page shows some calls of one path.
struct PagePart {
    SharedText format;      ///< format at which the calls ran
    double flops = 0;       ///< floating-point operations of one call; negative if unknown
    std::int32_t row = -1;  ///< index in the page's list of decisions; -1: not listed
};
/// Returns the part for the entry `index` of CallPaths::calls().
using PartOf = std::function<PagePart(std::size_t index)>;

/// Returns the data of a tree for page/flame_graph/folding.js:
/// - `texts`: names, to which the other columns refer by index
/// - `parent`, `name`, `file`, `line`: columns of nodes, the root first, and each parent before its children
/// - `node`, `row`, `format`, `calls`, `host_ns`, `work`: columns of sums of calls
/// - `folded`: number of sums that exceeded the limit and were added to a caller
Json page_paths_json(const CallPaths& paths, const PartOf& part_of, RowOrder order,
                     std::string (*shorten)(std::string_view));

/// Returns the source lines of all nodes that have one, in the form of SourceLines::read().
Json page_sources_json(const CallPaths& paths, std::int64_t changed_after_ns);

}  // namespace fp32shim::cli
