#include "cli/report/groups.hpp"

#include <algorithm>
#include <span>

#include "cli/output/text_columns.hpp"
#include "cli/recordings/row_columns.hpp"

namespace fp32shim::cli {
namespace {

const TextColumn<RowGroup> text_columns[] = {
    {{"calls", true}, [](const RowGroup& group) { return count_text(group.counters.calls); }},
    {{"host time", true}, total_time_text},
    {{"mean", true, 0, detail_rank}, mean_time_text},
    {{"min", true, 0, spread_rank}, shortest_time_text, Shown::where_one_has_it},
    {{"median", true, 0, spread_rank}, median_time_text, Shown::where_one_has_it},
    {{"max", true, 0, spread_rank}, longest_time_text, Shown::where_one_has_it},
    {{"function"},
     [](const RowGroup& group) { return group.is_overflow ? "(found no room)" : std::string(group.function); },
     Shown::where_one_has_it},
    {{"max of m,n,k"},
     [](const RowGroup& group) { return group.sizes.is_known() ? group.sizes.text() : ""; },
     Shown::where_one_has_it},
    {{"decisions", true, 0, detail_rank}, [](const RowGroup& group) { return count_text(group.decisions); }},
    {{"asked for"}, [](const RowGroup& group) { return std::string(group.requested); }},
    {{"ran at"}, [](const RowGroup& group) { return group.is_overflow ? "unknown" : std::string(group.ran_at()); }},
    {{"reason"}, [](const RowGroup& group) { return std::string(group.reason); }},
};

}  // namespace

Table group_table(const std::vector<const RowGroup*>& groups, std::size_t limit) {
    const std::size_t shown = limit == 0 ? groups.size() : std::min(limit, groups.size());
    return table_of<RowGroup>(text_columns, std::span(groups.data(), shown));
}

Json groups_json(const std::vector<RowGroup>& groups) {
    Json json = Json::array();
    for (const RowGroup& group : groups) {
        Json entry;
        for (const GroupColumn& column : group_columns())
            entry[std::string(column.name)] = column.value(group).json();
        json.push_back(std::move(entry));
    }
    return json;
}

std::string groups_csv(const std::vector<RowGroup>& groups) {
    std::string text = csv_names(group_columns()) + "\r\n";
    for (const RowGroup& group : groups) {
        append_csv(text, group_columns(), group);
        text += "\r\n";
    }
    return text;
}

}  // namespace fp32shim::cli
