// Differences between equal runs, and the errors that they explain.
#pragma once

#include <cstddef>
#include <vector>

namespace fp32shim::cli {

/// Returns the largest error that chance explains in any of so many rows, with 95% confidence for all of them
/// together (Bonferroni's inequality). `errors`: those of equal runs against the first, taken to be normal. The limit
/// is a prediction limit: mean + t·s·sqrt(1 + 1/n). It is 0 if all errors are 0, and infinite if they are too few to
/// tell.
double largest_error_by_chance(const std::vector<double>& errors, std::size_t rows);

}  // namespace fp32shim::cli
