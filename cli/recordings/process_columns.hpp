// Columns of a recording's process: keys in JSON.
#pragma once

#include <span>

#include "cli/recordings/field_value.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

using ProcessColumn = Column<MergedProcess>;

/// Returns the columns that tell processes apart, and their settings: each line of JSON lines has them.
std::span<const ProcessColumn> process_columns();

/// Returns further columns, which only an entry about the process itself has.
std::span<const ProcessColumn> further_process_columns();

}  // namespace fp32shim::cli
