// The search for the groups that must stay exact for a command to be acceptable, and for the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/set_tester.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Disjoint sets of groups. The groups of a part are lowered together or not at all.
using Parts = std::vector<Subset>;

/// Returns the groups of all `parts`.
Subset union_of_parts(const Parts& parts);

/// Groups that are kept exact for one reason: a line, or one of its sizes.
struct Culprit {
    Subset groups;
    std::vector<Subset> partners;  ///< sets that must also be lowered to make the command fail
    bool tells_nothing = false;  ///< lowering the groups makes the outcome unresolved (exit status 125) instead of a
                                 ///< failure
    CallRange calls{};           ///< calls of the only group that suffice to make the command fail
    bool is_untried = false;  ///< nothing is known about the groups: later runs lacked them, or some of their calls
};

/// The conclusion of a search: the culprits, and reasons for doubt.
struct SearchConclusion {
    std::vector<Culprit> culprits;  ///< empty: everything may be lowered
    /// Culprits that were found and may be lowered nevertheless, because a run with them lowered together was
    /// acceptable.
    std::vector<std::vector<Subset>> lowered_together;
    std::string doubt;  ///< reason why the findings are not certain; empty: no run contradicts them
    std::string
        dependence{};  ///< sentence on whether the output depends on lowered products; empty: nothing is known
    bool is_chance_excluded = false;  ///< more runs would tell no more about the doubt
};

/// Finds groups to keep exact, so that all others may be lowered. Precondition: the outcomes with everything exact
/// and with everything lowered are known. Throws InterruptedBySignal and SearchAborted.
SearchConclusion find_culprits(const BisectSettings& settings, SetTester& tester, const GroupList& groups);

/// Returns `call 37`, or `calls 12 to 37`.
std::string calls_text(const CallRange& calls);

/// Returns the groups of all culprits.
Subset groups_of_culprits(const std::vector<Culprit>& culprits);

}  // namespace fp32shim::cli
