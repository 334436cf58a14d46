// Makes the runs of a search: runs of the command under policies, and exact runs, with which they are compared. The
// runs are kept in a state file. A search that was interrupted starts from its beginning when it is repeated, and
// takes its first runs from the state file.
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

/// Settings that all runs of a search share.
struct TrialSettings {
    std::string name;  ///< name of the running command, for messages
    RunSettings runs;
    std::string state_path;
    std::vector<std::string> input_files;  ///< files that the command may read
    bool compares_numbers = false;
    std::string compared_file{};    ///< path of the file of numbers that the command writes; empty if the command
                                    ///< prints the numbers
    NumberComparison comparison{};  ///< how numbers are compared
    std::uint64_t max_runs = 0;     ///< largest number of runs; 0 if there is no limit
    bool may_preview =
        false;  ///< true if the user has not chosen a CPU mode, so that runs may preview lower precisions on a CPU
};

/// The purpose of a run.
enum class RunPurpose : std::uint8_t {
    answer,           ///< the run answers a question of the search, and its result is kept
    reference,        ///< all products are exact, and other runs are compared with this run's numbers
    fresh_reference,  ///< a reference that is made even if the state file has one, because all of its numbers are
                      ///< needed
    check             ///< the run confirms the result of an earlier run, so it is always made anew
};

/// Makes the runs of one search, one batch after the other. Must be used by one thread only.
class TrialRunner {
  public:
    /// `identity` holds all facts on which the results depend. Throws SearchAborted.
    TrialRunner(TrialSettings settings, const Json& identity);

    /// Runs the command once for each of `requests`, all at the same time. If the settings allow fewer runs, makes
    /// only the first ones. Takes runs from the state file if it has them and `purpose` permits. Throws SearchAborted
    /// and InterruptedBySignal.
    std::vector<Trial> run_all(const std::vector<RunRequest>& requests, RunPurpose purpose = RunPurpose::answer);

    /// Returns true if lower precisions are to be previewed on the CPU, because all products of the first run ran on
    /// a CPU and the user has chosen no CPU mode.
    bool previews_on_cpu() const { return settings_.may_preview && is_on_cpu(); }
    /// Returns true if all products of the first run ran on a CPU.
    bool is_on_cpu() const { return first_.is_on_cpu(); }
    /// Returns the products of the first run, in which all products were exact.
    const RecordedProducts& first_products() const { return first_.products; }
    /// Returns the numbers of the exact runs. The caller may choose which numbers count.
    ExactRunReference& reference() { return reference_; }
    const ExactRunReference& reference() const { return reference_; }
    /// Returns the run that ended last.
    const Trial& last_trial() const { return last_; }
    /// Returns the number of all runs, including those from the state file.
    std::uint64_t run_count() const { return is_new_.size(); }
    std::uint64_t earlier_run_count() const { return static_cast<std::uint64_t>(std::ranges::count(is_new_, false)); }

    /// Sets the number of runs that the whole search is expected to need, for the progress display. 0 means unknown.
    void expect_run_count(std::uint64_t total) { expected_ = total; }
    std::uint64_t expected_run_count() const { return expected_; }
    /// Prints what the run with the number `number`, counted from 1, has lowered (`what`), and its result. Does
    /// nothing if the run came from the state file.
    void report_run(std::uint64_t number, std::string_view what, std::string_view result);
    /// Returns a message that says that a signal has ended the search.
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
    std::map<std::string, std::string>
        inputs_;  ///< checksum_or_mtime() of each input file by path, from before the first run
    ExactRunReference reference_;
    RunRequest exact_request_;
    std::int64_t reference_end_ns_ = 0;
    bool knows_words_ = false;  ///< true once a second exact run has shown which words change from run to run
    Trial first_, last_;
    std::vector<bool> is_new_;  ///< for each run, in order, whether it was made by this process and did not come from
                                ///< the state file
    std::uint64_t expected_ = 0;  ///< number of runs that the whole search is expected to need; 0 if unknown
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Returns the value of `run --precision` for a policy that lowers all groups of products, with few exceptions, to
/// `precision`.
std::string requested_precision(const std::string& precision);

/// Returns the request of a run in which only the groups of products in `lowered` run at the settings' precision, and
/// all others are exact. If `calls` is a range of calls of one group, only this range of the group is lowered.
RunRequest request_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls = {});
/// Returns the request of a run in which all products run at the settings' precision, except the groups in `exact`.
RunRequest request_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings);

}  // namespace fp32shim::cli
