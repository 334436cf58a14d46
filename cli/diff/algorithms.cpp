#include "cli/diff/algorithms.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "policy/algorithm.hpp"

namespace fp32shim::cli {

ComparedAlgorithms compare_algorithms(const ResultsOfSide& a, const ResultsOfSide& b) {
    ProductKinds kinds;
    std::map<std::uint32_t, std::array<const MergedRow*, 2>> most;
    for (const std::size_t side : {0U, 1U})
        for (const MergedRow& row : (side == 0 ? a : b).calls.rows()) {
            if (row.algorithm.empty()) continue;
            const MergedRow*& best = most[kinds.number_of(row)][side];
            if (best == nullptr || row.counters.calls > best->counters.calls) best = &row;
        }
    ComparedAlgorithms compared;
    for (const auto& [kind, rows] : most) {
        if (rows[0] == nullptr || rows[1] == nullptr) continue;
        ++compared.kinds;
        if (rows[0]->algorithm != rows[1]->algorithm) compared.others.push_back({rows[0], rows[1]});
    }
    return compared;
}

std::string other_algorithm_text(const MergedRow& a, const MergedRow& b) {
    const std::string difference = policy::algorithm_difference(a.algorithm, b.algorithm);
    return difference.empty() ? difference : fmt::format("another algorithm ({})", difference);
}

}  // namespace fp32shim::cli
