// Formats of groups of decisions, for `fp32shim report --by …`.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// Returns a table of the first `limit` groups; 0: of all.
Table group_table(const std::vector<const RowGroup*>& groups, std::size_t limit);

/// Returns an array with an object for each group (docs/cli/report-json.md).
Json groups_json(const std::vector<RowGroup>& groups);

/// Returns CSV: a line of column names, and a line for each group.
std::string groups_csv(const std::vector<RowGroup>& groups);

}  // namespace fp32shim::cli
