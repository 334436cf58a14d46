#include "shim/decision.hpp"

#include <ctime>

#include "record/signal_hold.hpp"
#include "record/stderr_line.hpp"
#include "shim/decisions_seen.hpp"
#include "shim/thread_context.hpp"

namespace fp32shim {
namespace {

policy::Overrides overrides() {
    policy::Overrides result;
    result.process = process_precision();
    result.floor = process_floor();
    if (const ThreadContext* context = existing_thread_context()) {
        const Scope& scope = context->scope();
        if (scope.precision >= 0) result.thread = static_cast<policy::Precision>(scope.precision);
        if (scope.floor > result.floor) result.floor = scope.floor;
    }
    return result;
}

}  // namespace

policy::Decision decide_call(const Settings& in_force, policy::MatmulCall& call) {
    if (const ThreadContext* context = existing_thread_context()) call.scope = context->scope_label();
    return policy::decide(call, in_force.process, in_force.policy, overrides());
}

policy::Floor floor_in_force(const Settings& in_force) {
    const policy::Floor floor = overrides().floor;
    return floor > in_force.policy.floor ? floor : in_force.policy.floor;
}

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Done& done, std::int64_t host_ns) {
    record::DecisionEvent event;
    event.call = call;
    event.provider = site.provider->name;
    event.requested = decision.requested;
    event.source = decision.source;
    if (decision.rule >= 0) event.rule = in_force.policy.rules[static_cast<std::size_t>(decision.rule)].name;
    event.applied = done.applied;
    event.actual = done.actual;
    event.how = done.how;
    event.reason = done.reason;
    event.detail = done.detail;
    event.host_ns = host_ns;
    event.status = done.status;
    if (const ThreadContext* context = existing_thread_context()) event.call.scope = context->scope_label();

    const bool every_call = in_force.log != nullptr && in_force.log_every_call;
    const bool is_new = !every_call && note_decision(site, event);
    if (!every_call && !is_new) return;
    ThreadContext* context = thread_context();
    if (context == nullptr) return;
    // A signal handler that multiplies must not write into the line that it interrupted.
    const record::SignalHold hold{record::SignalHold::all};
    if (in_force.log != nullptr) in_force.log->write(event, record::LogBuffer(context->log_buffer));
    if (in_force.log_to_stderr) record::stderr_line(record::format_decision_text(event, context->log_buffer));
}

}  // namespace fp32shim
