#include "cli/diff/summary.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace fp32shim::cli {
namespace {

bool is_smaller(const ResultPair& one, const ResultPair& other) {
    return one.same_bits != other.same_bits ? one.same_bits : one.difference < other.difference;
}

/// Returns the index of the pair with the largest difference among the pairs from `first` to `end`, without `end`. Of
/// several equal ones, returns the first. A pair with identical bits is chosen only if all pairs have identical bits.
std::size_t largest_of(const std::vector<ResultPair>& pairs, std::size_t first, std::size_t end) {
    const std::span part = std::span(pairs).subspan(first, end - first);
    return first + static_cast<std::size_t>(std::ranges::max_element(part, is_smaller) - part.begin());
}

GrowthStep growth_step(const std::vector<ResultPair>& pairs, std::size_t first, std::size_t end) {
    GrowthStep step{first, end - 1, 0, 0, largest_of(pairs, first, end)};
    std::vector<double> differences;
    differences.reserve(end - first);
    for (std::size_t i = first; i < end; ++i) {
        differences.push_back(pairs[i].difference);
        step.same_bits += pairs[i].same_bits ? 1 : 0;
    }
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>((differences.size() - 1) / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    step.median = *middle;
    return step;
}

}  // namespace

std::vector<GrowthStep> difference_growth(const std::vector<ResultPair>& pairs, std::size_t most) {
    const std::size_t length = (pairs.size() + most - 1) / most;
    std::vector<GrowthStep> steps;
    for (std::size_t first = 0; first < pairs.size(); first += length)
        steps.push_back(growth_step(pairs, first, std::min(first + length, pairs.size())));
    return steps;
}

std::vector<UnpairedProductGroup> group_unpaired_products(const DiffSide& side,
                                                          const std::vector<std::size_t>& unpaired) {
    std::vector<UnpairedProductGroup> groups;
    std::map<std::uint32_t, std::size_t> indices;  // indices in `groups`, by the number of the kind of product
    for (const std::size_t product : unpaired) {
        const auto [entry, is_new] = indices.try_emplace(side.kind_of(product), groups.size());
        if (is_new) groups.push_back({0, product});
        ++groups[entry->second].products;
    }
    std::ranges::stable_sort(groups, std::ranges::greater{}, &UnpairedProductGroup::products);
    return groups;
}

ResultSummary summarize_results(const DiffSide& a, const DiffSide& b, const std::vector<ResultPair>& pairs,
                                double bound) {
    ResultSummary summary;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> indices;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const ResultPair& pair = pairs[i];
        const SharedText at_a = a.row_of(pair.a).effective_format(), at_b = b.row_of(pair.b).effective_format();
        const auto key = std::tuple(a.kind_of(pair.a), at_a.id(), at_b.id());
        const auto [entry, is_new] = indices.try_emplace(key, summary.groups.size());
        if (is_new) {
            summary.groups.push_back({.first = i, .first_other = i, .largest = i});
            if (at_a.id() != at_b.id()) summary.precisions.emplace(at_a, at_b);
        }
        ResultGroup& group = summary.groups[entry->second];
        ++group.products;
        if (is_smaller(pairs[group.largest], pair)) group.largest = i;
        summary.other_precision += at_a.id() != at_b.id() ? 1 : 0;
        if (pair.same_bits) {
            ++summary.same_bits;
            continue;
        }
        if (group.other_bits++ == 0) group.first_other = i;
        summary.other_precision_other_bits += at_a.id() != at_b.id() ? 1 : 0;
        if (!summary.first_other) summary.first_other = i;
        summary.unknown_operands += pair.other_operands == operands_unknown ? 1 : 0;
        if (pair.has_same_operands() && summary.same_operands++ == 0) summary.first_same_operands = i;
        if (!(pair.difference > bound)) continue;
        if (summary.beyond++ == 0) summary.first_beyond = i;
    }
    if (summary.first_other) summary.largest = largest_of(pairs, 0, pairs.size());
    std::ranges::stable_sort(summary.groups, [&](const ResultGroup& one, const ResultGroup& other) {
        return pairs[one.largest].difference > pairs[other.largest].difference;
    });
    return summary;
}

}  // namespace fp32shim::cli
