#include "cli/report/page_paths.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "cli/output/json.hpp"
#include "cli/report/source_lines.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_sums = 150'000;  ///< limits the size of the page: a sum takes some 100 bytes with its nodes

/// Sum of the calls with the same path and decision. Decisions that the page does not list are summed by format.
struct Sum : ShareWithWork {
    std::uint32_t node = 0;
    PagePart part;
};

/// Adds up entries with the same node, row and format.
void sum_up(std::vector<Sum>& sums) {
    const auto key = [](const Sum& sum) { return std::tuple(sum.node, sum.part.row, sum.part.format.id()); };
    std::ranges::sort(sums, {}, key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (kept == 0 || key(sums[kept - 1]) != key(sums[i])) {
            sums[kept++] = sums[i];
            continue;
        }
        sums[kept - 1].add(sums[i]);
    }
    sums.resize(kept);
}

std::vector<Sum> sums_of(const CallPaths& paths, const PartOf& part_of) {
    std::vector<Sum> sums;
    std::size_t first = 0;  // index of the first sum of the current node
    for (std::size_t i = 0; i < paths.calls().size(); ++i) {
        const PathCalls& calls = paths.calls()[i];
        const PagePart part = part_of(i);
        if (first < sums.size() && sums[first].node != calls.node) first = sums.size();
        const auto is_like = [&](const Sum& sum) { return sum.part.row == -1 && sum.part.format == part.format; };
        // Sums of unlisted decisions come first, so that the search for them is short.
        const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(first);
        const bool is_listed = part.row >= 0;
        auto sum = is_listed ? sums.end() : std::find_if(begin, sums.end(), is_like);
        if (sum == sums.end()) sum = sums.insert(is_listed ? sums.end() : begin, Sum{{}, calls.node, part});
        sum->add(calls.counters, part.flops);
    }
    return sums;
}

/// Keeps the largest sums. Adds every other sum to its nearest caller that is on the path of a kept sum. Returns the
/// number of sums that were added to a caller.
std::size_t fold(std::vector<Sum>& sums, const CallPaths& paths, RowOrder order) {
    if (sums.size() <= max_sums) return 0;
    const auto is_larger = [order](const Sum& a, const Sum& b) { return a.weight(order) > b.weight(order); };
    std::nth_element(sums.begin(), sums.begin() + max_sums, sums.end(), is_larger);
    std::vector<bool> is_kept(paths.nodes().size());
    is_kept[0] = true;
    for (std::size_t i = 0; i < max_sums; ++i) {
        for (std::uint32_t node = sums[i].node; !is_kept[node]; node = paths.nodes()[node].parent)
            is_kept[node] = true;
    }
    const std::size_t folded = sums.size() - max_sums;
    for (std::size_t i = max_sums; i < sums.size(); ++i) {
        sums[i].part.row = -1;
        while (!is_kept[sums[i].node]) sums[i].node = paths.nodes()[sums[i].node].parent;
    }
    sum_up(sums);
    return folded;
}

/// List of distinct texts. Columns refer to them by index.
class ShortenedTexts {
  public:
    explicit ShortenedTexts(std::string (*shorten)(std::string_view)) : shorten_(shorten) {}
    std::size_t index_of(SharedText text) {
        const auto [entry, is_new] = indices_.emplace(text.id(), texts_.size());
        if (is_new) texts_.push_back(shorten_(text));
        return entry->second;
    }
    Json release() { return std::move(texts_); }

  private:
    std::string (*shorten_)(std::string_view);
    std::unordered_map<std::uint32_t, std::size_t> indices_;
    Json texts_ = Json::array();
};

/// Adds the columns of the nodes that occur in the sums' paths, and gives these nodes new numbers.
void add_nodes(Json& json, std::vector<Sum>& sums, const CallPaths& paths, ShortenedTexts& texts) {
    std::vector<std::uint32_t> new_nodes(paths.nodes().size());
    std::vector<bool> is_needed(paths.nodes().size());
    for (const Sum& sum : sums)
        for (std::uint32_t node = sum.node; node != 0 && !is_needed[node]; node = paths.nodes()[node].parent)
            is_needed[node] = true;
    Json parents = Json::array({0}), names = Json::array({texts.index_of(SharedText())}), files = names,
         lines = Json::array({0});
    for (std::size_t i = 1; i < new_nodes.size(); ++i) {
        if (!is_needed[i]) continue;
        const PathNode& node = paths.nodes()[i];
        new_nodes[i] = static_cast<std::uint32_t>(parents.size());
        parents.push_back(new_nodes[node.parent]);
        names.push_back(texts.index_of(SharedText(node.name())));
        files.push_back(texts.index_of(node.file));
        lines.push_back(node.line);
    }
    for (Sum& sum : sums) sum.node = new_nodes[sum.node];
    json["parent"] = std::move(parents);
    json["name"] = std::move(names);
    json["file"] = std::move(files);
    json["line"] = std::move(lines);
}

template <class Value>
Json column(const std::vector<Sum>& sums, const Value& value) {
    Json json = Json::array();
    for (const Sum& sum : sums) json.push_back(value(sum));
    return json;
}

}  // namespace

Json page_paths_json(const CallPaths& paths, const PartOf& part_of, RowOrder order,
                     std::string (*shorten)(std::string_view)) {
    std::vector<Sum> sums = sums_of(paths, part_of);
    Json json;
    json["folded"] = fold(sums, paths, order);
    ShortenedTexts texts(shorten);
    add_nodes(json, sums, paths, texts);
    json["node"] = column(sums, [](const Sum& sum) { return sum.node; });
    json["row"] = column(sums, [](const Sum& sum) { return sum.part.row; });
    json["format"] = column(sums, [&](const Sum& sum) { return texts.index_of(sum.part.format); });
    json["calls"] = column(sums, [](const Sum& sum) { return sum.calls; });
    json["host_ns"] = column(sums, [](const Sum& sum) { return sum.host_ns; });
    json["work"] = column(sums, [](const Sum& sum) { return sum.work; });
    json["texts"] = texts.release();
    return json;
}

std::string_view page_name(RowOrder order) {
    constexpr std::string_view names[] = {"host_ns", "calls", "work"};
    return names[static_cast<std::size_t>(order)];
}

Json page_sources_json(const CallPaths& paths, std::int64_t changed_after_ns) {
    SourceLines lines;
    for (const PathNode& node : paths.nodes())
        if (node.line != 0 && !node.file.empty()) lines.want(node.file, node.line);
    return lines.read(changed_after_ns);
}

}  // namespace fp32shim::cli
