// Finds or makes the call site of a call, and updates call sites when settings or loaded objects change.
#pragma once

#include "shim/entry/site.hpp"

namespace fp32shim {

/// Returns the call site of a call that entered at `entry` and returns to `return_address`. Makes the site on first
/// use. Ends the process if no library has the function. Entry points call this function if their table does not have
/// the site.
Site* find_site(EntryIndex entry, std::uintptr_t return_address);

/// Returns `site` if its calls still lead to the function to which it was bound. If they lead to another one,
/// because further objects were loaded since, returns the call site that replaces `site`.
Site* rebound_site(Site* site);

/// Updates the jump target of every call site. Is called after the settings have changed.
void refresh_sites();

/// Marks the call sites of objects that are no longer loaded as dead, and frees the objects' entry points for dlsym.
void forget_unloaded_objects();

/// Returns a new call site. The caller still has to set its jump target, and its return address, which makes it
/// live. If there is no memory for a new site, returns the site that all calls of the caller's object share, which
/// may already exist. If no library provides the function, ends the process with one line on stderr, because without
/// the shim the loader would have refused the call.
Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* caller_behind_shim);

}  // namespace fp32shim
