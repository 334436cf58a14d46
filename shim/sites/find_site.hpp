// Finding the site of a call, and keeping sites right while settings and loaded objects change.
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

}  // namespace fp32shim
