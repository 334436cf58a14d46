// Searches for the groups of products that must stay exact (at full precision) so that a command still succeeds. Also
// finds out whether each group makes the command fail alone, or only together with others.
#pragma once

#include <string>
#include <vector>

#include "cli/bisect/set_tester.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Disjoint sets (parts) of groups of products. The groups of one part are always lowered, that is, run at the lower
/// precision, together.
using Parts = std::vector<Subset>;

/// Returns the groups of all `parts`.
Subset union_of_parts(const Parts& parts);

/// Groups of products that a search keeps exact, with the reason. They are the groups of one source line, or those of
/// one function and one size at a source line.
struct Culprit {
    Subset groups;
    std::vector<Subset> partners;  ///< sets of groups that must also be lowered to make the command fail
    bool tells_nothing =
        false;          ///< lowering the groups makes the outcome unresolved (exit status 125) instead of a failure
    CallRange calls{};  ///< calls of the culprit's only group; lowering these calls suffices to make the command fail
    bool is_untried = false;  ///< nothing is known about the groups, because later runs made fewer of their calls
                              ///< than the first run
};

/// The conclusion of a search, which consists of the culprits and of reasons for doubt.
struct SearchConclusion {
    std::vector<Culprit> culprits;  ///< empty if all products may be lowered
    /// Sets of culprits that were found, but may be lowered together, because a run that lowered the whole set was
    /// acceptable.
    std::vector<std::vector<Subset>> lowered_together;
    std::string doubt;         ///< reason why the findings are not certain; empty if they are
    std::string dependence{};  ///< sentence that says whether the output of the command depends on lowered products;
                               ///< empty if that is unknown
    bool is_chance_excluded = false;  ///< more runs would not resolve the doubt
};

/// Finds groups that must stay exact so that all other groups may be lowered. The outcomes with all products exact
/// and with all products lowered must be known before. Throws InterruptedBySignal and SearchAborted.
SearchConclusion find_culprits(const BisectSettings& settings, SetTester& tester, const GroupList& groups);

/// Returns a text such as `call 37` or `calls 12 to 37`.
std::string calls_text(const CallRange& calls);

/// Returns the groups of all culprits.
Subset groups_of_culprits(const std::vector<Culprit>& culprits);

}  // namespace fp32shim::cli
