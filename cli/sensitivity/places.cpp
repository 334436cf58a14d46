#include "cli/sensitivity/places.hpp"

#include <fmt/format.h>

#include <set>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

std::string text_of_place(const GroupList& groups, const Subset& members, std::string_view by) {
    const Group& first = groups[members.front()];
    if (by == "scope") return first.key.scope.empty() ? "(outside of scopes)" : first.key.scope;
    if (by == "size") return first.full_text();
    std::set<std::string> texts;  // a call site in compiled code may have several lines, after an inlined call
    for (const std::size_t member : members) texts.insert(groups[member].location_text());
    return listed({texts.begin(), texts.end()}, 2);
}

}  // namespace

std::vector<Place> find_places(const GroupList& groups, std::string_view by, std::size_t most) {
    const std::vector<Subset> parts = groups.split(groups.everything(), [by](const Group& group) {
        if (by == "size") return group.key;
        return GroupKey{group.key.scope, by == "where" ? group.key.location : GroupLocation(), {}};
    });
    std::vector<Place> places;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool is_one_of_others = parts.size() > most && i + 1 >= most;
        if (!is_one_of_others || i + 1 == most) places.push_back({text_of_place(groups, parts[i], by), {}});
        Place& place = places.back();
        if (is_one_of_others) place.text = fmt::format("({} other places)", parts.size() - most + 1);
        place.groups = union_of(place.groups, parts[i]);
        for (const std::size_t member : parts[i]) place.calls += groups[member].calls;
        place.work += groups.work_of(parts[i]);
    }
    return places;
}

}  // namespace fp32shim::cli
