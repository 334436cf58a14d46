// Finding the site of a call, and keeping sites right while settings and loaded objects change.
#pragma once

#include "shim/site.hpp"

namespace fp32shim {

/// Returns the site of a call that entered at `entry` and returns to `return_address`. Makes it on first use, which
/// does not return where no library provides the function. Called by the entry points on a miss.
Site* find_site(EntryIndex entry, std::uintptr_t return_address);

/// Returns the site itself, or, if it has to be bound again because objects were added, the one in its place.
Site* rebound_site(Site* site);

/// Sets every site's target again. Called when the settings changed.
void refresh_sites();

/// Kills the sites, and gives back the slots, of objects that are no longer loaded.
void forget_unloaded();

}  // namespace fp32shim
