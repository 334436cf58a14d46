// Products that ran in a fixed order (CPU mode `reproducible`), and those that did not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

struct FixedOrder {
    std::uint64_t calls = 0;             ///< all calls
    std::uint64_t in_order = 0;          ///< calls that ran in a fixed order
    std::vector<const MergedRow*> rest;  ///< the other rows, most calls first
    bool is_wanted = false;              ///< the mode was on in a process, or a row ran in a fixed order
};

FixedOrder fixed_order_of(const MergedCalls& calls);

/// Returns the calls of a row that did not run in a fixed order, and the reason why: `2 calls of strsm_: …`.
std::string without_order_text(const MergedRow& row);

/// Returns a line about the calls in a fixed order; empty if nobody wanted it.
std::string fixed_order_text(const MergedCalls& calls);

}  // namespace fp32shim::cli
