// The parts that the commands `bisect` and `sensitivity` share: options, beginning and end, and the written policy.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/trials/trials.hpp"

namespace fp32shim::cli {

/// Options that both `bisect` and `sensitivity` have.
struct SearchOptions {
    std::string name;  ///< `bisect` or `sensitivity`
    std::string cpu{}, state{}, policy_out{}, runner{}, compare{};
    std::vector<std::string> audits{};
    bool is_json = false;
    std::int64_t jobs = 1, repeat = 0;
    std::vector<std::string> words{};  ///< the command to run
};

/// Adds the options whose meaning is the same in `bisect` and `sensitivity`.
void add_search_options(CLI::App& app, SearchOptions& options);

/// Prepares the trial runs, calls `question`, and removes the state file once `question` has returned an answer.
/// `settings` must say only how numbers are compared and which types count; the other members are filled here.
/// `facts` holds those facts on which the results of runs depend and that only `bisect` or `sensitivity` knows.
/// `question` prints its result, and may throw SearchAborted. Returns the exit code.
int run_search(const SearchOptions& options, TrialSettings settings, const Json& facts,
               const std::function<int(TrialRunner& trials)>& question);

/// Ranks source lines by how much their results change according to the audits in the recordings that `options`
/// names. The rank is the largest error of a row or column of a result at any lower format. Results that are only
/// noise in the format in which they were called are left out. Throws SearchAborted if there are no recordings.
void rank_groups_by_audits(const SearchOptions& options, TriedTypes types, GroupList& groups);

/// The policy that a search found.
struct FoundPolicy {
    std::string path{};  ///< path of the policy file; empty if no file was written

    /// Writes the policy file. `evidence` becomes a comment in the file. Throws SearchAborted.
    void write_file(const SearchOptions& options, const std::string& evidence, const std::string& policy);
    /// Returns a line that names the policy file and the command that runs the program under it, or an empty text if
    /// there is no file. Like the runs of the search, the command has the options that keep environment variables
    /// from overriding the policy.
    std::string usage_text(const SearchOptions& options, const PolicySettings& settings) const;
};

/// Returns a comment for a rule about products at one source line: the location and the text of the line.
std::string comment_on_line(const ProductGroup& group, const SourceLineTexts& lines);

/// Returns the share of `work` in the work `all` of all groups of products, such as `25.2%`. Returns `?` if the work
/// of no group is known.
std::string work_share_text(double work, double all);

}  // namespace fp32shim::cli
