#include "cli/top/live_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/report/tables.hpp"

namespace fp32shim::cli {
namespace {

LiveGroupKey key_of(const RowGroup& group) {
    return {group.function.id(), group.where.id(),    group.scope.id(),         group.call_site.id(),
            group.caller.id(),   group.sizes.highest, group.requested.id(),     group.applied.id(),
            group.actual.id(),   group.reason.id(),   group.is_overflow ? 1 : 0};
}

/// Returns host time per elapsed time as a percentage. It exceeds 100% if several threads multiply.
std::string now_text(double share) {
    if (share <= 0) return "0%";
    if (share < 0.001) return "<0.1%";
    return fmt::format("{:.{}f}%", 100 * share, share < 0.1 ? 1 : 0);
}

}  // namespace

std::vector<LiveGroup> GroupRates::update(const std::vector<RowGroup>& groups, double seconds) {
    std::map<LiveGroupKey, Counts> now;
    std::vector<LiveGroup> live;
    live.reserve(groups.size());
    for (const RowGroup& group : groups) {
        LiveGroup& entry = live.emplace_back();
        static_cast<RowGroup&>(entry) = group;
        const LiveGroupKey key = key_of(group);
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
    has_looked_ = true;
    before_ = std::move(now);
    return live;
}

std::vector<LiveGroup> sum_up(const std::vector<const std::vector<LiveGroup>*>& processes) {
    std::vector<LiveGroup> sums;
    std::map<LiveGroupKey, std::size_t> indices;
    for (const std::vector<LiveGroup>* groups : processes) {
        for (const LiveGroup& group : *groups) {
            const auto [entry, is_new] = indices.emplace(key_of(group), sums.size());
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
    std::vector<const KeyColumn*> shown;
    std::vector<Table::Column> heads = {{"now", true}, {"calls/s", true}, {"calls", true}, {"host time", true}};
    for (const KeyColumn& key : key_columns()) {
        if (std::ranges::all_of(groups, [&](const LiveGroup& group) { return key.text(group).empty(); })) continue;
        shown.push_back(&key);
        heads.push_back(key.head);
    }
    heads.insert(heads.end(), {{"asked for"}, {"ran at"}, {"reason"}});
    Table table(heads);
    for (std::size_t index = 0; index < std::min(limit, groups.size()); ++index) {
        const LiveGroup& group = groups[index];
        std::vector<std::string> cells = {
            now_text(group.host_share), count_text(static_cast<std::uint64_t>(group.calls_per_second)),
            count_text(group.counters.calls),
            duration_text(static_cast<double>(group.counters.total_ns), group.has_estimated_time())};
        for (const KeyColumn* key : shown) cells.push_back(key->text(group));
        cells.insert(cells.end(),
                     {group.requested, group.is_overflow ? "unknown" : std::string(group.ran_at()), group.reason});
        table.add(std::move(cells));
    }
    if (groups.size() <= limit) return table.text();
    return table.text() + counted(groups.size() - limit, "more group") + "\n";
}

Json live_group_json(const LiveGroup& group) {
    Json json = object_of(group_columns(), static_cast<const RowGroup&>(group));
    json["calls_per_second"] = group.calls_per_second;
    json["host_share"] = group.host_share;
    return json;
}

}  // namespace fp32shim::cli
