// Finds or makes the site of a call, and updates sites when settings or loaded objects change.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns the site of a call that entered at `entry` and returns to `return_address`. Makes the site on first use.
/// Ends the process if no library has the function. Called by entry points whose table does not have the site.
Site* find_site(EntryIndex entry, std::uintptr_t return_address);

/// Returns the site itself or, if objects loaded since bind it to another function, the site that replaces it.
Site* rebound_site(Site* site);

/// Updates the jump target of every site. Called after the settings changed.
void refresh_sites();

/// Marks as dead the sites of objects that are no longer loaded, and frees their entry points from dlsym.
void forget_unloaded_objects();

/// Returns a new site. Everything is set except its target, and its return address, by which it comes alive. If
/// there is no memory for a new site, returns the site that all calls of the caller's object share, which may exist
/// already. If no library provides the function, ends the process with one line on stderr: without the shim, the
/// loader would have refused the call.
Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* caller_behind_shim);

}  // namespace fp32shim
