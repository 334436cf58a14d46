#include "cli/diff/match_threads.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>

namespace fp32shim::cli {
namespace {

using Match = std::pair<std::size_t, std::size_t>;

std::vector<Match> matched_processes(const std::vector<ProcessResults>& a, const std::vector<ProcessResults>& b) {
    using IsAlike = bool (*)(const ProcessResults&, const ProcessResults&);
    constexpr IsAlike rounds[] = {
        [](const ProcessResults& one, const ProcessResults& other) {
            return one.rank == other.rank && one.program == other.program;
        },
        [](const ProcessResults& one, const ProcessResults& other) { return one.rank == other.rank; },
        [](const ProcessResults&, const ProcessResults&) { return true; }};
    std::vector<Match> matches;
    std::vector<bool> taken_a(a.size()), taken_b(b.size());
    for (const IsAlike is_alike : rounds) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            for (std::size_t j = 0; j < b.size() && !taken_a[i]; ++j) {
                if (taken_b[j] || !is_alike(a[i], b[j])) continue;
                taken_a[i] = taken_b[j] = true;
                matches.emplace_back(i, j);
            }
        }
    }
    return matches;
}

/// Number of products of each kind.
using Counts = std::map<std::uint32_t, std::uint64_t>;

Counts counts_of(const ResultsOfSide& side, std::size_t thread) {
    Counts counts;
    const ThreadResults& range = side.threads[thread];
    for (std::size_t i = 0; i < range.count; ++i) ++counts[side.kind_of(range.first + i)];
    return counts;
}

std::uint64_t count_in_common(const Counts& a, const Counts& b) {
    std::uint64_t sum = 0;
    for (const auto& [kind, count] : a)
        if (const auto other = b.find(kind); other != b.end()) sum += std::min(count, other->second);
    return sum;
}

std::int64_t begin_of(const ResultsOfSide& side, std::size_t thread) {
    return side.products[side.threads[thread].first].end_ns;
}

/// Returns the threads of a process, sorted by the time of their first product.
std::vector<std::size_t> by_first_product(const ResultsOfSide& side, const ProcessResults& process) {
    std::vector<std::size_t> order(process.threads);
    std::iota(order.begin(), order.end(), process.first_thread);
    std::ranges::stable_sort(order, {}, [&](std::size_t thread) { return begin_of(side, thread); });
    return order;
}

/// Matches threads of two processes.
void match_threads_of(const ResultsOfSide& a, const ProcessResults& process_a, const ResultsOfSide& b,
                      const ProcessResults& process_b, std::vector<MatchedThreads>& matches) {
    // Threads with equal products are matched first, which is fast even with thousands of threads.
    std::map<Counts, std::deque<std::size_t>> by_counts;
    for (const std::size_t j : by_first_product(b, process_b)) by_counts[counts_of(b, j)].push_back(j);
    std::vector<std::size_t> others;
    for (const std::size_t i : by_first_product(a, process_a)) {
        const auto equal = by_counts.find(counts_of(a, i));
        if (equal == by_counts.end() || equal->second.empty()) {
            others.push_back(i);
            continue;
        }
        matches.emplace_back(i, equal->second.front());
        equal->second.pop_front();
    }
    std::vector<std::pair<std::size_t, const Counts*>> rest;
    for (const auto& [counts, threads] : by_counts)
        for (const std::size_t j : threads) rest.emplace_back(j, &counts);
    std::ranges::stable_sort(rest, {}, [&](const auto& thread) { return begin_of(b, thread.first); });
    for (const std::size_t i : others) {
        const Counts own = counts_of(a, i);
        const auto best = std::ranges::max_element(
            rest, {}, [&](const auto& thread) { return count_in_common(own, *thread.second); });
        if (best == rest.end()) break;
        matches.emplace_back(i, best->first);
        rest.erase(best);
    }
}

}  // namespace

std::vector<MatchedThreads> match_threads(const ResultsOfSide& a, const ResultsOfSide& b) {
    std::vector<MatchedThreads> matches;
    for (const auto& [i, j] : matched_processes(a.processes, b.processes))
        match_threads_of(a, a.processes[i], b, b.processes[j], matches);
    return matches;
}

}  // namespace fp32shim::cli
