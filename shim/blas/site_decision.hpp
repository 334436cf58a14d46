// The second step of a call to a CPU library: decides its precision. The call site keeps the decision if it depends
// neither on the sizes nor on scopes (named parts of a thread's work).
#pragma once

#include "shim/decision/decide_call.hpp"

namespace fp32shim::blas {

/// A decision for every call from a call site. It is valid until the settings, or a precision or floor that overrides
/// them, change. It fits in one word, so that threads load and store it atomically.
struct KeptDecision {
    std::uint8_t generation;    ///< the lower bits of Settings::generation; `rule` is an index into the rules of
                                ///< these settings
    std::uint8_t change_count;  ///< the lower bits of settings_change_count() when the decision was made
    std::int16_t rule;
    policy::Precision requested;
    policy::Precision precision;
    policy::Source source;
    policy::Reason reason;
};
static_assert(sizeof(KeptDecision) == sizeof(std::uint64_t));

/// Returns the decision that the call site keeps for all calls, if it is valid. Otherwise decides the precision of
/// this call, and keeps the decision if it holds for all calls. Thread-safe.
inline policy::Decision decide_for_site(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    // The count is read before decide_call() reads the values whose changes it counts. So a kept decision may be
    // newer than its count says, but it is never older.
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
