// Finds a cheap policy under which the output of a command stays within a tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/product_groups/policy_text.hpp"
#include "cli/sensitivity/runner.hpp"

namespace fp32shim::cli {

/// The output errors that the products of one place in the program, such as a source line, cause at one precision.
struct PlaceErrors {
    MeasuredRun alone;       ///< run in which only the products of this place were lowered
    MeasuredRun kept_exact;  ///< run in which all products except those of this place were lowered
};

/// For each place of the program, its precision, given by the index in SensitivityMeasurements::precisions plus one.
/// 0 means exact.
using Levels = std::vector<std::size_t>;

/// The results of all runs that were made before the search for a policy.
struct SensitivityMeasurements {
    std::vector<std::string> precisions;  ///< precisions in order, from the dearest to the cheapest
    std::vector<ProgramPlace> places;
    std::vector<MeasuredRun> all_lowered;          ///< for each precision, the run with all products lowered to it
    std::vector<std::vector<PlaceErrors>> errors;  ///< errors by place, and for each place by precision

    /// Returns the groups of products of all places, assigned to the precisions that `levels` gives for the places.
    std::vector<PrecisionAssignment> groups_by_precision(const Levels& levels) const;
    /// Returns true if the place ran below FP32 in the run that lowered only this place to the precision of `level`.
    bool is_lowered_at(std::size_t place, std::size_t level) const {
        return level > 0 && errors[place][level - 1].alone.was_lowered;
    }
};

struct CheapestPolicy {
    bool is_found = false;
    Levels levels;
    MeasuredRun measured;     ///< the last run under this policy
    std::uint64_t tried = 0;  ///< number of policies under which the command was run
    std::uint64_t refused =
        0;  ///< number of tried policies with one place at the next cheaper precision; all were beyond the tolerance
};

/// A function that runs the command under the policy that gives each place the level in `levels`.
using RunLevels = std::function<MeasuredRun(const Levels& levels)>;

/// Finds a policy by running the command. Starts with each place at the cheapest precision at which the place alone
/// causes an error within the tolerance. Then moves the place that alone causes the largest error to the next dearer
/// precision, until the output is within the tolerance. If a run of `measured` has shown that a cheaper policy is
/// within the tolerance, takes that policy instead. Finally tries each place at the next cheaper precision.
CheapestPolicy find_cheapest_policy(const SensitivityMeasurements& measured, double tolerance, const RunLevels& run);

}  // namespace fp32shim::cli
