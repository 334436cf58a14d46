// Documents that `fp32shim verify` makes of its JSON result: a page to print and an in-toto Statement.
#pragma once

#include <string>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Returns a page in UTF-8 that loads nothing and has no script. `result` is the JSON of verify, whose texts come
/// from recordings and may be any text. `date` is the time of the verdict.
std::string verdict_page(Json result, const std::string& date);

/// Returns an unsigned in-toto Statement v1. Its subjects are the recordings whose SHA-256 is known, and its
/// predicate is `result`. `date` is the time of the verdict.
Json verdict_statement(const Json& result, const std::string& date);

}  // namespace fp32shim::cli
