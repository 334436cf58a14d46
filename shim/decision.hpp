// The second step of a call, with what this process and thread add to it; and the last one.
#pragma once

#include <string_view>

#include "policy/decide.hpp"
#include "record/events.hpp"
#include "shim/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim {

/// Judges a call. The answer is kept in its site where neither sizes nor scopes matter; where sizes do, by its
/// thread. `describe` fills in a call of this site; it is asked only where nothing is kept. Thread-safe.
template <class Describe>
policy::Decision decide_call(Site& site, const Settings& in_force, const Describe& describe);

/// Judges a call of a site, adding the thread's scope to it. Kept by the thread where sizes matter and many rules are
/// to be tried. Thread-safe.
policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call);

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

/// How long a call takes on the host, in the unit that whoever logs wants: the processor's ticks for a recording,
/// nanoseconds else. No system call.
struct CallTime {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};
std::uint64_t time_now(const Settings& in_force);

/// Under which a recording is to know calls like one on the express lane (express_lane.hpp).
struct ExpressKey {
    std::uint64_t value = 0;         ///< 0: none; what tells calls apart is found out from all that is recorded
    std::uint32_t change_count = 0;  ///< settings_change_count() that it holds for
};

/// Writes the call down, if anybody wants to know. `time` is nullptr where it was not measured.
/// Precondition: in_force.logs().
void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Done& done, const CallTime* time, ExpressKey key = {});

/// The same, as a log has it. Views outlive the call only.
record::DecisionEvent decision_event(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                     const policy::Decision& decision, const Done& done);

/// Does what `fp32shim set` or `reload` wants of this process, if they want anything: before a call's settings are
/// read.
inline void obey_waiting_command();

// ---- details -----------------------------------------------------------------------------------------------------

/// A decision that holds for every call of a site, packed into one word with what it was made under, so that a thread
/// sees it whole or not at all.
struct Verdict {
    std::uint8_t settings;  ///< Settings::id; never 0
    std::uint8_t override_count;
    std::int16_t rule;
    policy::Precision requested;
    policy::Precision precision;
    policy::Source source;
    policy::Reason reason;
};
static_assert(sizeof(Verdict) == sizeof(std::uint64_t));

void obey_command(record::Recording& recording);

inline void obey_waiting_command() {
    record::Recording* recording = settings().recording;
    if (recording != nullptr && recording->has_command()) obey_command(*recording);
}

template <class Describe>
policy::Decision decide_call(Site& site, const Settings& in_force, const Describe& describe) {
    // Counted before the overrides are read: a verdict may be made with newer ones than it says, never with older.
    const std::uint8_t override_count = process_override_count();
    const bool holds_for_all_calls = !in_force.looks_at_sizes && !scopes_in_use();
    const auto kept = __builtin_bit_cast(Verdict, site.verdict.load(std::memory_order_relaxed));
    if (holds_for_all_calls && kept.settings == in_force.id && kept.override_count == override_count)
        return {kept.requested, kept.precision, kept.source, kept.rule, kept.reason};
    policy::MatmulCall call;
    describe(call);
    const policy::Decision decision = decide_call(site, in_force, call);
    if (holds_for_all_calls) {
        const Verdict fresh{in_force.id,        override_count,     static_cast<std::int16_t>(decision.rule),
                            decision.requested, decision.precision, decision.source,
                            decision.reason};
        site.verdict.store(__builtin_bit_cast(std::uint64_t, fresh), std::memory_order_relaxed);
    }
    return decision;
}

}  // namespace fp32shim
