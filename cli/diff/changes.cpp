#include "cli/diff/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "cli/output/terminal.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/location_text.hpp"
#include "cli/report/timeline.hpp"
#include "policy/algorithm.hpp"

namespace fp32shim::cli {
namespace {

/// Collects the source lines or code addresses from which functions make calls, for each of the two compared runs A
/// and B. The key of `known_` is the text of a line or address without its line number or offset.
class PlaceNormalizer {
  public:
    void add(std::size_t side, std::string_view place) { known_[without_line(place)][side].emplace(place); }
    /// Returns the text by which calls of both runs are grouped: `place`, but without its line number or offset if
    /// the function makes calls from different lines or addresses in A and B.
    std::string common_text(std::string_view place) const {
        const auto found = known_.find(without_line(place));
        if (found == known_.end()) return std::string(place);
        const auto& [a, b] = found->second;
        return a.empty() || b.empty() || a == b ? std::string(place) : found->first;
    }

  private:
    std::map<std::string, std::array<std::set<std::string>, 2>> known_;
};

/// A key by which calls can be grouped, with its name in JSON.
struct GroupingKey {
    std::string_view name;
    bool Grouping::*is_asked;
    std::string (*text)(const RowGroup& group, const PlaceNormalizer& places);
};
constexpr GroupingKey all_keys[] = {
    {"where", &Grouping::by_where,
     [](const RowGroup& group, const PlaceNormalizer& places) { return places.common_text(group.where); }},
    {"scope", &Grouping::by_scope,
     [](const RowGroup& group, const PlaceNormalizer&) { return std::string(group.scope); }},
    {"call_site", &Grouping::by_call_site,
     [](const RowGroup& group, const PlaceNormalizer& places) { return places.common_text(group.call_site); }},
    {"caller", &Grouping::by_caller,
     [](const RowGroup& group, const PlaceNormalizer&) { return std::string(group.caller); }},
    {"function", &Grouping::by_function,
     [](const RowGroup& group, const PlaceNormalizer&) { return std::string(group.function); }},
    {"max_dim", &Grouping::by_size_class,
     [](const RowGroup& group, const PlaceNormalizer&) { return group.sizes.is_known() ? group.sizes.text() : ""; }},
    {"ran_at", &Grouping::by_precision,
     [](const RowGroup& group, const PlaceNormalizer&) { return std::string(ran_at_or_unknown(group)); }},
};

Grouping usual_grouping(const DiffSide& a, const DiffSide& b) {
    const auto any_has = [&](SharedText MergedRow::*text) {
        const auto has = [text](const MergedRow& row) { return !(row.*text).empty(); };
        return std::ranges::any_of(a.calls.rows(), has) || std::ranges::any_of(b.calls.rows(), has);
    };
    const bool has_places = any_has(&MergedRow::where);
    return {.by_function = true,
            .by_where = has_places,
            .by_scope = any_has(&MergedRow::scope),
            .by_caller = !has_places};
}

/// Finds the kinds of product that most calls of A computed with another algorithm of cublasLt than most calls of B.
void compare_algorithms(const DiffSide& a, const DiffSide& b, CallComparison& changes) {
    ProductKindNumbering kinds;
    std::map<std::uint32_t, std::array<const MergedRow*, 2>> most;
    for (const std::size_t side : {0U, 1U})
        for (const MergedRow& row : (side == 0 ? a : b).calls.rows()) {
            if (row.algorithm.empty()) continue;
            const MergedRow*& best = most[kinds.number_of(row)][side];
            if (best == nullptr || row.counters.calls > best->counters.calls) best = &row;
        }
    for (const auto& [kind, rows] : most) {
        if (rows[0] == nullptr || rows[1] == nullptr) continue;
        ++changes.kinds_with_algorithms;
        if (rows[0]->algorithm != rows[1]->algorithm) changes.other_algorithms.push_back({rows[0], rows[1]});
    }
}

}  // namespace

std::string algorithm_change_text(const MergedRow& a, const MergedRow& b) {
    const std::string difference = policy::algorithm_difference(a.algorithm, b.algorithm);
    return difference.empty() ? difference : fmt::format("another algorithm ({})", difference);
}

CallTotals::CallTotals(const MergedCalls& calls) {
    static_cast<CallSum&>(*this) = calls.total();
    for (const auto& [format, share] : calls.by_format()) formats[format] = share.calls;
}

void CallTotals::add(const RowGroup& group) {
    CallSum::add(group.counters);
    work += group.work;
    formats[std::string(ran_at_or_unknown(group))] += group.counters.calls;
}

std::string CallTotals::formats_text() const {
    if (formats.size() == 1) return formats.begin()->first;
    std::vector<std::pair<std::string, std::uint64_t>> sorted(formats.begin(), formats.end());
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
    std::string text;
    for (const auto& [format, count] : sorted)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format, share_text(count, calls));
    return text;
}

bool ComparedGroup::ran_at_other_formats() const {
    return a.calls > 0 && b.calls > 0 && a.formats_text() != b.formats_text();
}

CallComparison compare_calls(const DiffSide& a, const DiffSide& b, Grouping grouping, RowOrder order) {
    if (grouping.is_empty()) grouping = usual_grouping(a, b);
    const DiffSide* const sides[] = {&a, &b};
    std::array<std::vector<RowGroup>, 2> groups;
    PlaceNormalizer places;
    for (const std::size_t side : {0U, 1U}) {
        groups[side] = grouped(sides[side]->calls, {}, sides[side]->paths, grouping, order);
        for (const RowGroup& group : groups[side])
            for (const SharedText place : {group.where, group.call_site}) places.add(side, place);
    }
    CallComparison changes;
    for (const GroupingKey& key : all_keys)
        if (grouping.*key.is_asked) changes.keys.push_back(key.name);
    std::map<std::vector<std::string>, std::size_t> indices;
    for (const std::size_t side : {0U, 1U}) {
        for (const RowGroup& group : groups[side]) {
            std::vector<std::string> keys;
            for (const GroupingKey& key : all_keys)
                if (grouping.*key.is_asked) keys.push_back(key.text(group, places));
            const auto [entry, is_new] = indices.try_emplace(keys, changes.groups.size());
            if (is_new) changes.groups.push_back({std::move(keys), {}, {}});
            ComparedGroup& changed = changes.groups[entry->second];
            (side == 0 ? changed.a : changed.b).add(group);
        }
    }
    compare_algorithms(a, b, changes);
    changes.groups_at_other_formats =
        static_cast<std::uint64_t>(std::ranges::count_if(changes.groups, &ComparedGroup::ran_at_other_formats));
    std::ranges::stable_sort(changes.groups, std::greater<>(), [order](const ComparedGroup& group) {
        return std::pair(group.ran_at_other_formats(), std::abs(group.b.sort_key(order) - group.a.sort_key(order)));
    });
    return changes;
}

}  // namespace fp32shim::cli
