// Turns ranges of NVTX and ITT into scopes of the thread that opens them. Opening and closing a range takes no lock
// and allocates nothing. Domains and strings that programs register beforehand stay in tables of bounded size.
#pragma once

#include <string_view>

#include "shim/scopes/scopes.hpp"

namespace fp32shim {

enum class RangeSource { nvtx, itt };

/// Returns true if the setting `where`, or rules on scopes, need the ranges of `source`. Reads the settings on first
/// use.
bool ranges_wanted(RangeSource source);

/// A domain of ranges. It has a stack of ranges on each thread. Never freed.
struct RangeDomain {
    ScopeOwner owner;
    RangeSource source;
    std::string_view name;  ///< empty: labels of ranges get no prefix
};

extern constinit const RangeDomain nvtx_default_domain;

/// Returns the domain with that name. After some 250 domains, prints one line and returns a shared domain, whose
/// ranges are counted but label nothing. Thread-safe, lock-free.
const RangeDomain& range_domain(RangeSource source, std::string_view name);

/// Returns the handle that a program gets for a domain.
const void* handle_of(const RangeDomain& domain);

/// Returns the domain of a handle, or the default domain if the pointer is not a handle.
const RangeDomain& domain_of_handle(const void* handle);

/// Opens a range on this thread with the label `label`, or `domain:label` in a named domain. Returns its level in its
/// domain, from 0. Returns no_tracking if the thread's first range finds no memory. Leaves errno alone.
int open_range(const RangeDomain& domain, std::string_view label);

/// Closes the domain's innermost range on this thread. Returns its level, or -1 if none is open.
int close_range(const RangeDomain& domain);

constexpr int no_tracking = -2;  ///< NVTX_NO_PUSH_POP_TRACKING

/// The number of bytes of a label that are read. A longer label would be too long for any stack of scopes.
constexpr std::size_t range_label_limit = scope_label_limit;

}  // namespace fp32shim
