// Ranges of NVTX and ITT as scopes of the thread that opens them. Opening and closing one takes no lock and no
// memory; what programs register before (domains, strings) stays in tables that only grow, up to a bound.
#pragma once

#include <string_view>

#include "shim/scopes/scopes.hpp"

namespace fp32shim {

enum class RangeSource { nvtx, itt };

/// Returns true if `where`, or rules by scope, ask for the ranges of `source` as scopes. Reads the settings on first
/// use.
bool ranges_wanted(RangeSource source);

/// A domain: a stack of ranges of its own on each thread. Never freed.
struct RangeDomain {
    ScopeOwner owner;
    RangeSource source;
    std::string_view name;  ///< empty: its ranges are labelled as they are
};

extern constinit const RangeDomain nvtx_default_domain;

/// Returns the domain of that name. Beyond some 250 domains returns one that all others share, whose ranges count,
/// but label nothing; one line says so. Thread-safe, lock-free.
const RangeDomain& range_domain(RangeSource source, std::string_view name);

/// Returns the handle by which a program names a domain.
const void* handle_of(const RangeDomain& domain);

/// Returns the domain of a handle; the default one for a pointer that is none.
const RangeDomain& domain_of_handle(const void* handle);

/// Opens a range on this thread, labelled `label`, or `domain:label` in a named domain. Returns its level in its
/// domain, from 0; no_tracking where the thread's first one finds no memory. Keeps errno.
int open_range(const RangeDomain& domain, std::string_view label);

/// Closes the domain's innermost range on this thread, and returns its level; -1: none is open.
int close_range(const RangeDomain& domain);

constexpr int no_tracking = -2;  ///< NVTX_NO_PUSH_POP_TRACKING

/// Bytes that are read of a label; a longer one fits on no stack.
constexpr std::size_t range_label_limit = scope_label_limit;

}  // namespace fp32shim
