// Finding the site of a call, making it, and keeping sites right while settings and loaded objects change.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns the site of a call that entered at `entry` and returns to `return_address`. Makes a site on first use, or
/// ends the process if no library has the function. Called by entry points whose table lacks the site.
Site* find_site(EntryIndex entry, std::uintptr_t return_address);

/// Returns the site itself, or, if objects were added that bind it to another function, the site that replaces it.
Site* rebound_site(Site* site);

/// Updates the jump target of every site. Called when the settings changed.
void refresh_sites();

/// Marks as dead the sites of objects that are no longer loaded, and frees their entry points from dlsym.
void forget_unloaded();

/// Returns a new site, complete but for its target, and for its return address, which makes it alive. Without memory
/// for a new one, returns the site that the calls of one object share, which may be an older one. Ends the process
/// with one line on stderr if no library provides the function: without the shim, the loader would have refused the
/// call.
Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* on_behalf_of);

}  // namespace fp32shim
