// The rules of a policy that can match calls of one site. All others are excluded at the site's first call, so even
// with hundreds of rules, a call costs only as much as the relevant ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {

/// The rules of one policy that can match calls of one function from one caller. Call sites share equal lists. Never
/// freed: a reload makes new lists.
struct SiteRules {
    const Settings* settings;
    std::string_view function;
    std::string_view caller;
    policy::Device device;
    std::span<const std::uint16_t> rules;  ///< indices of rules, in the policy's order
    const SiteRules* next;
};

/// Returns the rules that can match calls of this site. Thread-safe, lock-free.
const SiteRules& rules_of(Site& site, const Settings& in_force, const policy::MatmulCall& call);

}  // namespace fp32shim
