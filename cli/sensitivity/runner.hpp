// Makes the runs of `sensitivity`, and measures how far the output of each is from that of the exact run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/trials/trials.hpp"

namespace fp32shim::cli {

/// A place of the program, whose products are lowered together.
struct ProgramPlace {
    std::string text;  ///< `train.py:41 Model.forward`
    Subset groups;
    std::uint64_t calls = 0;  ///< number of calls in the first run
    double work = 0;          ///< floating-point operations of these calls
    bool is_untried = false;  ///< only the first exact run made all calls of some of its groups
};

/// Divides all groups into places, sorted as GroupList::split() does. `by` names what two places differ in: `where`,
/// the scope and the line of the program; `scope`; or `size`, the scope, the line, the function and the size. Of more
/// than `most`, the last ones become one.
std::vector<ProgramPlace> divide_into_places(const GroupList& groups, std::string_view by, std::size_t most);

/// A run to make, and how the user is told of it.
struct PlannedRun {
    RunRequest request;
    std::string text;  ///< `only train.py:41 forward at high`
};

/// OutputDistance::problem of a run that was not made.
constexpr const char* not_tried = "not tried";

/// The result of one run: its distance, which is infinite if the run did not end with status 0, and what ran lowered.
struct MeasuredRun : OutputDistance {
    PlannedRun planned{};
    bool was_lowered = false;  ///< some product ran below FP32
    /// Words of the formats in which groups ran, by ProductGroup::full_text().
    std::map<std::string, std::set<std::string>> formats{};

    bool exceeds_chance() const { return problem != not_tried && OutputDistance::exceeds_chance(); }
};

/// Makes the runs of a sensitivity analysis and keeps their results. measure_runs() repeats no run. All functions
/// that run the command throw InterruptedBySignal and SearchAborted.
class SensitivityRunner {
  public:
    explicit SensitivityRunner(TrialRunner& trials) : trials_(trials) {}

    /// Makes exact runs until there are `count`. Returns the products of the first, which is the reference.
    const RecordedProducts& make_exact_runs(const RunRequest& request, std::uint64_t count);
    /// Announces how many errors are to be measured, each by a run, so that all are judged alike. Precondition: all
    /// exact runs that show what chance does have been made.
    void expect_error_count(std::uint64_t count);
    /// Makes one more exact run, after one with something lowered. Throws SearchAborted if it differs from the others
    /// by more than chance. `when`: words for the message that say when this run was made.
    void check_by_exact_run(const RunRequest& request, std::string_view when = "right after a lowered one");
    /// Returns true if a further exact run made at least as many calls of a group as the first one, or if there was
    /// no other.
    bool has_run_again(const ProductGroup& group) const { return exact_count_ < 2 || ran_again_.contains(group.key); }
    /// Makes the runs that are not known yet, and returns the results of all.
    std::vector<MeasuredRun> measure_runs(const std::vector<PlannedRun>& planned, std::uint64_t jobs);
    /// Makes a run again. Throws SearchAborted if the new one is not told apart from the exact run: then chance does
    /// more than exact runs have shown.
    void confirm_by_second_run(const MeasuredRun& measured);
    /// Forgets the results of all runs except the exact ones. From now on, errors also take into account those
    /// numbers of the output that were left out because exact runs differ too much in them.
    void include_all_numbers();

    /// Returns the largest output error of an exact run against the first.
    double exact_run_noise() const { return std::max(reference().exact_run_noise(), noise_after_lowered_); }
    /// Returns the largest output error that is not told apart from chance, in any number that counts.
    double largest_chance_error() const { return reference().largest_chance_error(); }
    const ExactRunReference& reference() const { return trials_.reference(); }
    std::uint64_t exact_run_count() const { return exact_count_; }
    const TrialRunner& trials() const { return trials_; }

  private:
    Trial make_exact_run(const RunRequest& request, RunPurpose purpose);
    void note_repeated_groups(const RecordedProducts& products);

    TrialRunner& trials_;
    double noise_after_lowered_ = 0;   ///< largest output error of the exact runs that followed a lowered one
    RecordedProducts exact_products_;  ///< products of the first exact run
    std::set<GroupKey> ran_again_;     ///< groups of which a further exact run made at least as many calls
    std::uint64_t exact_count_ = 0;
    std::map<RunRequest, MeasuredRun> known_;
};

/// Returns a sentence about the differences between the exact runs.
std::string noise_sentence(const SensitivityRunner& runner);

}  // namespace fp32shim::cli
