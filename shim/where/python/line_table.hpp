// Reads the tables that map instructions of CPython's code objects to lines.
#pragma once

#include <cstdint>
#include <span>

#include "shim/where/python/layout.hpp"

namespace fp32shim::where {

/// Returns the line of the instruction at this offset in bytes, or 0 if it has none. `first_line` is co_firstlineno.
/// Never reads outside `table`, whatever it contains.
int line_at(LineTableForm form, std::span<const std::uint8_t> table, int first_line, int offset);

}  // namespace fp32shim::where
