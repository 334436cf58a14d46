#include "cli/sensitivity/places.hpp"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

std::vector<Subset> divided(const Groups& groups, PlaceKind kind) {
    Subset all(groups.all().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (kind == PlaceKind::size) return groups.split(all, [](const Group& group) { return group.key; });
    return groups.split(all, [kind](const Group& group) {
        const GroupKey& key = group.key;
        if (kind == PlaceKind::scope) return std::tuple<std::string, std::string, bool>(key.scope, {}, false);
        return std::tuple<std::string, std::string, bool>(key.scope, key.location.text, key.location.is_call_site);
    });
}

std::string text_of_place(const Groups& groups, const Subset& members, PlaceKind kind) {
    const Group& first = groups[members.front()];
    if (kind == PlaceKind::scope) return first.key.scope.empty() ? "(outside of scopes)" : first.key.scope;
    if (kind == PlaceKind::size)
        return fmt::format("{} {} {}", first.location_text(), first.key.function, first.key.size_text());
    std::set<std::string> texts;  // a call site in compiled code may have several lines, after an inlined call
    for (const std::size_t member : members) texts.insert(groups[member].location_text());
    return listed({texts.begin(), texts.end()}, 2);
}

Place place_of(const Groups& groups, Subset members, std::string text) {
    Place place{std::move(text), std::move(members)};
    for (const std::size_t member : place.groups) {
        place.calls += groups[member].calls;
        place.work += groups[member].work;
    }
    return place;
}

}  // namespace

std::vector<Place> find_places(const Groups& groups, PlaceKind kind, std::size_t most) {
    std::vector<Place> places;
    Subset others;
    const std::vector<Subset> parts = divided(groups, kind);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool has_own_place = parts.size() <= most || i + 1 < most;
        if (has_own_place)
            places.push_back(place_of(groups, parts[i], text_of_place(groups, parts[i], kind)));
        else
            others = union_of(others, parts[i]);
    }
    if (!others.empty())
        places.push_back(place_of(groups, others, fmt::format("({} other places)", parts.size() - most + 1)));
    return places;
}

}  // namespace fp32shim::cli
