#include "cli/diff/outcome.hpp"

#include <algorithm>
#include <cmath>

#include "cli/output/json.hpp"
#include "cli/report/html_page.hpp"

namespace fp32shim::cli {
namespace {

// Limits for the size of the page.
constexpr std::size_t max_groups = 500;  ///< groups in each table
constexpr std::size_t max_points = 1000;

Json plot_json(const std::vector<ResultPair>& pairs) {
    Json json = Json::array();
    for (const GrowthStep& step : growth_of(pairs, max_points)) {
        json.push_back({{"at", step.first + 1},
                        {"median", number_or_null(step.median)},
                        {"largest", number_or_null(pairs[step.largest].difference)}});
    }
    return json;
}

}  // namespace

std::string diff_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems) {
    const std::vector<ResultPair>& pairs = outcome.paired.pairs;
    Json json = diff_json(outcome, max_groups);
    json["more_groups"] = outcome.summary.groups.size() - json["groups"].size();
    json["more_changes"] = outcome.changes.groups.size() - json["changes"].size();
    json["version"] = FP32SHIM_VERSION;
    json["plot"] = plot_json(pairs);
    json["infinite"] =
        std::ranges::count_if(pairs, [](const ResultPair& pair) { return std::isinf(pair.difference); });
    json["threads"] = outcome.a.threads.size();
    json["warnings"] = Json::array();
    for (const ReadingProblem& problem : problems) json["warnings"].push_back(problem.path + ": " + problem.text);
    return html_page(Page::diff, std::move(json));
}

}  // namespace fp32shim::cli
