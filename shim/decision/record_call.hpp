// The last step of a call: its decision goes to whoever wants to know of it, a recording, a log or stderr.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "policy/decide.hpp"
#include "record/audit.hpp"
#include "record/events.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"
#include "shim/where/location.hpp"

namespace fp32shim {

/// The part of a plan that is recorded: how the decision was honoured.
struct Done {
    record::How how = record::How::forward;
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    std::string_view detail{};  ///< static text that adds to `reason`
    std::optional<policy::Applied> actual{};
    std::optional<int> status{};
};

/// Returns the text for Done::detail if several libraries may be the site's provider; else an empty one.
std::string_view ambiguity_of(const Site& site);

/// The begin and end of a call on the host: in ticks of the processor for a recording, else in nanoseconds.
struct CallTime {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Returns the time in the unit of CallTime. Makes no system call.
std::uint64_t time_now(const Settings& in_force);

/// The key of the recording's row for later calls that are counted without another decision
/// (blas/govern/express.hpp).
struct ExpressKey {
    std::uint64_t value = 0;         ///< 0: none; the key is then hashed from all that is recorded
    std::uint32_t change_count = 0;  ///< settings_change_count() for which the key is valid
};

/// Findings about the result of a call, for a recording.
struct FoundInResult {
    std::span<const record::Audit> audits{};
    const record::Fingerprint* fingerprint = nullptr;  ///< nullptr: none was taken
};

/// Records a call in the recording or log, or on stderr, as the settings say. `time` is nullptr where it was not
/// measured. `found`: nullptr where nobody looked at the result. Precondition: in_force.logs().
void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Done& done, const CallTime* time, ExpressKey key = {},
                 const FoundInResult* found = nullptr);

/// Returns the event that a log or recording has for a call, and finds the call's location in its program. The
/// event's views are valid until the call returns, as long as `location` is.
record::DecisionEvent decision_event(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                     const policy::Decision& decision, const Done& done,
                                     where::CallLocation& location);

/// Says which product made NaN or infinity of finite operands, where in its result, and where in the program: the
/// line of Python also where the settings do not ask for it. `found`: has the flag audit_nonfinite.
void report_nonfinite(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                      const policy::Decision& decision, const Done& done, const record::Audit& found);

}  // namespace fp32shim
