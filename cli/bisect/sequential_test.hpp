// Statistics of runs that may fail at random: tests that end as soon as their runs suffice, and bounds of rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fp32shim::cli {

/// Numbers of runs of one set of groups, without those that gave no answer.
struct RunCounts {
    std::uint64_t failed = 0, passed = 0;

    std::uint64_t total() const { return failed + passed; }
};

/// Rates of failure that a test tells apart.
struct FailureRates {
    double at_random = 0;  ///< rate of runs in which nothing that matters is lowered
    double by_cause = 1;   ///< rate of runs in which something that matters is lowered
};

/// Wald's sequential probability ratio test (Wald, "Sequential Tests of Statistical Hypotheses", 1945). Returns true
/// if the runs fail for a cause, false if they fail at random only; nullopt: more runs are needed. Either answer is
/// wrong with a probability of about `error` at most, where the true rate is one of `rates` or beyond it.
std::optional<bool> fails_by_cause(const RunCounts& counts, const FailureRates& rates, double error);

/// Largest probability that a whole search misses a cause that is at least as frequent as the rate that it seeks, and
/// largest probability that it blames an innocent set.
constexpr double error_of_a_search = 0.05;

/// Returns the number of sets that a search is expected to ask about, for two culprits among these lines.
std::uint64_t expected_set_count(std::size_t lines);

/// Returns the probability of an error that each answer may have, so that the probability of any wrong answer in a
/// search is at most error_of_a_search (Bonferroni's inequality).
double error_rate_per_answer(std::size_t lines);

/// Returns the rates that a search tells apart: that of runs with everything exact, which is never taken to be 0
/// (Laplace's rule of succession), and one that is higher by at least 0.2, and by so much that an
/// innocent set is expected to need at most 40 runs for an answer with this error.
FailureRates rates_to_tell_apart(const RunCounts& exact, double error);

/// Returns the rates to test for among sets that together have failed as often as `lowered`: a set that makes three
/// quarters of the failures is a cause. Their rate is taken at its lower bound with 95% confidence, so that chance
/// does not make a cause look too frequent.
FailureRates rates_for_parts(const FailureRates& sought, const RunCounts& lowered);

/// Returns the upper bound, with 95% confidence, of the failure rate of runs that failed this often (Clopper and
/// Pearson, 1934).
double upper_bound_of_failure_rate(const RunCounts& counts);

}  // namespace fp32shim::cli
