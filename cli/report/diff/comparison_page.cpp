
#include <algorithm>
#include <string_view>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/report/diff/write_comparison.hpp"
#include "cli/report/html_page.hpp"
#include "cli/report/page_paths.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_compared_groups = 2000;  ///< limits the size of the page: a group takes some 400 bytes

Json page_calls_json(const ComparedCalls& calls) {
    Json formats = Json::array();
    for (const auto& [format, count] : calls.formats_by_calls())
        formats.push_back({{"format", format}, {"calls", count}});
    return {{"calls", calls.calls},
            {"host_ns", calls.host_ns},
            {"estimated", calls.is_estimate},
            {"work", calls.work},
            {"formats", std::move(formats)}};
}

Json page_side_json(const ComparedSide& side) {
    ComparedCalls all;
    for (const MergedRow& row : side.calls.rows()) all.add(row, row.counters);
    Json json = page_calls_json(all);
    json["program"] = truncated(command_of(side.calls));
    json["when"] = side.calls.first_ns() == 0 ? "" : "from " + timestamp(side.calls.first_ns()).substr(0, 19) + "Z";
    return json;
}

Json group_json(const ComparedGroup& group) {
    Json json = {{"keys", Json::object()},
                 {"before", page_calls_json(group.before)},
                 {"after", page_calls_json(group.after)},
                 {"otherwise", group.ran_differently()}};
    for (const ComparedKey& key : compared_keys)
        if (const SharedText text = group.*key.text; !text.empty())
            json["keys"][std::string(key.name)] = truncated(text);
    return json;
}

std::vector<std::string_view> keys_of(const Grouping& grouping) {
    std::vector<std::string_view> keys;
    for (const ComparedKey& key : compared_keys)
        if (grouping.*key.is_asked) keys.push_back(key.name);
    return keys;
}

Json tree_json(const Comparison& comparison) {
    const auto part_of = [&](std::size_t index) {
        const PathCalls& calls = comparison.paths().calls()[index];
        const MergedRow& row = comparison.row_of(calls);
        const std::size_t group = comparison.group_of(index);
        return PagePart{SharedText(format_of(row)), row.flops,
                        group < max_compared_groups ? static_cast<std::int32_t>(group) : -1,
                        comparison.is_after(calls) ? 1 : 0};
    };
    return page_paths_json(comparison.paths(), part_of, comparison.order(), truncated);
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const std::vector<ReadingProblem>& problems,
                            bool is_filtered) {
    const std::vector<ComparedGroup>& groups = comparison.groups();
    Json json;
    json["version"] = FP32SHIM_VERSION;
    json["filtered"] = is_filtered;
    json["sort"] = page_name(comparison.order());
    json["before"] = page_side_json(comparison.before());
    json["after"] = page_side_json(comparison.after());
    json["warnings"] = Json::array();
    for (const ReadingProblem& problem : problems)
        json["warnings"].push_back(truncated(problem.path + ": " + problem.text));
    json["changed_files"] = Json::array();
    for (const std::string& file : comparison.changed_files()) json["changed_files"].push_back(truncated(file));
    json["keys"] = keys_of(comparison.grouping());
    json["groups"] = Json::array();
    for (std::size_t i = 0; i < std::min(groups.size(), max_compared_groups); ++i)
        json["groups"].push_back(group_json(groups[i]));
    json["more"] = groups.size() - std::min(groups.size(), max_compared_groups);
    json["paths"] = tree_json(comparison);
    json["sources"] = page_sources_json(comparison.paths(), comparison.after().calls.first_ns());
    return html_page(Page::comparison, std::move(json));
}

}  // namespace fp32shim::cli
