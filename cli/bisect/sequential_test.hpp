// Statistics of runs that may fail at random: tests that end as soon as their runs suffice, and bounds of rates.
#pragma once

#include <cstdint>
#include <optional>

namespace fp32shim::cli {

/// Runs of one set of groups that gave an answer.
struct RunCounts {
    std::uint64_t failed = 0, passed = 0;

    std::uint64_t all() const { return failed + passed; }
};

/// Rates of failure that a test tells apart.
struct FailureRates {
    double at_random = 0;  ///< of runs with nothing lowered that matters
    double by_cause = 1;   ///< of runs with something lowered that matters
};

/// Wald's sequential probability ratio test (Wald, "Sequential Tests of Statistical Hypotheses", 1945). Returns true
/// if the runs fail for a cause, false if they fail at random only; nullopt: more runs are needed. Either answer is
/// wrong with a probability of about `error` at most, where the true rate is one of `rates` or beyond it.
std::optional<bool> fails_by_cause(const RunCounts& counts, const FailureRates& rates, double error);

/// Returns the rates to test for, from runs with everything exact and runs with everything lowered. An estimate is
/// never 0 or 1 (Laplace's rule of succession). A cause that makes three quarters of the difference is still one.
FailureRates estimated_rates(const RunCounts& exact, const RunCounts& lowered);

/// Returns the largest rate of failure, with 95% confidence, of runs that failed this often (Clopper and Pearson,
/// 1934).
double largest_rate(const RunCounts& counts);

}  // namespace fp32shim::cli
