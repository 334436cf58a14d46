#include "cli/top/live_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/report/tables.hpp"

namespace fp32shim::cli {
namespace {

/// Converts a row of live_table() to its group.
const LiveGroup& live_group_of(const MergedRow& row) { return static_cast<const LiveGroup&>(row); }

/// Returns host time per elapsed time as a percentage. It exceeds 100% if several threads multiply.
std::string host_share_text(double share) {
    if (share <= 0) return "0%";
    if (share < 0.001) return "<0.1%";
    return fmt::format("{:.{}f}%", 100 * share, share < 0.1 ? 1 : 0);
}

}  // namespace

std::vector<LiveGroup> GroupRates::update(const std::vector<RowGroup>& groups, double seconds) {
    std::map<RowGroupKey, Counts> now;
    std::vector<LiveGroup> live;
    live.reserve(groups.size());
    for (const RowGroup& group : groups) {
        LiveGroup& entry = live.emplace_back();
        static_cast<RowGroup&>(entry) = group;
        const RowGroupKey key = group.key();
        const auto known = before_.find(key);
        const Counts before = known == before_.end() ? Counts() : known->second;
        now[key] = {group.counters.calls, group.counters.total_ns};
        // An estimated time can decrease. Each update also measures the speed of the time counter again, so the
        // duration of the same calls can grow by some nanoseconds.
        const auto gain = [](std::uint64_t later, std::uint64_t earlier) {
            return later > earlier ? static_cast<double>(later - earlier) : 0.0;
        };
        if (seconds <= 0 || group.counters.calls == before.calls) continue;
        entry.calls_per_second = gain(group.counters.calls, before.calls) / seconds;
        entry.host_share = gain(group.counters.total_ns, before.host_ns) / seconds / 1e9;
    }
    was_updated_ = true;
    before_ = std::move(now);
    return live;
}

std::vector<LiveGroup> sum_up(const std::vector<const std::vector<LiveGroup>*>& processes) {
    std::vector<LiveGroup> sums;
    std::map<RowGroupKey, std::size_t> indices;
    for (const std::vector<LiveGroup>* groups : processes) {
        for (const LiveGroup& group : *groups) {
            const auto [entry, is_new] = indices.emplace(group.key(), sums.size());
            if (is_new) {
                sums.push_back(group);
                continue;
            }
            LiveGroup& sum = sums[entry->second];
            add_counters(sum.counters, group.counters);
            sum.calls_per_second += group.calls_per_second;
            sum.host_share += group.host_share;
        }
    }
    std::ranges::stable_sort(sums, [](const LiveGroup& a, const LiveGroup& b) {
        return std::tuple(a.host_share, a.counters.total_ns) > std::tuple(b.host_share, b.counters.total_ns);
    });
    return sums;
}

std::string live_table(const std::vector<LiveGroup>& groups, std::size_t limit) {
    TextColumns columns = {
        {{"now", true}, [](const MergedRow& row) { return host_share_text(live_group_of(row).host_share); }},
        {{"calls/s", true}, [](const MergedRow& row) {
             return count_text(static_cast<std::uint64_t>(live_group_of(row).calls_per_second));
         }}};
    const auto amounts = amount_columns().first(2);  // calls and host time
    columns.insert(columns.end(), amounts.begin(), amounts.end());
    for (const TextColumn& column : group_text_columns())
        if (column.head.title != "decisions") columns.push_back(column);
    std::vector<const MergedRow*> rows;
    for (const LiveGroup& group : groups) rows.push_back(&group);
    const std::size_t shown = std::min(limit, rows.size());
    return table_of(columns, TableRows(rows).first(shown)).text() +
           (shown < rows.size() ? counted(rows.size() - shown, "more group") + "\n" : "");
}

Json live_group_json(const LiveGroup& group) {
    Json json = object_of(group_columns(), static_cast<const RowGroup&>(group));
    json["calls_per_second"] = group.calls_per_second;
    json["host_share"] = group.host_share;
    return json;
}

}  // namespace fp32shim::cli
