// Makes parts of the data of a report's page. Each part has a source file of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/report/report_formats.hpp"

namespace fp32shim::cli {

/// Collects distinct texts in a list, which release_texts() returns. Elsewhere in the page's data, a text is replaced
/// by its index in this list.
class PageTextList {
  public:
    std::size_t index_of(std::string_view text) {
        const auto [entry, is_new] = indices_.emplace(text, texts_.size());
        if (is_new) texts_.push_back(text);
        return entry->second;
    }
    Json release_texts() { return std::move(texts_); }

  private:
    std::unordered_map<std::string, std::size_t> indices_;
    Json texts_ = Json::array();
};

/// The decisions that a page lists.
struct PageDecisions {
    Json json;
    /// The index of each row of MergedCalls::rows() in the page's list; -1 if it is not listed.
    std::vector<std::int32_t> list_indices;
};

/// Returns the data for page/report/decisions.js. Its three parts together have all calls:
/// - `listed`: the first decisions in `order`, then those that ran below FP32 or not as requested, up to a limit.
///   Each is an array whose texts are indices into one shared list.
/// - `groups`: the other decisions, summed by function and size class, as objects, up to a limit.
/// - `rest`: the sum of the groups beyond that limit.
PageDecisions page_decisions(const MergedCalls& calls, RowOrder order);

/// Returns the data for page/report/verdict.js:
/// - `measure`: the quantity that tells best how much was multiplied: `work`, or `host_ns` if the work of some calls
///   is unknown, or `calls` if there are no times either
/// - `below`: sums of the calls that ran below FP32, or were allowed to. Its member `formats` has the numbers of
///   these calls by format. `allowed` is the number of these calls whose library did not say at which format they
///   ran. `previewed` is the number of these calls that ran on a CPU and were not only forwarded. `place` is the
///   place with most of these calls by `measure`
/// - `narrower`: number of calls whose operands are narrower than float32
/// - `adds_in_fp16`, `float64`: numbers of products of float16 or bfloat16 that may add in FP16, and of float64 ones
/// - `unknown`: number of other calls whose format is not known
/// - `busiest`: the place whose calls took the most host time
///
/// A place has the sums of its calls, its name `text`, and its `kind`: `where`, `scope`, `caller`, or `unknown`. A
/// place is null if there are no calls.
Json verdict_json(const MergedCalls& calls);

/// Returns the warnings of the page, each with `title`, `lines` and `refused`. If `refused` is true, the page offers
/// to show the rows that did not run as requested. `is_since` is true if `--since` left out the calls that an earlier
/// copy of a recording has.
Json warnings_json(const ReportContents& contents, bool is_since);

/// Returns the name that a page's scripts use for the quantity by which rows are sorted.
std::string_view quantity_name_in_scripts(RowOrder order);

/// Returns the data of a tree for page/flame_graph/folding.js:
/// - `texts`: names, to which the other columns refer by index
/// - `parent`, `name`, `file`, `line`: columns of nodes, the root first, and each parent before its children
/// - `node`, `row`, `format`, `calls`, `host_ns`, `work`: columns of sums, each of which sums up calls of one node
/// - `folded`: number of sums beyond the limit, which were added to the sum of a caller
Json page_paths_json(const CallPathTree& paths, const MergedCalls& calls, RowOrder order,
                     const std::vector<std::int32_t>& list_indices);

/// Returns the tree of scopes, which are split into levels at `/` and `.`. Below a scope are the locations of its
/// calls, if they are known, and the functions.
CallPathTree scope_tree(const MergedCalls& calls);

}  // namespace fp32shim::cli
