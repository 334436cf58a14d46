// Finds a cheap policy under which the output stays within a tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/product_groups/policy_text.hpp"
#include "cli/sensitivity/measurements.hpp"
#include "cli/sensitivity/places.hpp"

namespace fp32shim::cli {

/// Problem of the run with only a place lowered that is not tried.
constexpr const char* not_tried = "not tried";

/// Output errors of one place at one precision.
struct PlaceErrors {
    Measured alone;       ///< only this place was lowered
    Measured kept_exact;  ///< everything but this place was lowered
};

/// All that was measured before the search for a policy.
struct Sensitivity {
    std::vector<std::string> precisions;  ///< from the dearest to the cheapest
    std::vector<Place> places;
    std::vector<Measured> all_lowered;             ///< by precision
    std::vector<std::vector<PlaceErrors>> errors;  ///< by place and precision
};

/// A precision for each place, as a number in Sensitivity::precisions plus one; 0: exact.
using Levels = std::vector<std::size_t>;

struct CheapestPolicy {
    bool is_found = false;
    Levels levels;
    Measured measured;        ///< the run under this policy
    std::uint64_t tried = 0;  ///< policies that were run
    std::uint64_t refused =
        0;  ///< of these, the found one with one place a step cheaper: all were beyond the tolerance
};

/// Returns true if the place ran below FP32 when it alone was asked to, at this level of Levels.
bool is_lowered_at(const Sensitivity& measured, std::size_t place, std::size_t level);

/// Returns the policy for these levels. What no place covers runs at the cheapest precision, that of `settings`.
std::string policy_at(const Sensitivity& measured, const Groups& groups, const Levels& levels,
                      const PolicySettings& settings, const CommentOn& comment_on, const LineTexts* texts);

/// Returns the value of `run --precision` for policies that lower all groups to this precision but some.
std::string requested_precision(const std::string& precision);

/// Finds a policy by runs: starts with each place at the cheapest precision whose error alone is within the
/// tolerance, and takes the place with the largest error alone one step back until the output is within the
/// tolerance. A cheaper policy that a run of `measured` has shown to be within it is taken instead. Then each place
/// is tried one step cheaper.
CheapestPolicy find_cheapest_policy(const Sensitivity& measured, const Groups& groups, const LineTexts& texts,
                                    const PolicySettings& settings, double tolerance, Measurements& measurements);

}  // namespace fp32shim::cli
