// The rules of a policy that can match a call of one call site: the others are left out when the site's first call is
// judged, so that a policy of hundreds of rules costs a call only those about it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "shim/settings/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// Of one policy, and for calls of one function from one caller. Sites with the same ones share them. Never freed: a
/// reload makes new ones.
struct SiteRules {
    const Settings* settings;
    std::string_view function;
    std::string_view caller;
    policy::Device device;
    std::span<const std::uint16_t> rules;  ///< by their index, in their order
    const SiteRules* next;
};

/// Those for this call of the site. Thread-safe, lock-free.
const SiteRules& rules_of(Site& site, const Settings& in_force, const policy::MatmulCall& call);

}  // namespace fp32shim
