// Documents that `fp32shim verify` makes of its JSON result: a page to print and an in-toto Statement.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Words for a verdict's sentences, which follow a number of calls.
struct VerdictWords {
    std::string held;    ///< "ran at fp32 or above"
    std::string broken;  ///< "ran below fp32"
    std::string below;   ///< " below fp32", to follow "multiplied"; empty if no format is asked for
};

/// Returns the words for what is asked: with `of_accumulation`, half products that add in FP32; otherwise the lowest
/// format `at_least`, or, if that is empty, products in a fixed order.
VerdictWords verdict_words(const std::string& at_least, bool of_accumulation);

/// Returns the verdict as an HTML page in UTF-8 that loads nothing and has no script. `result` is the JSON of verify,
/// whose texts come from recordings and may be any text. `date` is the time of the verdict.
std::string verdict_html_page(Json result, const std::string& date);

/// Returns an unsigned in-toto Statement v1. Its subjects are the recordings whose SHA-256 is known, and its
/// predicate is `result`. `date` is the time of the verdict.
Json in_toto_statement(const Json& result, const std::string& date);

}  // namespace fp32shim::cli
