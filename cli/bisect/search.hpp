// The search: groups with which exact a command is acceptable, and why each of them is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/answers.hpp"
#include "cli/bisect/delta_debugging.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Groups that are kept exact for one reason: a line, or one of its sizes.
struct Culprit {
    Subset groups;
    std::vector<Subset> partners;  ///< sets that must also be lowered to make the command fail
    bool tells_nothing = false;  ///< lowering the groups makes the outcome unresolved (exit status 125) instead of a
                                 ///< failure
    CallRange calls{};           ///< calls of the only group that suffice to make the command fail
    bool is_untried = false;  ///< nothing is known about the groups: only the first run had them, or all their calls
};

/// Findings of a search.
struct Findings {
    std::vector<Culprit> culprits;  ///< empty: everything may be lowered
    /// Culprits that were found and may be lowered nevertheless, because a run with them lowered together was
    /// acceptable.
    std::vector<std::vector<Subset>> lowered_together;
    std::string doubt;  ///< reason why this is not certain; empty: no run contradicts it
    std::string
        dependence{};  ///< sentence on whether the output depends on lowered products; empty: nothing is known
    bool is_chance_excluded = false;  ///< more runs would tell no more about the doubt
};

class Search {
  public:
    Search(const SearchSettings& settings, Answers& answers, const Groups& groups)
        : settings_(settings), answers_(answers), groups_(groups) {}

    /// Finds groups with which exact all others may be lowered. The outcomes with everything exact and with
    /// everything lowered are known. Throws Interrupted and End.
    Findings run();

  private:
    Outcome test(Lowered lowered, const Subset& set);
    std::optional<std::size_t> first_failing(const std::vector<Parts>& candidates, const Subset& fixed);
    Parts minimal(const Parts& parts, const Subset& fixed);
    Subset whole_lines(const Subset& set) const;
    bool is_failure(Verdict verdict) const {
        return verdict == (seeks_unresolved_ ? Verdict::unresolved : Verdict::not_acceptable);
    }
    bool is_enough(const Subset& exact);

    const Outcome& exact_outcome() const;
    std::uint64_t exact_runs_wanted() const;
    Findings search_once();
    Findings search_until_certain();
    Subset not_run_again(const Subset& policy);
    void keep_the_untried(Findings& found);
    std::vector<Culprit> find_lines();
    Culprit culprit_in(const Subset& suspects);
    void check_suspects(const Subset& exact, const Subset& suspects);
    Culprit least_of(Parts parts, const std::vector<Subset>& partners) const;
    void narrow_down_sizes(std::vector<Culprit>& culprits);
    std::vector<Culprit> sizes_of(const Culprit& line, const Subset& other_exact);
    void lower_the_superfluous(Findings& found);
    bool lower_one(std::vector<Culprit>& culprits);
    bool lower_two(Findings& found, std::uint64_t& tests_left);
    void narrow_down_calls(Culprit& culprit);
    bool calls_fail(const Subset& set, const CallRange& calls);
    std::string doubt_about(Findings& found);
    bool is_confirmed(Culprit& culprit, const Subset& exact);

    const SearchSettings& settings_;
    Answers& answers_;
    const Groups& groups_;
    Subset ever_lowered_;            ///< groups that ran at the lower precision
    bool seeks_unresolved_ = false;  ///< the search is for groups with which the command tells nothing
};

/// Returns `call 37`, or `calls 12 to 37`.
std::string calls_text(const CallRange& calls);

/// Returns the groups of all culprits.
Subset exact_groups(const std::vector<Culprit>& culprits);

}  // namespace fp32shim::cli
