// The decisions that were shown already. `FP32_MATMUL_LOG=stderr` and the level `summary` show each distinct one
// once.
#pragma once

#include "record/events.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns true if this decision (function, caller, provider, operations, sizes, outcome) is seen for the first time.
/// The table is bounded: once full, says so once and returns false for new decisions. Thread-safe, lock-free.
bool note_decision(const Site& site, const record::DecisionEvent& event);

/// Returns true if note_decision() has had this decision. Likewise.
bool is_noted(const Site& site, const record::DecisionEvent& event);

}  // namespace fp32shim
