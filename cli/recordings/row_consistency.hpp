// Checks that the fields of a row do not contradict each other: somebody may have changed a byte of the recording.
#pragma once

#include <string>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Names the row's fields that contradict each other; empty if none do. That is no proof: a change of all of them
/// alike goes unseen.
std::string contradiction_in(const MergedRow& row);

}  // namespace fp32shim::cli
