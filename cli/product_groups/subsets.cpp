// Defines the functions of groups.hpp that work on groups and sets of groups without reading recordings.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "cli/product_groups/groups.hpp"
#include "cli/recordings/location_text.hpp"

namespace fp32shim::cli {

std::string GroupKey::size_text() const { return product_size_text(m, n, k, batch, is_folded); }

std::string ProductGroup::location_text() const { return key.scope.empty() ? where : where + " in " + key.scope; }

std::string untried_places_text(const std::string& places, std::string_view why) {
    return fmt::format(
        "nothing is known about {}: {}. The command may keep results between runs (a cache, a checkpoint); remove "
        "them before each run",
        places, why);
}

Subset union_of(const Subset& a, const Subset& b) {
    Subset result;
    std::ranges::set_union(a, b, std::back_inserter(result));
    return result;
}

Subset without(const Subset& a, const Subset& b) {
    Subset result;
    std::ranges::set_difference(a, b, std::back_inserter(result));
    return result;
}

bool contains(const Subset& set, std::size_t member) { return std::ranges::binary_search(set, member); }

std::size_t GroupList::find_or_add(const ProductGroup& group) {
    const auto [entry, is_new] = numbers_.try_emplace(group.key, all_.size());
    if (is_new) all_.push_back(group);
    return entry->second;
}

double GroupList::work_of(const Subset& set) const {
    return std::accumulate(set.begin(), set.end(), 0.0,
                           [this](double sum, std::size_t member) { return sum + all_[member].work; });
}

Subset GroupList::everything() const {
    Subset all(all_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

std::size_t GroupList::line_count() const { return split(everything(), line_key).size(); }

double GroupList::total_work() const { return work_of(everything()); }

/// Returns the largest rank of the lines to which the groups of a set belong; -1 if no line has a rank.
double GroupList::rank_of(const Subset& set) const {
    double largest = -1;
    for (const std::size_t member : set)
        if (const auto rank = ranks_.find(line_key(all_[member])); rank != ranks_.end())
            largest = std::max(largest, rank->second);
    return largest;
}

void GroupList::sort_by_rank(std::vector<Subset>& parts) const {
    std::ranges::stable_sort(parts, std::ranges::greater(),
                             [this](const Subset& part) { return std::pair(rank_of(part), work_of(part)); });
}

}  // namespace fp32shim::cli
