#include "cli/diff/outcome.hpp"

#include <algorithm>
#include <cmath>

#include "cli/output/json.hpp"
#include "cli/report/html_page.hpp"

namespace fp32shim::cli {
namespace {

// Limits that keep the page small.
constexpr std::size_t max_groups = 500;  ///< largest number of groups in each table
constexpr std::size_t max_points = 1000;

Json plot_json(const std::vector<ResultPair>& pairs) {
    return json_list(difference_growth(pairs, max_points), [&](const GrowthStep& step) -> Json {
        return {{"at", step.first + 1},
                {"median", number_or_null(step.median)},
                {"largest", number_or_null(pairs[step.largest].difference)}};
    });
}

}  // namespace

std::string diff_html_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems) {
    const std::vector<ResultPair>& pairs = outcome.paired.pairs;
    Json json = diff_json(outcome);
    // The complete lists are removed, because the page shows their facts in tables of limited length.
    for (const char* const key : {"groups", "changes", "growth", "only_a", "only_b", "other_algorithms"})
        json.erase(key);
    json["tables"] = page_tables_json(outcome, max_groups);
    json["groups_of_calls"] = outcome.changes.groups.size();
    json["version"] = FP32SHIM_VERSION;
    json["plot"] = plot_json(pairs);
    json["infinite"] =
        std::ranges::count_if(pairs, [](const ResultPair& pair) { return std::isinf(pair.difference); });
    json["warnings"] =
        json_list(problems, [](const ReadingProblem& problem) { return problem.path + ": " + problem.text; });
    return html_page(Page::diff, std::move(json));
}

}  // namespace fp32shim::cli
