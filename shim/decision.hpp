// The second step of a call, with what this process and thread add to it; and the last one.
#pragma once

#include <string_view>

#include "policy/decide.hpp"
#include "record/events.hpp"
#include "shim/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// Judges a call. The answer is kept in its site where neither sizes nor scopes matter.
/// `describe` fills in a call of this site; it is asked only where nothing is kept. Thread-safe.
template <class Describe>
policy::Decision decide_call(Site& site, const Settings& in_force, policy::Dtype dtype,
                             std::int32_t compute_capability, const Describe& describe);

/// The strictest floor in force for this thread: file, environment, API and scopes.
policy::Floor floor_in_force(const Settings& in_force);

/// What was done about a decision: the part of a plan that is recorded.
struct Done {
    record::How how = record::How::forward;
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    std::string_view detail{};  ///< static text
    std::optional<policy::Applied> actual{};
    std::optional<int> status{};
};

/// Monotonic, in nanoseconds; answered by the vdso, without a system call.
std::int64_t now_ns();

/// Writes the call down, if anybody wants to know. Precondition: in_force.logs().
void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Done& done, std::int64_t host_ns);

// ---- details -------------------------------------------------------------------------------------------------------

/// A decision that holds for every call of a site, packed into one word with what it was made under, so that a thread
/// sees it whole or not at all.
struct Verdict {
    std::uint8_t settings;  ///< Settings::id; never 0
    std::uint8_t override_count;
    std::uint8_t compute_capability;  ///< 10·major + minor
    std::uint8_t dtype;
    std::int16_t rule;
    std::uint8_t precisions;  ///< requested · 16 + precision
    std::uint8_t why;         ///< source · 32 + reason
};
static_assert(sizeof(Verdict) == sizeof(std::uint64_t));
static_assert(static_cast<int>(policy::Reason::no_algorithm) < 32 && static_cast<int>(policy::Source::native) < 8);

policy::Overrides overrides();
policy::Decision decide_scoped(const Settings& in_force, policy::MatmulCall& call);

template <class Describe>
policy::Decision decide_call(Site& site, const Settings& in_force, policy::Dtype dtype,
                             std::int32_t compute_capability, const Describe& describe) {
    const bool holds_for_all_calls = !in_force.looks_at_sizes && !scopes_in_use();
    if (!holds_for_all_calls) {
        policy::MatmulCall call;
        describe(call);
        return decide_scoped(in_force, call);
    }
    // Counted before the overrides are read: a verdict may be made with newer ones than it says, never with older.
    const std::uint8_t override_count = process_override_count();
    const auto kept = __builtin_bit_cast(Verdict, site.verdict.load(std::memory_order_relaxed));
    if (kept.settings == in_force.id && kept.override_count == override_count &&
        kept.compute_capability == static_cast<std::uint8_t>(compute_capability) &&
        kept.dtype == static_cast<std::uint8_t>(dtype)) {
        policy::Decision decision;
        decision.requested = static_cast<policy::Precision>(kept.precisions >> 4);
        decision.precision = static_cast<policy::Precision>(kept.precisions & 15);
        decision.source = static_cast<policy::Source>(kept.why >> 5);
        decision.reason = static_cast<policy::Reason>(kept.why & 31);
        decision.rule = kept.rule;
        return decision;
    }
    policy::MatmulCall call;
    describe(call);
    const policy::Decision decision = policy::decide(call, in_force.process, in_force.policy, overrides());
    const Verdict fresh{in_force.id,
                        override_count,
                        static_cast<std::uint8_t>(compute_capability),
                        static_cast<std::uint8_t>(dtype),
                        static_cast<std::int16_t>(decision.rule),
                        static_cast<std::uint8_t>(static_cast<int>(decision.requested) << 4 |
                                                  static_cast<int>(decision.precision)),
                        static_cast<std::uint8_t>(static_cast<int>(decision.source) << 5 |
                                                  static_cast<int>(decision.reason))};
    site.verdict.store(__builtin_bit_cast(std::uint64_t, fresh), std::memory_order_relaxed);
    return decision;
}

}  // namespace fp32shim
