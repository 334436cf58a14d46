// Which decisions have been shown already: `FP32_MATMUL_LOG=stderr` and the level `summary` show each distinct one
// once.
#pragma once

#include "record/events.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// Whether this decision (function, caller, provider, operations, sizes, outcome) is seen for the first time. When
/// very many distinct ones have been seen, says so once and answers false from then on. Thread-safe, lock-free.
bool note_decision(const Site& site, const record::DecisionEvent& event);

}  // namespace fp32shim
