// The options, the beginning and the end of the commands `bisect` and `sensitivity`, and the policy that they write.
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

/// Options that both commands have.
struct SearchOptions {
    std::string name;  ///< name of our command
    std::string cpu{}, state{}, policy_out{}, runner{}, compare{};
    std::vector<std::string> audits{};
    bool is_json = false;
    std::int64_t jobs = 1, repeat = 0;
    std::vector<std::string> words{};  ///< the command to run
};

/// Adds the options whose meaning is the same in both commands.
void add_search_options(CLI::App& app, SearchOptions& options);

/// Prepares the trials, calls `question`, and removes the state file once it has returned an answer. `settings` needs
/// to say only how numbers are compared and which types count, and `facts` has only facts of this command on which
/// the results of runs depend. `question` prints its result, and may throw SearchAborted. Returns the exit code.
int run_search(const SearchOptions& options, TrialSettings settings, const Json& facts,
               const std::function<int(TrialRunner& trials)>& question);

/// Ranks lines by how much their results change according to the audits of the named recordings: by the largest error
/// of a row or column at any lower format, without results that are noise already at the format in which they were
/// called. Throws SearchAborted if there are no such recordings.
void rank_groups_by_audits(const SearchOptions& options, TriedTypes types, GroupList& groups);

/// The policy that a question found.
struct FoundPolicy {
    std::string path{};  ///< file of the policy; empty: none was written

    /// Writes the policy's file. `evidence`: lines of a comment. Throws SearchAborted.
    void write_file(const SearchOptions& options, const std::string& evidence, const std::string& policy);
    /// Returns a line that names the file and the command that runs under it; empty if there is no file. The command
    /// has the options that keep variables of the environment from overriding the policy, as those of the trials did.
    std::string usage_text(const SearchOptions& options, const PolicySettings& settings) const;
};

/// Returns a comment on a rule about groups at one line: its place and its text.
std::string comment_on_line(const ProductGroup& group, const SourceLineTexts& lines);

/// Returns the share of the work of all groups, `25.2%`; `?` if nothing is known of any.
std::string work_share_text(double work, double all);

}  // namespace fp32shim::cli
