// The ranges that a user asks for: those of NVTX, of ITT, or both.
#pragma once

namespace fp32shim {

enum class RangeSource { nvtx, itt };

/// Returns true if `where`, or rules by scope, ask for the ranges of `source` as scopes. Reads the settings on first
/// use.
bool ranges_wanted(RangeSource source);

}  // namespace fp32shim
