// Estimates the significant digits of an output from runs whose operands were perturbed at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/sensitivity/result.hpp"
#include "cli/sensitivity/runner.hpp"

namespace fp32shim::cli {

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
