// Selects the decisions that a report's page lists, so that the page stays small even with a million decisions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/report/page_parts.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

// These limits keep the page small. A listed row takes some 150 bytes, and a group takes 400.
constexpr std::size_t max_first = 2000;
constexpr std::size_t max_listed = 20000;
constexpr std::size_t max_groups = 2000;

bool is_on_page(std::string_view column) { return column != "first" && column != "last"; }

/// Returns true if any of the rows has a value in the column. Other columns are left out, to keep the page small.
bool is_used(const RowColumn& column, const std::vector<const MergedRow*>& rows) {
    const bool counts_gpu_calls = column.name == "gpu_samples" || column.name == "gpu_calls";
    return std::ranges::any_of(rows, [&](const MergedRow* row) {
        const Json value = column.value(*row).to_json();
        return !value.is_null() && !(counts_gpu_calls && value == 0);
    });
}

Json listed_json(const std::vector<const MergedRow*>& rows) {
    std::vector<RowColumn> columns(row_columns().begin(), row_columns().end());
    std::erase_if(columns,
                  [&](const RowColumn& column) { return !is_on_page(column.name) || !is_used(column, rows); });
    columns.push_back({"format", [](const MergedRow& row) { return FieldValue(ran_at_or_unknown(row)); }});
    columns.push_back(
        {"refused", [](const MergedRow& row) { return row.is_request_refused() ? FieldValue(1) : FieldValue(); }});
    PageTextList texts;
    Json names = Json::array(), table = Json::array();
    std::vector<bool> is_text(columns.size());
    for (const MergedRow* row : rows) {
        Json values = Json::array();
        values.get_ref<Json::array_t&>().reserve(columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i) {
            Json value = columns[i].value(*row).to_json();
            is_text[i] = is_text[i] || value.is_string();
            if (value.is_string())
                value = texts.index_of(value.get_ref<const std::string&>());
            else if (value.is_boolean())
                value = value.get<bool>() ? 1 : 0;
            values.push_back(std::move(value));
        }
        table.push_back(std::move(values));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) names.push_back({columns[i].name, is_text[i] ? 1 : 0});
    // The key with the largest value is added last, since adding another key could copy this value.
    Json json = {{"columns", std::move(names)}, {"texts", texts.release_texts()}};
    json["rows"] = std::move(table);
    return json;
}

Json group_json(const RowGroup& group) {
    Json json;
    for (const GroupColumn& column : group_columns())
        if (Json value = column.value(group).to_json(); is_on_page(column.name) && !value.is_null())
            json[std::string(column.name)] = std::move(value);
    json["format"] = ran_at_or_unknown(group);
    if (group.is_request_refused()) json["refused"] = 1;
    if (group.decisions_with_sizes > 0) {
        json["sized"] = group.decisions_with_sizes;
        json["size"] = std::exp(group.sum_of_log_sizes / static_cast<double>(group.decisions_with_sizes));
    }
    return json;
}

}  // namespace

PageDecisions page_decisions(const MergedCalls& calls, RowOrder order) {
    std::vector<const MergedRow*> listed, others, low;
    for (const MergedRow* row : sorted(calls.rows(), order))
        if (listed.size() < max_first)
            listed.push_back(row);
        else
            (row->is_request_refused() || ran_below_fp32(*row) ? low : others).push_back(row);
    for (const MergedRow* row : low) (listed.size() < max_listed ? listed : others).push_back(row);
    Json groups = Json::array();
    std::uint64_t decisions = 0, left_out_calls = 0, host_ns = 0;
    for (const RowGroup& group : grouped(others, {.by_function = true, .by_size_class = true}, order)) {
        if (groups.size() < max_groups) {
            groups.push_back(group_json(group));
            continue;
        }
        decisions += group.decisions;
        left_out_calls += group.counters.calls;
        host_ns += group.counters.total_ns;
    }
    std::vector<std::int32_t> list_indices(calls.rows().size(), -1);
    for (std::size_t i = 0; i < listed.size(); ++i)
        list_indices[static_cast<std::size_t>(listed[i] - calls.rows().data())] = static_cast<std::int32_t>(i);
    Json json = {{"groups", std::move(groups)},
                 {"rest", {{"decisions", decisions}, {"calls", left_out_calls}, {"host_ns", host_ns}}}};
    json["listed"] = listed_json(listed);
    return {std::move(json), std::move(list_indices)};
}

}  // namespace fp32shim::cli
