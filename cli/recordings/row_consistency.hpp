// Whether what a row of a recording says of one decision can all be true. Somebody may have changed a byte of it.
#pragma once

#include <string>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Which of the row's fields contradict each other, in a few words; empty: none do. It is no proof that nothing was
/// changed: who changes all of them alike is not found.
std::string contradiction_in(const MergedRow& row);

}  // namespace fp32shim::cli
