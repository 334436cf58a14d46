// Significant digits of an output, from runs whose operands were perturbed at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/sensitivity/result.hpp"
#include "cli/sensitivity/runner.hpp"

namespace fp32shim::cli {

/// The decimal digits that perturbed runs share with the exact one: -log10 of the standard deviation of the relative
/// error (D. S. Parker, "Monte Carlo Arithmetic", 1997). The interval has a confidence of 95% if the errors are
/// normal around the exact run (Sohier and others, "Confidence intervals for stochastic arithmetic", ACM TOMS 47,
/// 2021): the sum of their squares is then distributed as chi-squared. Never below 0.
struct SignificantDigits {
    double estimate = 0, lowest = 0, highest = 0;  ///< infinite if no run differed
    std::uint64_t runs = 0,
                  failed = 0;     ///< number of runs; `failed` have no finite error, and are left out of the estimate
    std::uint64_t by_chance = 0;  ///< runs with a finite error that is not told apart from chance
    bool is_chance = false;       ///< some errors are not told apart from chance, and no other run differed
    bool was_lowered = false;     ///< some product of these runs was perturbed
    bool are_equal = false;       ///< all runs had the same error, so they tell nothing about random errors
};

SignificantDigits estimate_significant_digits(const std::vector<MeasuredRun>& runs);

/// Digits of a place at one precision.
struct PlaceDigits {
    const ProgramPlace* place = nullptr;  ///< null: everything was perturbed
    std::string precision;
    SignificantDigits digits;
};

/// Returns the output of `--perturb`, a table for people or JSON (docs/schema.md).
std::string digits_text(const std::vector<PlaceDigits>& all, const SensitivityResult& result);
Json digits_json(const std::vector<PlaceDigits>& all, const SensitivityResult& result);

}  // namespace fp32shim::cli
