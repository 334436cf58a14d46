// Distances of the output of runs under policies from that of the exact run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/trials/trials.hpp"

namespace fp32shim::cli {

/// A run to make, and how the user is told of it.
struct Experiment {
    RunRequest request;
    std::string text;  ///< `only train.py:41 forward at high`
};

/// Problem of a run that is not made.
constexpr const char* not_tried = "not tried";

/// The result of one run: its distance, which is infinite if the run did not end with status 0, and what ran lowered.
struct MeasuredRun : Distance {
    Experiment experiment{};
    bool was_lowered = false;  ///< some product ran below FP32
    /// Words of the formats in which groups ran, by Group::full_text().
    std::map<std::string, std::set<std::string>> formats{};

    bool exceeds_chance() const { return problem != not_tried && Distance::exceeds_chance(); }
};

/// Makes the runs of a sensitivity analysis and keeps their results. measure() repeats no run. All functions that run
/// the command throw Interrupted and End.
class Measurements {
  public:
    explicit Measurements(Trials& trials) : trials_(trials) {}

    /// Makes exact runs until there are `count`. Returns the products of the first, which is the reference.
    const RecordedProducts& run_exact(const RunRequest& request, std::uint64_t count);
    /// Announces how many errors are to be measured, each by a run, so that all are judged alike. Precondition: all
    /// exact runs that show what chance does have been made.
    void expect_errors(std::uint64_t count);
    /// Makes one more exact run, after one with something lowered. Throws End if it differs from the others by more
    /// than chance. `when` tells which run it is.
    void check_independence(const RunRequest& request, std::string_view when = "right after a lowered one");
    /// Returns true if a further exact run made at least as many calls of a group as the first one, or if there was
    /// no other.
    bool ran_again(const Group& group) const { return exact_count_ < 2 || ran_again_.contains(group.key); }
    /// Makes the runs that are not known yet, and returns the results of all.
    std::vector<MeasuredRun> measure(const std::vector<Experiment>& experiments, std::uint64_t jobs);
    /// Makes a run again. Throws End if the new one is not told apart from the exact run: then chance does more than
    /// exact runs have shown.
    void confirm(const MeasuredRun& measured);
    /// Forgets all runs but the exact ones, and lets all numbers count from now on.
    void count_all_numbers();

    /// Largest output error of an exact run against the first.
    double noise() const { return std::max(reference().noise(), noise_after_lowered_); }
    /// Largest output error that is not told apart from chance, in any number that counts.
    double chance() const { return reference().chance(); }
    const ExactNumbers& reference() const { return trials_.reference(); }
    std::uint64_t exact_runs() const { return exact_count_; }
    const Trials& trials() const { return trials_; }

  private:
    Trial run_once_exactly(const RunRequest& request, Purpose purpose);
    void note_calls(const RecordedProducts& products);

    Trials& trials_;
    double noise_after_lowered_ = 0;   ///< largest output error of the exact runs that followed a lowered one
    RecordedProducts exact_products_;  ///< products of the first exact run
    std::set<GroupKey> ran_again_;     ///< groups of which a further exact run made at least as many calls
    std::uint64_t exact_count_ = 0;
    std::map<RunRequest, MeasuredRun> known_;
};

/// Returns a sentence about the differences between the exact runs.
std::string noise_sentence(const Measurements& measurements);

}  // namespace fp32shim::cli
