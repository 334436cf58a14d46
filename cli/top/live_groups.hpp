// Groups the products of running processes and computes the time that they take now.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Group of products with its rates since the previous update. At the first update, rates are since the start of the
/// recording.
struct LiveGroup : RowGroup {
    double calls_per_second = 0;
    double host_share = 0;  ///< host time per elapsed time; 1: one thread does nothing else
};

/// Computes the rates of one recording's groups from update to update.
class GroupRates {
  public:
    /// Returns the groups with their rates. `seconds` is the time since the previous update or, at the first update,
    /// since the start of the recording.
    std::vector<LiveGroup> update(const std::vector<RowGroup>& groups, double seconds);
    /// Returns true before the first update.
    bool is_new() const { return !was_updated_; }

  private:
    bool was_updated_ = false;
    struct Counts {
        std::uint64_t calls = 0, host_ns = 0;
    };
    std::map<RowGroupKey, Counts> before_;
};

/// Returns the groups of several processes, with equal groups summed up, sorted by host time per elapsed time,
/// largest first.
std::vector<LiveGroup> sum_up(const std::vector<const std::vector<LiveGroup>*>& processes);

/// Returns a table of the first `limit` groups, and a line with the number of the others.
std::string live_table(const std::vector<LiveGroup>& groups, std::size_t limit);

/// Returns a group as JSON (docs/schema.md).
Json live_group_json(const LiveGroup& group);

}  // namespace fp32shim::cli
