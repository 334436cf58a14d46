#include "cli/bisect/delta_debugging.hpp"

#include <algorithm>

namespace fp32shim::cli {
namespace {

/// Cuts `parts` into `count` consecutive pieces whose lengths differ by at most one.
std::vector<Parts> split_evenly(const Parts& parts, std::size_t count) {
    std::vector<Parts> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](std::size_t piece) {
            return parts.begin() + static_cast<std::ptrdiff_t>(parts.size() * piece / count);
        };
        pieces.emplace_back(at(i), at(i + 1));
    }
    return pieces;
}

/// Returns, for each piece, the union of all others.
std::vector<Parts> complements_of(const std::vector<Parts>& pieces) {
    std::vector<Parts> result(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        for (std::size_t j = 0; j < pieces.size(); ++j)
            if (i != j) result[i].insert(result[i].end(), pieces[j].begin(), pieces[j].end());
    }
    return result;
}

}  // namespace

Parts minimal_failing(Parts parts, const FirstFailing& first_failing) {
    std::size_t count = 2;
    while (parts.size() > 1) {
        count = std::min(count, parts.size());
        const std::vector<Parts> pieces = split_evenly(parts, count);
        if (const auto piece = first_failing(pieces)) {
            parts = pieces[*piece];
            count = 2;
            continue;
        }
        // With two pieces, each is the complement of the other, so complements need no tests.
        if (count > 2) {
            const std::vector<Parts> rests = complements_of(pieces);
            if (const auto rest = first_failing(rests)) {
                parts = rests[*rest];
                --count;
                continue;
            }
        }
        if (count == parts.size()) break;
        count *= 2;
    }
    return parts;
}

Subset groups_of(const Parts& parts) {
    Subset result;
    for (const Subset& part : parts) result.insert(result.end(), part.begin(), part.end());
    std::ranges::sort(result);
    return result;
}

}  // namespace fp32shim::cli
