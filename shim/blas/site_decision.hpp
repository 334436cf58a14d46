// The second step of a call to a CPU library: its decision. The site keeps it if neither sizes nor scopes matter.
#pragma once

#include "shim/decision/decide_call.hpp"

namespace fp32shim::blas {

/// A decision for every call of a call site. It is valid while settings and overrides stay as they were. It fits in
/// one word, so that threads load and store it atomically.
struct KeptDecision {
    std::uint8_t generation;    ///< lower bits of Settings::generation, to which `rule` belongs
    std::uint8_t change_count;  ///< lower bits of settings_change_count()
    std::int16_t rule;
    policy::Precision requested;
    policy::Precision precision;
    policy::Source source;
    policy::Reason reason;
};
static_assert(sizeof(KeptDecision) == sizeof(std::uint64_t));

/// Decides the precision of a call, unless its call site has a valid decision for all calls. Thread-safe.
inline policy::Decision decide_for_site(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    // The count is read before the overrides, so that a kept decision may be newer than its count, but never older.
    const auto change_count = static_cast<std::uint8_t>(settings_change_count());
    const auto generation = static_cast<std::uint8_t>(in_force.generation);
    const bool holds_for_all_calls = !in_force.looks_at_sizes && !scopes_affect_decisions(in_force);
    const std::uint64_t word = site.cpu.decision.load(std::memory_order_relaxed);
    const auto kept = __builtin_bit_cast(KeptDecision, word);
    if (holds_for_all_calls && word != 0 && kept.generation == generation && kept.change_count == change_count)
        return {kept.requested, kept.precision, kept.source, kept.rule, kept.reason};
    const policy::Decision decision = decide_call(site, in_force, call);
    if (holds_for_all_calls) {
        const KeptDecision fresh{generation,         change_count,       static_cast<std::int16_t>(decision.rule),
                                 decision.requested, decision.precision, decision.source,
                                 decision.reason};
        site.cpu.decision.store(__builtin_bit_cast(std::uint64_t, fresh), std::memory_order_relaxed);
    }
    return decision;
}

}  // namespace fp32shim::blas
