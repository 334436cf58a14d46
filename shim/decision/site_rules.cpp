#include "shim/decision/site_rules.hpp"

#include "policy/decide.hpp"
#include "shim/memory/arena.hpp"

namespace fp32shim {
namespace {

constinit std::atomic<const SiteRules*> known_rules{nullptr};

bool are_valid_for(const SiteRules& rules, const Settings& in_force, const policy::MatmulCall& call) {
    return rules.settings == &in_force && rules.device == call.device && rules.function == call.function &&
           rules.caller == call.caller;
}

const SiteRules* find_site_rules(const Settings& in_force, const policy::MatmulCall& call) {
    for (const SiteRules* rules = known_rules.load(std::memory_order_acquire); rules != nullptr; rules = rules->next)
        if (are_valid_for(*rules, in_force, call)) return rules;
    return nullptr;
}

const SiteRules& make_site_rules(const Settings& in_force, const policy::MatmulCall& call) {
    policy::SiteFacts facts{call.function, call.caller, call.device, std::nullopt};
    if (call.device == policy::Device::cpu) facts.dtype = call.dtype;  // in cuBLAS, the type differs between calls
    const auto& all = in_force.policy.rules;
    auto* indices = static_cast<std::uint16_t*>(arena_allocate(all.size() * sizeof(std::uint16_t)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (policy::may_match(all[i], facts, in_force.process)) indices[count++] = static_cast<std::uint16_t>(i);
    auto* fresh = arena_new<SiteRules>(&in_force, arena_copy(call.function), arena_copy(call.caller), call.device,
                                       std::span<const std::uint16_t>(indices, count), nullptr);
    fresh->next = known_rules.load(std::memory_order_relaxed);
    while (!known_rules.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                              std::memory_order_relaxed)) {
    }
    return *fresh;
}

}  // namespace

const SiteRules& rules_of(Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    const SiteRules* kept = site.rules.load(std::memory_order_acquire);
    if (kept != nullptr && are_valid_for(*kept, in_force, call)) return *kept;
    const SiteRules* known = find_site_rules(in_force, call);
    if (known == nullptr) known = &make_site_rules(in_force, call);
    site.rules.store(known, std::memory_order_release);
    return *known;
}

}  // namespace fp32shim
