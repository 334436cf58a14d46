// Call sites in words, for rules on them: `libphysics.so!solve+0x1c4`.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::where {

/// Returns the call site of a site's calls, in words; nullptr for code outside every object. The site's first
/// question costs as much as name_of_caller(), later ones a load. Where no name is found, it is object and offset, as
/// `report` shows it. Thread-safe, lock-free, async-signal-safe.
const policy::CallSite* call_site_of(Site& site, const Settings& in_force);

}  // namespace fp32shim::where
