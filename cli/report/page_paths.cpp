// Makes the data of call paths for a report's page: a tree of limited size, as columns of numbers.
#include <algorithm>
#include <tuple>

#include "cli/output/json.hpp"
#include "cli/report/page_parts.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_sums = 150'000;  ///< limits the size of the page: a sum takes some 100 bytes with its nodes

/// Keeps the largest sums. Adds every other sum to its nearest caller that is on the path of a kept sum. Returns the
/// number of sums that were added to a caller.
std::size_t fold(std::vector<PathShare>& sums, const CallPathTree& paths, RowOrder order) {
    if (sums.size() <= max_sums) return 0;
    const auto is_larger = [order](const PathShare& a, const PathShare& b) {
        return a.sort_key(order) > b.sort_key(order);
    };
    std::nth_element(sums.begin(), sums.begin() + max_sums, sums.end(), is_larger);
    std::vector<bool> is_kept(paths.nodes().size());
    is_kept[0] = true;
    for (std::size_t i = 0; i < max_sums; ++i)
        for (std::uint32_t node = sums[i].node; !is_kept[node]; node = paths.nodes()[node].parent)
            is_kept[node] = true;
    const std::size_t folded = sums.size() - max_sums;
    for (std::size_t i = max_sums; i < sums.size(); ++i) {
        sums[i].row = -1;
        while (!is_kept[sums[i].node]) sums[i].node = paths.nodes()[sums[i].node].parent;
    }
    const auto key = [](const PathShare& sum) { return std::tuple(sum.node, sum.row, sum.format.id()); };
    std::ranges::sort(sums, {}, key);
    std::size_t kept = 0;
    for (const PathShare& sum : sums)
        if (kept > 0 && key(sums[kept - 1]) == key(sum))
            sums[kept - 1].add(sum);
        else
            sums[kept++] = sum;
    sums.resize(kept);
    return folded;
}

/// Adds the columns of the nodes that occur in the sums' paths, and gives these nodes new numbers.
void add_nodes(Json& json, std::vector<PathShare>& sums, const CallPathTree& paths, PageTextList& texts) {
    std::vector<std::uint32_t> new_nodes(paths.nodes().size());
    std::vector<bool> is_needed(paths.nodes().size());
    for (const PathShare& sum : sums)
        for (std::uint32_t node = sum.node; node != 0 && !is_needed[node]; node = paths.nodes()[node].parent)
            is_needed[node] = true;
    Json parents = Json::array({0}), names = Json::array({texts.index_of("")}), files = names,
         lines = Json::array({0});
    for (std::size_t i = 1; i < new_nodes.size(); ++i) {
        if (!is_needed[i]) continue;
        const PathNode& node = paths.nodes()[i];
        new_nodes[i] = static_cast<std::uint32_t>(parents.size());
        parents.push_back(new_nodes[node.parent]);
        names.push_back(texts.index_of(node.name()));
        files.push_back(texts.index_of(node.file));
        lines.push_back(node.line);
    }
    for (PathShare& sum : sums) sum.node = new_nodes[sum.node];
    json["parent"] = std::move(parents);
    json["name"] = std::move(names);
    json["file"] = std::move(files);
    json["line"] = std::move(lines);
}

}  // namespace

Json page_paths_json(const CallPathTree& paths, const MergedCalls& calls, RowOrder order,
                     const std::vector<std::int32_t>& list_indices) {
    std::vector<PathShare> sums = path_shares(paths, calls, list_indices);
    Json json;
    json["folded"] = fold(sums, paths, order);
    PageTextList texts;
    add_nodes(json, sums, paths, texts);
    json["node"] = json_list(sums, [](const PathShare& sum) { return sum.node; });
    json["row"] = json_list(sums, [](const PathShare& sum) { return sum.row; });
    json["format"] = json_list(sums, [&](const PathShare& sum) { return texts.index_of(sum.format); });
    json["calls"] = json_list(sums, [](const PathShare& sum) { return sum.calls; });
    json["host_ns"] = json_list(sums, [](const PathShare& sum) { return sum.host_ns; });
    json["work"] = json_list(sums, [](const PathShare& sum) { return sum.work; });
    json["texts"] = texts.release_texts();
    return json;
}

CallPathTree scope_tree(const MergedCalls& calls) {
    CallPathTree paths;
    for (std::size_t index = 0; index < calls.rows().size(); ++index) {
        const MergedRow& row = calls.rows()[index];
        std::uint32_t node = 0;
        const auto descend = [&](std::string_view name) {
            node = paths.find_or_add_child(node, {.function = SharedText(name)});
        };
        std::string_view rest = row.scope;
        if (rest.empty()) descend("(no scope)");
        while (!rest.empty()) {
            const std::size_t size = std::min(rest.find_first_of("/."), rest.size());
            if (size > 0) descend(rest.substr(0, size));
            rest.remove_prefix(std::min(size + 1, rest.size()));
        }
        if (!row.where.empty()) descend(row.where);
        descend(row.is_overflow ? "(found no room)" : std::string_view(row.function));
        paths.add(node, static_cast<std::uint32_t>(index), row.counters);
    }
    paths.finish();
    return paths;
}

}  // namespace fp32shim::cli
