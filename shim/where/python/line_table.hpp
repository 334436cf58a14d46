// The tables in which CPython's code objects keep the lines of their instructions.
#pragma once

#include <cstdint>
#include <span>

#include "shim/where/python/layout.hpp"

namespace fp32shim::where {

/// Returns the line of the instruction at this offset in bytes; 0 if it has none. `first_line`: co_firstlineno.
/// Reads within `table` whatever it holds.
int line_at(LineTableForm form, std::span<const std::uint8_t> table, int first_line, int offset);

}  // namespace fp32shim::where
