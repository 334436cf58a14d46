// The places of a program whose precision `sensitivity` varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// What tells two places apart.
enum class PlaceKind : std::uint8_t {
    where,  ///< scope and line of the program
    scope,  ///< scope only
    size    ///< scope, line, function and sizes
};

/// Products that are lowered together.
struct Place {
    std::string text;  ///< `train.py:41 Model.forward`
    Subset groups;
    std::uint64_t calls = 0;  ///< in the first run
    double work = 0;          ///< floating-point operations of these calls
    bool is_untried = false;  ///< of the exact runs, only the first made all calls of some of its groups
};

/// Divides all groups into places, the one with the most work first. Of more than `most`, the last ones become one.
std::vector<Place> find_places(const Groups& groups, PlaceKind kind, std::size_t most);

}  // namespace fp32shim::cli
