// Makes the runs of `sensitivity`, and measures how far the output of each run is from the output of the exact run.
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

/// A place of the program, such as a source line or a scope. The products of a place are lowered together.
struct ProgramPlace {
    std::string text;  ///< name of the place, such as `train.py:41 Model.forward`
    Subset groups;
    std::uint64_t calls = 0;  ///< number of the place's calls in the first run
    double work = 0;          ///< number of floating-point operations of these calls
    bool is_untried = false;  ///< some group of the place had fewer calls in each later exact run than in the first
};

/// Divides all groups of products into places, in the order of GroupList::split(). `by` says by what places are
/// distinguished: `where` means scope and source line; `scope` means scope only; `size` means scope, line, function
/// and size. If there are more than `most` places, the last ones are joined, so that `most` remain.
std::vector<ProgramPlace> divide_into_places(const GroupList& groups, std::string_view by, std::size_t most);

/// A run that is to be made, with the text that describes it to the user.
struct PlannedRun {
    RunRequest request;
    std::string text;  ///< description of the run, such as `only train.py:41 forward at high`
};

/// The value of OutputDistance::problem for a run that was not made.
constexpr const char* not_tried = "not tried";

/// The result of one run: the distance of its output from the exact output, and the formats in which its products
/// ran. The distance is infinite if the run did not end with status 0.
struct MeasuredRun : OutputDistance {
    PlannedRun planned{};
    bool was_lowered = false;  ///< at least one product ran below FP32
    /// The names of the formats in which each group ran. The key is ProductGroup::full_text().
    std::map<std::string, std::set<std::string>> formats{};

    bool exceeds_chance() const { return problem != not_tried && OutputDistance::exceeds_chance(); }
};

/// Makes the runs of a sensitivity analysis and keeps their results. measure_runs() makes no run twice. All functions
/// that run the command throw InterruptedBySignal and SearchAborted.
class SensitivityRunner {
  public:
    explicit SensitivityRunner(TrialRunner& trials) : trials_(trials) {}

    /// Makes exact runs until there are `count` of them. Returns the products of the first exact run, which is the
    /// reference.
    const RecordedProducts& make_exact_runs(const RunRequest& request, std::uint64_t count);
    /// Sets the number of errors that will be measured, each by one run, so that all errors are judged alike. The
    /// exact runs that show the effects of chance must have been made before.
    void expect_measurements(std::uint64_t count);
    /// Makes one more exact run after a run that lowered products. Throws SearchAborted if its output differs from
    /// those of the other exact runs by more than chance explains. `when` says in the message when this run was made.
    void check_by_exact_run(const RunRequest& request, std::string_view when = "right after a lowered one");
    /// Returns true if later exact runs were made, and each made fewer calls of `group` than the first exact run.
    bool made_fewer_calls_later(const ProductGroup& group) const {
        return exact_count_ >= 2 && !ran_again_.contains(group.key);
    }
    /// Makes those of the planned runs whose results are not known yet, `jobs` runs at the same time. Returns the
    /// results of all planned runs.
    std::vector<MeasuredRun> measure_runs(const std::vector<PlannedRun>& planned, std::uint64_t jobs);
    /// Makes a run again. Throws SearchAborted if chance explains the output of the new run, because chance then has
    /// larger effects than the exact runs have shown.
    void confirm_by_second_run(const MeasuredRun& measured);
    /// Forgets the results of all runs except the exact ones. From now on, errors also include those numbers of the
    /// output that were left out because exact runs differ too much in them.
    void include_all_numbers();

    /// Returns the largest output error of an exact run, compared with the first exact run.
    double exact_run_noise() const { return std::max(reference().exact_run_noise(), noise_after_lowered_); }
    /// Returns the largest output error that chance explains, in any number that counts.
    double largest_chance_error() const { return reference().largest_chance_error(); }
    const ExactRunReference& reference() const { return trials_.reference(); }
    std::uint64_t exact_run_count() const { return exact_count_; }
    const TrialRunner& trials() const { return trials_; }

  private:
    Trial make_exact_run(const RunRequest& request, RunPurpose purpose);
    void note_repeated_groups(const RecordedProducts& products);

    TrialRunner& trials_;
    double noise_after_lowered_ =
        0;  ///< largest output error of the exact runs that were made after a run that lowered products
    RecordedProducts exact_products_;  ///< products of the first exact run
    std::set<GroupKey>
        ran_again_;  ///< groups of which a later exact run made at least as many calls as the first exact run
    std::uint64_t exact_count_ = 0;
    std::map<RunRequest, MeasuredRun> known_;
};

/// Returns a sentence about the differences between the exact runs.
std::string noise_sentence(const SensitivityRunner& runner);

}  // namespace fp32shim::cli
