// Makes texts of call sites, such as `libphysics.so!solve+0x1c4`, for rules that match call sites.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::where {

/// Returns the texts of a call site. Returns nullptr if the caller lies outside every object, if several call sites
/// share `site`, or if there is no memory. If the object does not export the calling function, the text consists of
/// the object's name and an offset. The first call for a call site costs as much as exported_caller(). Each later
/// call costs one load. The function is thread-safe, lock-free and async-signal-safe.
const policy::CallSiteText* call_site_of(Site& site, const Settings& in_force);

}  // namespace fp32shim::where
