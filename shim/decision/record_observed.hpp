// Records products that the shim did not run or change: oneDNN told it of them, or it saw a kernel being launched.
#pragma once

#include <alloca.h>

#include <cstdint>

#include "record/write/count_call.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/location.hpp"
#include "shim/where/python/interpreter.hpp"
#include "system/hash.hpp"
#include "system/kept_state.hpp"

namespace fp32shim {

/// Counts a call that has just ended on this thread, in the recording in force. Calls with the same call site and
/// `kind` share a row of the recording. If `with_location` is true, calls from different lines of the program have
/// different rows. `describe(event)` fills in a new row, except for scope and location. Precondition:
/// in_force.recording is set.
template <class Describe>
void record_observed_product(const Site& site, const Settings& in_force, std::uint64_t kind, const CallTime& time,
                             bool with_location, const Describe& describe) {
    record::Recording& recording = *in_force.recording;
    record::ThreadWriter* const writer = thread_writer_in(recording);
    if (writer == nullptr) return recording.count_lost_call(in_force.log_every_call);
    system::Hash hash;
    hash.add(site.number).add(kind).add(in_force.generation);
    if (scopes_in_use()) hash.add(scope_key());
    const bool tells_paths = with_location && in_force.distinguishes_call_paths();
    const std::uint64_t key =
        tells_paths ? where::combined_row_key(hash.value(), where::location_key(in_force)) : hash.value();
    where::CallLocation location(tells_paths ? alloca(sizeof(where::LocationBuffer)) : nullptr);
    const auto* const last_product = writer->last_product();
    recording.count(*writer, key, time.begin, time.end, in_force.log_every_call, [&](record::DecisionEvent& event) {
        const system::ErrnoAndFloatGuard kept;
        describe(event);
        if (const ThreadContext* context = existing_thread_context()) event.call.scope = context->scopes.label();
        if (with_location) {
            location.read_location(site, in_force);
            if (in_force.reads_python_lines) recording.record_python_state(where::python_state());
            event.call.where = location.program_line();
            event.stack = &location;
        }
        note_environment(in_force, site, event.call);
    });
    // fp32shim_last_product() must not report this product, which the thread did not call.
    writer->last_product() = last_product;
}

}  // namespace fp32shim
