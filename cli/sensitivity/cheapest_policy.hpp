// Finds a cheap policy under which the output stays within a tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/product_groups/policy_text.hpp"
#include "cli/sensitivity/runner.hpp"

namespace fp32shim::cli {

/// Output errors of one place at one precision.
struct PlaceErrors {
    MeasuredRun alone;       ///< only this place was lowered
    MeasuredRun kept_exact;  ///< everything but this place was lowered
};

/// A precision for each place, as a number in SensitivityMeasurements::precisions plus one; 0: exact.
using Levels = std::vector<std::size_t>;

/// All that was measured before the search for a policy.
struct SensitivityMeasurements {
    std::vector<std::string> precisions;  ///< precisions from the dearest to the cheapest
    std::vector<ProgramPlace> places;
    std::vector<MeasuredRun> all_lowered;          ///< results with everything lowered, by precision
    std::vector<std::vector<PlaceErrors>> errors;  ///< errors by place and precision

    /// Returns the groups of all places, by the precisions at these levels.
    std::vector<PrecisionAssignment> groups_by_precision(const Levels& levels) const;
    /// Returns true if the place ran below FP32 when it alone was asked to, at this level of Levels.
    bool is_lowered_at(std::size_t place, std::size_t level) const {
        return level > 0 && errors[place][level - 1].alone.was_lowered;
    }
};

struct CheapestPolicy {
    bool is_found = false;
    Levels levels;
    MeasuredRun measured;       ///< the run under this policy
    std::uint64_t tried = 0;    ///< number of policies that were run
    std::uint64_t refused = 0;  ///< number of policies with one place a level cheaper, all beyond the tolerance
};

/// Runs the command under a policy with these levels.
using RunLevels = std::function<MeasuredRun(const Levels& levels)>;

/// Finds a policy by runs: starts with each place at the cheapest precision whose error alone is within the
/// tolerance, and moves the place with the largest error alone to the next dearer precision until the output is
/// within the tolerance. A cheaper policy is taken instead if a run of `measured` has shown it to be within the
/// tolerance. Then each place is tried one level cheaper.
CheapestPolicy find_cheapest_policy(const SensitivityMeasurements& measured, double tolerance, const RunLevels& run);

}  // namespace fp32shim::cli
