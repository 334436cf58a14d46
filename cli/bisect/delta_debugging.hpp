// Delta debugging: searches for a smallest set of parts that together make a test fail.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Disjoint sets of groups. The groups of a part are lowered together or not at all.
using Parts = std::vector<Subset>;

/// Tests sets of parts, and returns the index of the first that fails; nullopt if none fails.
using FirstFailing = std::function<std::optional<std::size_t>(const std::vector<Parts>& candidates)>;

/// Returns a 1-minimal set: it fails, but without any one of its parts it does not. Preconditions: all `parts`
/// together fail, and no parts at all pass. The algorithm is ddmin (Zeller and Hildebrandt, "Simplifying and
/// isolating failure-inducing input", 2002).
Parts minimal_failing(Parts parts, const FirstFailing& first_failing);

/// Returns the groups of all `parts`.
Subset groups_of(const Parts& parts);

}  // namespace fp32shim::cli
