// Groups of the products of running processes, with the time that goes into them now.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Group of products with its rates since the look before; at the first look, since the recording began.
struct LiveGroup : RowGroup {
    double calls_per_second = 0;
    double host_share = 0;  ///< host time per time that has passed: 1 is one thread that does nothing else
};

/// Numbers that tell two groups apart.
using LiveGroupKey = std::array<std::int64_t, 11>;

/// Rates of the groups of one recording from look to look.
class GroupRates {
  public:
    /// Returns the groups with their rates. `seconds`: time since the look before; at the first look, since the
    /// recording began.
    std::vector<LiveGroup> update(const std::vector<RowGroup>& groups, double seconds);
    /// Returns true until the first look.
    bool is_new() const { return !has_looked_; }

  private:
    bool has_looked_ = false;
    struct Counts {
        std::uint64_t calls = 0, host_ns = 0;
    };
    std::map<LiveGroupKey, Counts> before_;
};

/// Returns the groups of several processes, equal ones summed up, those with most time now first.
std::vector<LiveGroup> sum_up(const std::vector<const std::vector<LiveGroup>*>& processes);

/// Returns a table of the first `limit` groups, and a line that counts the others.
std::string live_table(const std::vector<LiveGroup>& groups, std::size_t limit);

/// Returns a group as JSON (docs/cli/formats.md).
Json to_json(const LiveGroup& group);

}  // namespace fp32shim::cli
