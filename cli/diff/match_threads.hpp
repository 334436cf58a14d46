// Matches processes and threads of two runs that are likely to do the same work. Products are aligned in their order
// only within such a pair of threads.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "cli/diff/results.hpp"

namespace fp32shim::cli {

/// Indices in ResultsOfSide::threads, of A and of B.
using MatchedThreads = std::pair<std::size_t, std::size_t>;

/// Matches processes in their order: first processes with equal rank and name, then those with equal rank, then the
/// rest. Within them, matches threads in the order of their first products. Each is matched with the thread that
/// shares the most products of equal kinds with it. A thread or process may have no counterpart.
std::vector<MatchedThreads> match_threads(const ResultsOfSide& a, const ResultsOfSide& b);

}  // namespace fp32shim::cli
