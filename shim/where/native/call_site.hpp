// Call sites as text, such as `libphysics.so!solve+0x1c4`, for rules that match call sites.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::where {

/// Returns the text of a call site, or nullptr for code outside every object. If the function's name is unknown, the
/// text is object and offset, as in `report`. The first call for a site costs as much as name_of_caller(), later
/// calls a load. Thread-safe, lock-free, async-signal-safe.
const policy::CallSite* call_site_of(Site& site, const Settings& in_force);

}  // namespace fp32shim::where
