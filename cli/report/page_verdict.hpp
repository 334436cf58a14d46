// Sums up which calls ran below FP32 and where, for the first lines of a report's page.
#pragma once

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Returns the data for page/report/verdict.js:
/// - `measure`: the quantity that tells best how much was multiplied: `work`, or `host_ns` if the work of some calls
///   is unknown, or `calls` if there are no times either
/// - `below`: sums of the calls that ran below FP32, or were allowed to; `formats`, their calls by format; `allowed`,
///   the number of those whose library did not say at which format they ran; `previewed`, the number of those that
///   a CPU imitated; `place`, the one with most of them by that quantity
/// - `narrower`: number of calls whose operands are narrower than float32
/// - `unknown`: number of other calls whose format is not known
/// - `busiest`: the place with most host time of all calls
///
/// A place has its sums, `text`, and `kind`: `where`, `scope`, `caller`, or `unknown`. It is null without calls.
Json verdict_json(const MergedCalls& calls);

}  // namespace fp32shim::cli
