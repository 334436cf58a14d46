// Writes the decision on a call into a recording, a log or a line on stderr. This is the last step of a call.
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

/// How the decision on a call was carried out, as far as this is recorded.
struct ExecutionOutcome {
    record::How how = record::How::forward;
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    std::string_view detail{};  ///< a static text that explains `reason`
    std::optional<policy::AppliedFormat> actual{};
    /// The type in which a half product on a GPU would have added without the shim.
    policy::Accumulator accumulator_as_called = policy::Accumulator::unknown;
    policy::Accumulator accumulator = policy::Accumulator::unknown;
    std::optional<int> status{};
    std::uint8_t mantissa_bits = 0;     ///< see record::DecisionEvent::mantissa_bits
    policy::AlgorithmText algorithm{};  ///< the algorithm of cublasLt that ran; empty if there was none
};

/// Returns a text for ExecutionOutcome::detail if several libraries may be the provider of the call site, otherwise
/// an empty text.
std::string_view provider_ambiguity_text(const Site& site);

/// The beginning and end of a call on the host. The unit is a tick of the processor's counter for a recording,
/// otherwise a nanosecond.
struct CallTime {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t counted_as = 0;  ///< record_call() stores here the key under which the recording counts the call
};

/// Returns the current time in the unit of CallTime. Makes no system call.
std::uint64_t current_call_time(const Settings& in_force);

/// The key of the recording's row under which later equal calls are counted without another decision
/// (blas/govern/express.hpp).
struct ExpressKey {
    std::uint64_t value = 0;         ///< 0 if there is none; the row's key is then a hash of all recorded facts
    std::uint32_t change_count = 0;  ///< the settings_change_count() for which the key is valid
};

/// Findings about the result of a call, for a recording.
struct ResultFindings {
    std::span<const record::Audit> audits{};
    const record::Fingerprint* fingerprint = nullptr;  ///< nullptr if no fingerprint was taken
    const record::OperandHashes* operands = nullptr;   ///< hashes of the operands of a call with a fingerprint
    bool is_searched = false;                          ///< true if the result was searched for NaN and infinity
};

/// Returns the object by which this thread writes to `recording`, or nullptr if there is no memory.
record::ThreadWriter* thread_writer_in(record::Recording& recording);

/// Records a call in the recording or log, or on stderr, as the settings say. `time` is nullptr if the time was not
/// measured, and `found` is nullptr if the result was not examined. Precondition: in_force.is_logging().
void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const ExecutionOutcome& done, CallTime* time, ExpressKey key = {},
                 const ResultFindings* found = nullptr);

/// Returns the event of a call for a log or recording, and finds the call's location in its program. The texts to
/// which the event refers are valid until the call returns and while `location` exists.
record::DecisionEvent decision_event(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                     const policy::Decision& decision, const ExecutionOutcome& done,
                                     where::CallLocation& location);

/// Writes facts about the environment (processor, Python, torch, libraries that multiply, devices) into the
/// recording. A call with a new decision adds the facts that it shows for the first time. The library that runs the
/// call is asked for its version once, and for its number of threads each time, until eight changes of this number
/// were written. Precondition: in_force.recording is set. Called only for calls with a new decision. Thread-safe.
void note_environment(const Settings& in_force, const Site& site, const policy::MatmulCall& call);

/// Prints which product made NaN or infinity from finite operands, or received NaN or infinity, in which element of
/// its result or operand, and where in the program. Includes the line of Python even if the settings do not ask for
/// lines. Precondition: is_about_nonfinite(found).
void report_nonfinite(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                      const policy::Decision& decision, const ExecutionOutcome& done, const record::Audit& found);

}  // namespace fp32shim
