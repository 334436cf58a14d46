// Documents that `fp32shim verify` makes of its JSON result: a page to print and an in-toto Statement.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// The words of a verdict, which follow a number of calls.
struct VerdictWords {
    std::string held;    ///< "ran at fp32 or above"
    std::string broken;  ///< "ran below fp32"
    std::string below;   ///< " below fp32", which completes "multiplied"; empty if any product counts
};

/// Returns the words for a lowest format, or, if it is empty, for products in a fixed order or for half products that
/// add in FP32.
VerdictWords verdict_words(const std::string& at_least, bool of_accumulation);

/// Returns a page in UTF-8 that loads nothing and has no script. `result` is the JSON of verify, whose texts come
/// from recordings and may be any text. `date` is the time of the verdict.
std::string verdict_html_page(Json result, const std::string& date);

/// Returns an unsigned in-toto Statement v1. Its subjects are the recordings whose SHA-256 is known, and its
/// predicate is `result`. `date` is the time of the verdict.
Json in_toto_statement(const Json& result, const std::string& date);

}  // namespace fp32shim::cli
