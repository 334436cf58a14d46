// Differences between equal runs, and the errors that they explain.
#pragma once

#include <cstddef>
#include <vector>

namespace fp32shim::cli {

/// Tells how large errors may be by chance, for any of so many errors with 95% confidence for all of them together
/// (Bonferroni's inequality).
class ChanceLimit {
  public:
    /// `runs`: number of equal runs that are compared with the first. `judged`: number of errors that are judged.
    ChanceLimit(std::size_t runs, std::size_t judged);

    /// Returns the largest error that chance explains. `errors`: those of the equal runs, taken to be normal. It is a
    /// prediction limit, mean + t·s·sqrt(1 + 1/n), and no less than any of them. It is 0 if all errors are 0, and
    /// infinite if they are too few to tell, or one is infinite.
    double largest_error(const std::vector<double>& errors) const;

  private:
    double students_t_ = 0;
};

}  // namespace fp32shim::cli
