// Runs of the command under policies, and how far their output lies from that of the exact run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/sensitivity/distance.hpp"
#include "cli/trials/command.hpp"
#include "cli/trials/runs.hpp"

namespace fp32shim::cli {

/// The result of one run.
struct Measured {
    double error = 0;                ///< of its Distance; infinite if the run did not end with status 0
    std::string problem{};           ///< why `error` is infinite: `ended with status 1`; empty otherwise
    bool was_lowered = false;        ///< some product ran below FP32
    bool is_chance = false;          ///< not told apart from chance
    std::uint64_t changed = 0;       ///< rows of numbers that changed
    std::vector<ChangedRow> most{};  ///< some of them, the largest change first
    /// Words of the formats in which groups ran, by Group::full_text(). Of an experiment that keeps them.
    std::map<std::string, std::set<std::string>> formats{};

    bool is_told_apart() const { return error != 0 && !is_chance; }
};

/// A run to make, and how the user is told of it.
struct Experiment {
    RunRequest request;
    std::string text;            ///< `only train.py:41 forward at high`
    bool keeps_formats = false;  ///< Measured::formats is wanted
};

/// The command cannot be measured.
struct MeasuringFailed {
    End end;
    bool can_continue = false;  ///< the results so far are of use if the command is repeated
};

struct MeasuringSettings {
    std::string compared_file;  ///< file of numbers that the command writes; empty: it prints them to stdout
    OutputMetric metric = OutputMetric::number;
    double tolerance = -1;  ///< largest error that is accepted; -1: none was given
    std::uint64_t jobs = 1;
    bool may_preview = false;  ///< the mode of the CPU was not chosen
    std::string state_path;
    std::vector<std::string> input_files;  ///< files that the command may read
};

/// Makes runs, and keeps their results in a file so that an interrupted search can go on. All functions that run the
/// command throw Interrupted and MeasuringFailed.
class Measurements {
  public:
    /// `identity`: all facts on which the results depend.
    Measurements(MeasuringSettings settings, Runs& runs, const Json& identity);

    /// Returns why the state file cannot be used; empty if it can.
    const std::string& problem() const { return problem_; }
    /// Makes exact runs until there are so many. The first is the reference. Returns its products.
    const RecordedProducts& run_exact(const RunRequest& request, std::uint64_t count);
    /// Makes one more exact run, after one with something lowered. Throws MeasuringFailed if it differs from the
    /// others by more than chance. `when` tells which run it is.
    void check_independence(const RunRequest& request, std::string_view when = "right after a lowered one");
    /// Returns true if a further exact run made as many calls of a group as the first one, or if there was no other.
    bool ran_again(const Group& group) const { return exact_count_ < 2 || ran_again_.contains(group.key); }
    /// Returns true if the program is to be previewed on the CPU: its products ran there, and no mode was chosen.
    bool previews() const { return settings_.may_preview && is_on_cpu(); }
    /// Returns true if all products of the first exact run ran on a CPU.
    bool is_on_cpu() const { return exact_products_.calls > 0 && exact_products_.calls_on_gpu == 0; }
    /// Makes the runs that are not known yet, and returns the results of all.
    std::vector<Measured> measure(const std::vector<Experiment>& experiments);

    /// Makes a run with this error again. Throws MeasuringFailed if the new one is not told apart from the exact run:
    /// then chance does more than exact runs have shown.
    void confirm(const Experiment& experiment, const Measured& measured);

    /// Largest output error of an exact run against the first.
    double noise() const { return std::max(reference_.noise(), noise_after_lowered_); }
    /// Largest output error that is not told apart from chance, in any number that counts.
    double chance() const { return reference_.chance(); }
    const ExactNumbers& reference() const { return reference_; }
    /// Forgets all runs but the exact ones, and lets all numbers count from now on.
    void count_all_numbers();
    std::uint64_t exact_runs() const { return exact_count_; }
    std::size_t number_count() const { return reference_.count(); }
    std::uint64_t run_count() const { return run_count_; }
    /// Number of runs whose results an earlier part of the search has left.
    std::uint64_t known_count() const { return known_before_; }
    /// Number of those that this search has used.
    std::uint64_t used_count() const { return used_count_; }
    /// Tells how many errors are to be measured, each by a run, once all exact runs are made that tell what chance
    /// does. So all errors are judged alike.
    void expect_rows(std::uint64_t rows);
    const FinishedRun& last_run() const { return last_run_; }
    void remove_state() const;

  private:
    std::vector<Measured> run(const std::vector<RunRequest>& requests, bool is_reference = false);
    Measured judge(const FinishedRun& run, bool was_written, bool is_reference);
    void read_state(const std::string& text, const std::string& first_line);
    bool read_line(const Json& line);
    void forget_runs();
    void check_reference();
    void keep_input_files(const RecordedProducts& products);
    void append(const Json& line) const;
    std::uint64_t expected_runs() const { return rows_ == 0 ? 0 : std::max(exact_count_ + rows_, run_count_); }
    void keep_exact(const Measured& measured);
    void tell(const std::string& text, const Measured& measured) const;

    MeasuringSettings settings_;
    Runs& runs_;
    std::string problem_;
    ExactNumbers reference_;
    double noise_after_lowered_ = 0;   ///< largest output error of the exact runs that followed a lowered one
    RecordedProducts exact_products_;  ///< of the first exact run
    std::set<GroupKey> ran_again_;     ///< groups of which a further exact run made as many calls
    std::uint64_t run_count_ = 0, known_before_ = 0, used_count_ = 0, rows_ = 0, exact_count_ = 0;
    std::set<std::string> earlier_;  ///< keys in `known_` that an earlier part of the search has left unused so far
    std::string earlier_reference_;  ///< checksum of that part's reference; empty: there is none
    std::map<std::string, Measured> known_;             ///< by the request's checksum
    std::map<std::string, std::string> file_versions_;  ///< version_of_file() by path
    FinishedRun last_run_;
};

/// Returns a sentence about the differences between the exact runs.
std::string noise_sentence(const Measurements& measurements);

}  // namespace fp32shim::cli
