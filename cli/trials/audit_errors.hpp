// What audits know of products: the order in which searches try them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Returns the largest error of each line, in its scope, by the audits of products of some types in these recordings:
/// of rows and columns, at any lower format. Audits of results that are noise at the format in which they were called
/// do not count. `name` is the name of our command, for messages. Throws End if there are no such recordings.
std::map<std::pair<std::string, GroupLocation>, double> audited_errors(const std::string& name,
                                                                       const std::vector<std::string>& recordings,
                                                                       TriedTypes types);

}  // namespace fp32shim::cli
