// Making a site: which library its calls must reach, and everything else that holds for all of them.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns a new site, complete but for its target, and for its return address, which makes it alive. Without memory
/// for a new one, returns the site that the calls of one object share, which may be an older one. Ends the process
/// with one line on stderr if no library provides the function: without the shim, the loader would have refused the
/// call.
Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* on_behalf_of);

}  // namespace fp32shim
