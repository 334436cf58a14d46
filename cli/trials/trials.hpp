// Makes the runs of a search: those of the command under policies, and exact ones to compare with. They are kept in a
// file. A search that goes on after an interruption begins anew, and gets the runs of the file first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/trials/distance.hpp"
#include "cli/trials/runs.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {

/// Settings of all runs of a search.
struct TrialSettings {
    std::string name;  ///< name of our command, for messages
    RunSettings runs;
    std::string state_path;
    std::vector<std::string> input_files;  ///< files that the command may read
    bool compares_numbers = false;
    std::string compared_file{};   ///< file of numbers that the command writes; empty: it prints them
    NumberComparison closeness{};  ///< how numbers are compared
    std::uint64_t max_runs = 0;    ///< 0: any number
    bool may_preview = false;      ///< the user has not chosen a CPU mode
};

/// The purpose of a run.
enum class RunPurpose : std::uint8_t {
    answer,           ///< the run answers a question, and its result is kept
    reference,        ///< everything is exact, so its numbers are those to compare with; the first run is one
    fresh_reference,  ///< a reference that is made even if the state has it, because all of its numbers are needed
    check             ///< the run confirms an earlier one, so it is always made
};

/// Makes the runs of one search, one batch after the other. For one thread.
class TrialRunner {
  public:
    /// `identity`: all facts on which the results depend. Throws SearchAborted.
    TrialRunner(TrialSettings settings, const Json& identity);

    /// Runs the command once for each request, all at the same time; if the settings allow fewer, only the first
    /// ones. Takes runs from the state if it has them and `purpose` permits. Throws SearchAborted and
    /// InterruptedBySignal.
    std::vector<Trial> run_all(const std::vector<RunRequest>& requests, RunPurpose purpose = RunPurpose::answer);

    /// Returns true if lower precisions are to be previewed on the CPU: all products of the first run ran there, and
    /// the user chose no CPU mode.
    bool previews_on_cpu() const { return settings_.may_preview && is_on_cpu(); }
    /// Returns true if all products of the first run ran on a CPU.
    bool is_on_cpu() const { return first_.is_on_cpu(); }
    /// Returns the products of the first run, in which everything is exact.
    const RecordedProducts& first_products() const { return first_.products; }
    /// Returns the numbers of the exact runs. A search decides which of them count.
    ExactRunReference& reference() { return reference_; }
    const ExactRunReference& reference() const { return reference_; }
    /// Returns the run that ended last.
    const Trial& last_trial() const { return last_; }
    /// Returns the number of all runs, and of those that an earlier part of the search had made.
    std::uint64_t run_count() const { return is_new_.size(); }
    std::uint64_t earlier_run_count() const { return static_cast<std::uint64_t>(std::ranges::count(is_new_, false)); }

    /// Sets the number of runs that the whole search is expected to need, for the progress display; 0: not known.
    void expect_run_count(std::uint64_t total) { expected_ = total; }
    std::uint64_t expected_run_count() const { return expected_; }
    /// Tells the user about the run with this number, from 1, unless it is from the state.
    void report_run(std::uint64_t number, std::string_view what, std::string_view result);
    /// Returns a message about a signal that ended the search.
    std::string interruption_text() const;

    TrialStateFile& state() { return state_; }

  private:
    std::vector<Trial> make_runs(const std::vector<RunRequest>& requests, RunPurpose purpose);
    Trial make_trial(FinishedRun run, bool was_written, RunPurpose purpose);
    OutputDistance distance_of(const Trial& run, bool was_written, RunPurpose purpose);
    ParsedNumbers numbers_of_run(const FinishedRun& run) const;
    void make_reference();
    void learn_changing_words();
    void check_reference();
    void keep_input_versions(const RecordedProducts& products);
    std::uint64_t update_expected_count();

    TrialSettings settings_;
    TrialStateFile state_;
    CommandRunner runs_;
    std::map<std::string, std::string> inputs_;  ///< checksum_or_mtime() by path, from before the first run
    ExactRunReference reference_;
    RunRequest exact_request_;
    std::int64_t reference_end_ns_ = 0;
    bool knows_words_ = false;  ///< a second exact run has shown which words change from run to run
    Trial first_, last_;
    std::vector<bool> is_new_;    ///< for each run, in order, whether it was made now and is not from the state
    std::uint64_t expected_ = 0;  ///< number of all runs
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Returns the value of `run --precision` for policies that lower all groups to this precision but some.
std::string requested_precision(const std::string& precision);

/// Returns the request of a run with only some groups at the settings' precision, or calls of one of them, and all
/// others exact.
RunRequest request_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls = {});
/// Returns the request of a run with everything at the settings' precision but these groups.
RunRequest request_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings);

}  // namespace fp32shim::cli
