// The places of a program whose precision `sensitivity` varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Products that are lowered together.
struct Place {
    std::string text;  ///< `train.py:41 Model.forward`
    Subset groups;
    std::uint64_t calls = 0;  ///< number of calls in the first run
    double work = 0;          ///< floating-point operations of these calls
    bool is_untried = false;  ///< only the first exact run made all calls of some of its groups
};

/// Divides all groups into places, sorted as GroupList::split() does. `by` tells what tells two of them apart:
/// `where`, the scope and line of the program; `scope`; or `size`, all of it. Of more than `most`, the last ones
/// become one.
std::vector<Place> find_places(const GroupList& groups, std::string_view by, std::size_t most);

}  // namespace fp32shim::cli
