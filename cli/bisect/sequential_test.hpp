// Statistics of runs that may fail at random: tests that end as soon as there are enough runs, and bounds of failure
// rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fp32shim::cli {

/// The numbers of failed and passed runs of one set of groups, without the runs that could not be judged.
struct RunCounts {
    std::uint64_t failed = 0, passed = 0;

    std::uint64_t total() const { return failed + passed; }
};

/// The two failure rates that a test distinguishes.
struct FailureRates {
    double at_random = 0;  ///< failure rate of runs that lower no product on which the outcome depends
    double by_cause = 1;   ///< failure rate of runs that lower a product on which the outcome depends
};

/// Wald's sequential probability ratio test (Wald, "Sequential Tests of Statistical Hypotheses", 1945). Returns true
/// if the runs fail for a cause, false if they fail only at random, and nullopt if more runs are needed. Unless the
/// true rate lies between the two `rates`, an answer is wrong with a probability of about `error` at most.
std::optional<bool> fails_by_cause(const RunCounts& counts, const FailureRates& rates, double error);

/// The largest probability that a whole search misses a cause whose failure rate is at least the one that the search
/// looks for. Also the largest probability that the search blames a set that is no cause.
constexpr double error_of_a_search = 0.05;

/// Returns the number of sets that a search among `lines` lines is expected to test if there are two culprits.
std::uint64_t expected_set_count(std::size_t lines);

/// Returns the largest probability of error for a single answer of a search among `lines` lines. The probability of
/// any wrong answer in the whole search is then at most error_of_a_search (Bonferroni's inequality).
double error_rate_per_answer(std::size_t lines);

/// Returns the two failure rates that a search distinguishes. The lower rate is estimated from the runs with all
/// products exact, and is never 0 (Laplace's rule of succession). The higher rate exceeds it by at least 0.2, and by
/// so much that a set that is no cause is expected to need at most 40 runs for an answer that is wrong with the
/// probability `error`.
FailureRates rates_to_tell_apart(const RunCounts& exact, double error);

/// Returns the failure rates that tests of the parts of a set distinguish. `lowered` are the runs of the whole set. A
/// part that causes three quarters of these failures counts as a cause. The whole set's failure rate is taken at its
/// lower bound with 95% confidence, so that chance does not make the expected rate too high.
FailureRates rates_for_parts(const FailureRates& sought, const RunCounts& lowered);

/// Returns an upper bound of the failure rate of the runs that `counts` counts, with 95% confidence (Clopper and
/// Pearson, 1934).
double upper_bound_of_failure_rate(const RunCounts& counts);

}  // namespace fp32shim::cli
