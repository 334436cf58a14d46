// Call sites as text, such as `libphysics.so!solve+0x1c4`, for rules that match call sites.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::where {

/// Returns the texts of a call site, or nullptr for code outside every object. If the object does not export the
/// function, its text is object and offset. The first call for a site costs as much as exported_caller(), later calls
/// a load. Thread-safe, lock-free, async-signal-safe.
const policy::CallSiteText* call_site_of(Site& site, const Settings& in_force);

}  // namespace fp32shim::where
