#include "shim/decision.hpp"

#include <ctime>
#include <utility>

#include "shim/decisions_seen.hpp"
#include "shim/site_rules.hpp"
#include "shim/thread_context.hpp"
#include "system/hash.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"

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

policy::Decision decide_by_call(Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                std::uint32_t change_count) {
    const auto rules = rules_of(site, in_force, call).rules;
    const auto decide = [&] { return policy::decide(call, in_force.process, in_force.policy, overrides(), rules); };
    if (rules.empty()) return decide();
    const ThreadContext* const context = existing_thread_context();
    if (context != nullptr && context->depth > 0) return decide();
    KeptDecisions* const decisions = kept_decisions();
    if (decisions == nullptr) return decide();
    const DecisionKey key{
        site.number,         call.m,      call.n, call.k, call.batch, call.compute_capability, call.dtype,
        in_force.generation, change_count};
    if (const auto kept = decisions->find(key)) return *kept;
    const policy::Decision decision = decide();
    decisions->keep(key, decision);
    return decision;
}

}  // namespace

policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    // Counted before the overrides are read: what is kept may be made with newer ones than it says, never with older.
    const std::uint32_t change_count = settings_change_count();
    if (const ThreadContext* context = existing_thread_context()) call.scope = context->scope_label();
    if (in_force.looks_at_sizes || scopes_in_use()) return decide_by_call(site, in_force, call, change_count);
    return policy::decide(call, in_force.process, in_force.policy, overrides());
}

policy::Floor floor_in_force(const Settings& in_force) {
    const policy::Floor floor = overrides().floor;
    return floor > in_force.policy.floor ? floor : in_force.policy.floor;
}

std::uint64_t time_now(const Settings& in_force) {
    if (in_force.recording != nullptr) return record::ticks();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);  // answered by the vdso
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

record::DecisionEvent decision_event(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                     const policy::Decision& decision, const Done& done) {
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
    event.status = done.status;
    if (const ThreadContext* context = existing_thread_context()) event.call.scope = context->scope_label();
    return event;
}

namespace {

/// Tells decisions apart as rows of a recording do.
std::uint64_t key_of(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                     const policy::Decision& decision, const Done& done) {
    system::Hash hash;
    hash.add(site.number).add(static_cast<std::uint64_t>(call.m)).add(static_cast<std::uint64_t>(call.n));
    hash.add(static_cast<std::uint64_t>(call.k)).add(static_cast<std::uint64_t>(call.batch));
    const auto pack = [](auto... bytes) {
        std::uint64_t word = 0;
        ((word = word << 8 | static_cast<std::uint8_t>(bytes)), ...);
        return word;
    };
    const int actual = done.actual ? static_cast<int>(*done.actual) + 1 : 0;
    hash.add(pack(call.trans_a, call.trans_b, call.dtype, call.compute_capability, call.device_index, done.applied,
                  done.how, done.reason));
    hash.add(pack(decision.requested, decision.source, actual) << 32 | static_cast<std::uint32_t>(decision.rule));
    hash.add(in_force.generation);
    hash.add(done.detail.data()).add(done.status ? static_cast<std::uint32_t>(*done.status) : std::uint64_t{1} << 32);
    if (scopes_in_use())
        if (const ThreadContext* context = existing_thread_context()) hash.add(context->scope_label());
    return hash.value();
}

void count_in_recording(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                        const policy::Decision& decision, const Done& done, const CallTime& time, ExpressKey key) {
    record::Recording& recording = *in_force.recording;
    ThreadContext* context = thread_context();
    if (context == nullptr) return recording.note_uncounted(in_force.log_every_call);
    if (context->recording != &recording && context->writer != nullptr) {
        // Forgotten first: a signal handler that multiplies must not give it back once more.
        record::Recording* const before = context->recording;
        record::ThreadWriter* const left = std::exchange(context->writer, nullptr);
        context->writer_change_count = 0;
        before->detach(left);
    }
    context->recording = &recording;
    if (context->writer == nullptr) context->writer = recording.attach();
    if (context->writer == nullptr) return recording.note_uncounted(in_force.log_every_call);
    if (key.value == 0) {
        key.value = key_of(site, in_force, call, decision, done);
    } else {
        context->writer_change_count = key.change_count;
        context->writes_every_call = in_force.log_every_call;
    }
    recording.count(
        *context->writer, key.value, time.begin, time.end, in_force.log_every_call,
        [&](record::DecisionEvent& event) { event = decision_event(site, in_force, call, decision, done); });
}

}  // namespace

void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Done& done, const CallTime* time, ExpressKey key) {
    if (in_force.recording != nullptr) {
        const CallTime untimed{record::Recording::not_timed, record::ticks()};
        count_in_recording(site, in_force, call, decision, done, time == nullptr ? untimed : *time, key);
        return;
    }
    record::DecisionEvent event = decision_event(site, in_force, call, decision, done);
    if (time != nullptr) event.host_ns = static_cast<std::int64_t>(time->end - time->begin);

    const bool every_call = in_force.log != nullptr && in_force.log_every_call;
    const bool is_new = !every_call && note_decision(site, event);
    if (!every_call && !is_new) return;
    ThreadContext* context = thread_context();
    if (context == nullptr) return;
    // A signal handler that multiplies must not write into the line that it interrupted.
    const system::SignalHold hold{system::SignalHold::all};
    if (in_force.log != nullptr) in_force.log->write(event, record::LogBuffer(context->log_buffer));
    if (in_force.log_to_stderr) system::stderr_line(record::format_decision_text(event, context->log_buffer));
}

void obey_command(record::Recording& recording) {
    record::RecordingChanges* const changes = recording.changes();
    if (changes == nullptr) return;
    const auto command = changes->take_command();
    if (!command) return;
    if (command->kind != record::format::CommandKind::reload) {
        set_process_precision(command->precision);
        changes->answer(*command, true, {});
        return;
    }
    constexpr const char* refused =
        "the policy has errors, which fp32shim check lists; the settings stay as they were";
    const bool is_done = reload_settings();
    changes->answer(*command, is_done, is_done ? "" : refused, policy_facts(settings().policy));
}

}  // namespace fp32shim
