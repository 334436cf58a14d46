// Makes documents of the JSON result of `fp32shim verify`: a page to print and an in-toto Statement.
#pragma once

#include <string>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// The words that follow a number of calls in the sentences of a verdict.
struct VerdictWords {
    std::string held;    ///< predicate of calls that meet the criterion: "ran at fp32 or above"
    std::string broken;  ///< predicate of calls that violate the criterion: "ran below fp32"
    std::string below;   ///< " below fp32", to follow "multiplied"; empty if no format is asked for
};

/// Returns the words for the criterion of a verdict. With `of_accumulation`, products of float16 and bfloat16 must
/// add in FP32. Otherwise, products must run at the format `at_least` or above, or, if `at_least` is empty, in a
/// fixed order.
VerdictWords verdict_words(const std::string& at_least, bool of_accumulation);

/// Returns the verdict as an HTML page in UTF-8 that loads nothing and has no script. `result` is the JSON of verify,
/// whose texts come from recordings and may be any text. `date` is the time of the verdict.
std::string verdict_html_page(Json result, const std::string& date);

/// Returns an unsigned in-toto Statement v1. The subjects of the Statement are the recordings whose SHA-256 is known,
/// and its predicate is `result`. `date` is the time of the verdict.
Json in_toto_statement(const Json& result, const std::string& date);

}  // namespace fp32shim::cli
