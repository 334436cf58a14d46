// Algorithms of cublasLt in recordings.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "policy/algorithm.hpp"

namespace fp32shim::cli {

/// Returns the row of known_wrong.def that names the algorithm of these calls, in a library that a process used;
/// nullptr: none does, or the library's version is not known.
const policy::KnownWrongAlgorithm* known_wrong_algorithm(const MergedRow& row, const MergedCalls& calls);

/// Returns a line for each row whose calls used an algorithm that is known to be wrong.
std::vector<std::string> known_wrong_lines(const MergedCalls& calls);

/// Returns an object with the parts of each algorithm, by its word.
Json algorithms_json(const MergedCalls& calls);

}  // namespace fp32shim::cli
