// Checks that the fields of a row do not contradict each other: somebody may have changed a byte of the recording.
#pragma once

#include <string>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Describes fields of the row that contradict each other; empty if none do. Absence of contradictions proves
/// nothing, since somebody may have changed all fields consistently.
std::string contradiction_in(const MergedRow& row);

}  // namespace fp32shim::cli
