// Declares what `sensitivity` finds: the errors of places, a cheap policy and the significant digits of the output.
// Also declares the functions that write the result as a table for people, as JSON and as a policy file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/sensitivity/runner.hpp"
#include "cli/trials/search_command.hpp"

namespace fp32shim::cli {

// --- A cheap policy under which the output of a command stays within a tolerance

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

// --- The result

struct SensitivityResult {
    const GroupList& groups;
    const SourceLineTexts& texts;
    const SensitivityRunner& runner;
    const SensitivityMeasurements& measured;
    const SearchOptions& options;
    std::string metric, source;  ///< how the numbers of the output are compared, and where the numbers come from
    double tolerance = -1;       ///< largest acceptable error; -1 if none was given
    std::string
        measured_policy{};  ///< file of the policy if only a given policy was measured; empty if places were measured
    std::optional<CheapestPolicy> policy{};
    FoundPolicy found{};        ///< the policy file that was written
    PolicySettings settings{};  ///< settings of the policy that is to be written
    std::vector<std::string>
        untried{};             ///< places with a group that had fewer calls in each later exact run than in the first
    std::string dependence{};  ///< sentence on whether the output depends on products; empty if the runs have shown
                               ///< that it does
    std::vector<std::string> left_files{};  ///< files of the working folder that changed during the runs
};

/// Returns true if at least one call of the group ran below FP32 in the run.
bool was_lowered_in(const MeasuredRun& run, const ProductGroup& group);

/// Returns a sentence with a line feed about places that were not tried, or an empty text if there are none.
std::string untried_sentence(const std::vector<std::string>& untried);

/// Returns the result as a table for people.
std::string result_text(const SensitivityResult& result);
/// Returns the result as the JSON that docs/schema.md describes.
Json to_json(const SensitivityResult& result);
/// Returns the comment on the whole policy, which stands at the beginning of the policy file.
std::string policy_comment(const SensitivityResult& result);
/// Returns the text of the policy file, with comments on the rules.
std::string policy_text_of(const SensitivityResult& result);

// --- The significant digits of an output, from runs whose operands were perturbed at random

/// The number of decimal digits that perturbed runs share with the exact run. It is -log10 of the standard deviation
/// of the relative error (D. S. Parker, "Monte Carlo Arithmetic", 1997), and never less than 0. The interval has a
/// confidence of 95% if the errors are normally distributed around the exact run, because the sum of their squares
/// then has a chi-squared distribution (Sohier and others, "Confidence intervals for stochastic arithmetic", ACM TOMS
/// 47, 2021).
struct SignificantDigits {
    double estimate = 0, lowest = 0, highest = 0;  ///< infinite if no run differed
    std::uint64_t runs = 0,
                  failed =
                      0;  ///< number of runs; `failed` of them have no finite error, and are left out of the estimate
    std::uint64_t by_chance = 0;  ///< number of runs with a finite error that chance may explain
    bool is_chance = false;       ///< chance may explain some errors, and no other run differed from the exact run
    bool was_perturbed = false;   ///< some product of these runs was perturbed
    bool are_equal = false;       ///< all runs had the same error, so they show nothing about random errors
};

SignificantDigits estimate_significant_digits(const std::vector<MeasuredRun>& runs);

/// The significant digits of the output if one place of the program is perturbed at one precision.
struct PlaceDigits {
    const ProgramPlace* place = nullptr;  ///< the perturbed place; null if everything was perturbed
    std::string precision;
    SignificantDigits digits;
};

/// Returns the output of `--perturb` as a table for people.
std::string digits_text(const std::vector<PlaceDigits>& all, const SensitivityResult& result);
/// Returns the output of `--perturb` as JSON.
Json digits_json(const std::vector<PlaceDigits>& all, const SensitivityResult& result);

}  // namespace fp32shim::cli
