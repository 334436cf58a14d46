// Describes the algorithms of cublasLt that recorded calls used.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "policy/algorithm.hpp"

namespace fp32shim::cli {

/// Returns the entry of policy/known_wrong.def that says that the algorithm of `row` gives wrong results in a version
/// of cublasLt that a recorded process used. Returns nullptr if there is no entry, or if no version is known.
const policy::KnownWrongAlgorithm* known_wrong_algorithm(const MergedRow& row, const MergedCalls& calls);

/// Returns a line for each row whose calls used an algorithm that is known to be wrong.
std::vector<std::string> known_wrong_lines(const MergedCalls& calls);

/// Returns a JSON object that has an object with the attributes of each algorithm, by the algorithm's name.
Json algorithms_json(const MergedCalls& calls);

}  // namespace fp32shim::cli
