// `fp32shim report --by …`: the forms in which groups of decisions are written.
#pragma once

#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

/// The first `limit` groups for people; 0: all.
Table group_table(const std::vector<const RowGroup*>& groups, std::size_t limit);

/// Each group an object; docs/cli/report-json.md describes every key.
Json groups_json(const std::vector<RowGroup>& groups);

/// One line per group, the names of the columns in the first.
std::string groups_csv(const std::vector<RowGroup>& groups);

}  // namespace fp32shim::cli
