#include "shim/decision/record_call.hpp"

#include <bit>
#include <cstdint>
#include <ctime>
#include <utility>

#include "record/format/row_fields.hpp"
#include "record/lines/event_lines.hpp"
#include "record/write/count_call.hpp"
#include "shim/audit/groups.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/python/interpreter.hpp"
#include "system/hash.hpp"
#include "system/kept_state.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {

std::string_view provider_ambiguity_text(const Site& site) {
    return site.ambiguous ? "several libraries provide it, and the caller imports it from none of them"
                          : std::string_view{};
}

std::uint64_t current_call_time(const Settings& in_force) {
    if (in_force.recording != nullptr) return record::ticks();
    if (record::counter_traps.load(std::memory_order_relaxed))
        return static_cast<std::uint64_t>(system::raw::clock_ns(CLOCK_MONOTONIC));
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);  // the vdso reads the processor's counter, without a system call
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

record::DecisionEvent decision_event(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                     const policy::Decision& decision, const ExecutionOutcome& done,
                                     where::CallLocation& location) {
    // This guard costs little, because a recording needs this function only for the first of many equal calls.
    const system::ErrnoAndFloatGuard kept;
    record::DecisionEvent event;
    event.call = call;
    event.provider = site.provider->name;
    event.is_of_vector = blas::has_vector(site.function->product().operation);
    event.requested = decision.requested;
    event.source = decision.source;
    if (decision.rule >= 0) {
        event.decided_by = &in_force.policy.rules[static_cast<std::size_t>(decision.rule)];
        event.rule = event.decided_by->name;
    }
    event.applied = done.applied;
    event.actual = done.actual;
    event.accumulator_as_called = done.accumulator_as_called;
    event.accumulator = done.accumulator;
    event.how = done.how;
    event.reason = done.reason;
    event.detail = done.detail;
    event.status = done.status;
    event.mantissa_bits = done.mantissa_bits;
    event.algorithm = done.algorithm.view();
    if (decision.algorithm_rule >= 0)
        event.limited_by = &in_force.policy.rules[static_cast<std::size_t>(decision.algorithm_rule)];
    if (const ThreadContext* context = existing_thread_context()) event.call.scope = context->scopes.label();
    location.read_location(site, in_force);
    if (in_force.reads_python_lines && in_force.recording != nullptr)
        in_force.recording->record_python_state(where::python_state());
    event.call.where = location.program_line();
    event.stack = &location;
    if (in_force.recording != nullptr) note_environment(in_force, site, call);
    return event;
}

namespace {

/// Returns the key of a decision in the recording. Decisions with equal keys share a row of the recording.
std::uint64_t key_of(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                     const policy::Decision& decision, const ExecutionOutcome& done) {
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
    hash.add(pack(decision.requested, decision.source, actual,
                  static_cast<int>(done.accumulator_as_called) << 4 | static_cast<int>(done.accumulator))
                 << 32 |
             static_cast<std::uint32_t>(decision.rule));
    hash.add(in_force.generation);
    hash.add(done.detail.data()).add(done.status ? static_cast<std::uint32_t>(*done.status) : std::uint64_t{1} << 32);
    if (scopes_in_use()) hash.add(scope_key());
    if (done.mantissa_bits != 0) hash.add(done.mantissa_bits);
    if (done.algorithm.size > 0) hash.add(done.algorithm.view());
    return hash.value();
}

/// Gives the thread's writer, by which the thread counts its calls, back to its recording. Gets a writer in
/// `recording`.
[[gnu::noinline, gnu::cold]] void change_writer(ThreadContext& context, record::Recording& recording) {
    const system::SignalHold hold;
    const system::ErrnoAndFloatGuard kept;
    if (context.writer != nullptr && context.recording != &recording) {
        context.writer_change_count = 0;
        context.recording->detach_thread(std::exchange(context.writer, nullptr));
    }
    context.recording = &recording;
    context.gpu_calls_left = 0;
    if (context.writer == nullptr) context.writer = recording.attach_thread();
}

/// Returns this thread's context with a writer in `recording`, or nullptr if there is no memory.
[[gnu::always_inline]] inline ThreadContext* context_in(record::Recording& recording) {
    ThreadContext* const context = thread_context();
    if (context == nullptr) return nullptr;
    if (context->recording != &recording || context->writer == nullptr) change_writer(*context, recording);
    return context->writer == nullptr ? nullptr : context;
}

[[gnu::always_inline]] inline void count_in_recording(const Site& site, const Settings& in_force,
                                                      const policy::MatmulCall& call,
                                                      const policy::Decision& decision, const ExecutionOutcome& done,
                                                      CallTime& time, ExpressKey key, const ResultFindings* found) {
    record::Recording& recording = *in_force.recording;
    ThreadContext* const context = context_in(recording);
    if (context == nullptr) return recording.count_lost_call(in_force.log_every_call);
    if (key.value == 0) {
        key.value = key_of(site, in_force, call, decision, done);
    } else {
        // Later calls may take the express lane (blas/govern/express.hpp). If every call is logged, the lane reads
        // the processor's counter for each call. So the lane is then closed if reading the counter traps.
        const bool may_pass = !in_force.log_every_call || !record::counter_traps.load(std::memory_order_relaxed);
        context->writer_change_count = may_pass ? key.change_count : 0;
        context->writes_every_call = in_force.log_every_call;
    }
    if (in_force.distinguishes_call_paths())
        key.value = where::combined_row_key(key.value, where::location_key(in_force));
    where::CallLocation location(in_force.distinguishes_call_paths() ? __builtin_alloca(sizeof(where::LocationBuffer))
                                                                     : nullptr);
    time.counted_as = key.value;
    recording.count(*context->writer, key.value, time.begin, time.end, in_force.log_every_call,
                    [&](record::DecisionEvent& event) {
                        event = decision_event(site, in_force, call, decision, done, location);
                    });
    if (found == nullptr) return;
    if (found->is_searched) recording.count_nonfinite_search();
    for (const record::Audit& audit : found->audits)
        recording.add_audit(*context->writer, key.value, time.end, audit);
    if (found->fingerprint != nullptr)
        recording.add_fingerprint(*context->writer, key.value, time.end, *found->fingerprint);
    if (found->fingerprint != nullptr && found->operands != nullptr)
        recording.add_operands(*context->writer, key.value, time.end, *found->operands, found->fingerprint->rows);
}

// ---- decisions that were shown already ---------------------------------------------------------------------------
// `FP32_MATMUL_LOG=stderr` and the level `summary` show each distinct decision once. group_of() is not inlined,
// because recorded calls do not need its code.

/// Returns a hash of the values that the event's row in a recording would have. So a log shows as many decisions as a
/// recording has rows.
std::uint64_t hash_of(const record::DecisionEvent& event) {
    system::Hash hash;
    record::format::RowContent content{};
    record::format::fill_row_content(event, content, [&hash](std::string_view text, record::format::StringId&) {
        hash.add(text);
        return true;
    });
    return hash.add({reinterpret_cast<const char*>(&content), sizeof content}).value();
}

/// Returns the group of the calls with this decision. If there is no room for another group, prints a message the
/// first time and returns nullptr.
[[gnu::noinline]] audit::CallGroup* group_of(const record::DecisionEvent& event) {
    audit::CallGroup* const group = audit::find_or_add_group(hash_of(event));
    static constinit system::OncePerProcess said;
    if (group == nullptr && said.is_first_call())
        system::stderr_line("there is no room for more distinct decisions; further ones are not shown");
    return group;
}

/// Appends a bound on an operand such as `, |A| < 2^67`, by which a user sees why the product overflowed.
void append_limit(system::LineWriter& line, std::string_view name, const record::ExponentRange& exponents) {
    if (exponents.lowest > exponents.highest) return;
    line.texts(", |", name, "| < 2^").number(exponents.highest + 1);
}

/// Returns the smallest whole number e with number < 2^e, or -126 if `number` is below 2^-126. Precondition: `number`
/// is finite and not negative.
int exponent_above(float number) { return static_cast<int>(std::bit_cast<std::uint32_t>(number) >> 23) - 126; }

std::string_view nonfinite_word(const record::Audit& found) {
    return (found.flags & record::audit_nan) != 0 ? "NaN" : "infinity";
}

void append_made(system::LineWriter& line, const record::Audit& found, bool is_batch) {
    line.texts("first NaN or infinity from finite operands: ", nonfinite_word(found), " in row ");
    line.number(found.worst_row).text(", column ").number(found.worst_column);
    if (is_batch) line.text(" of product ").number(found.product);
    append_limit(line, "A", found.a);
    append_limit(line, "B", found.b);
    if (found.alpha != 1) line.text(", |alpha| < 2^").number(exponent_above(found.alpha));
    if (found.beta != 0) line.text(", |beta| < 2^").number(exponent_above(found.beta));
}

void append_received(system::LineWriter& line, const record::Audit& found) {
    const std::string_view operand = record::nonfinite_operand_name(found);
    line.texts("first product that received NaN or infinity: ", nonfinite_word(found), " in ", operand);
    if (operand.size() > 1) return;  // the operand is alpha or beta, which has no rows
    line.text(", row ").number(found.worst_row).text(", column ").number(found.worst_column);
}

}  // namespace

record::ThreadWriter* thread_writer_in(record::Recording& recording) {
    ThreadContext* const context = context_in(recording);
    return context == nullptr ? nullptr : context->writer;
}

void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const ExecutionOutcome& done, CallTime* time, ExpressKey key,
                 const ResultFindings* found) {
    if (in_force.recording != nullptr) {
        CallTime untimed{record::Recording::not_timed, record::ticks()};
        count_in_recording(site, in_force, call, decision, done, time == nullptr ? untimed : *time, key, found);
        return;
    }
    where::CallLocation location(in_force.distinguishes_call_paths() ? __builtin_alloca(sizeof(where::LocationBuffer))
                                                                     : nullptr);
    record::DecisionEvent event = decision_event(site, in_force, call, decision, done, location);
    if (time != nullptr) event.host_ns = static_cast<std::int64_t>(time->end - time->begin);

    const bool every_call = in_force.log != nullptr && in_force.log_every_call;
    audit::CallGroup* const group = every_call ? nullptr : group_of(event);
    if (!every_call && (group == nullptr || group->was_shown_in_log())) return;
    ThreadContext* context = thread_context();
    if (context == nullptr) return;
    // Signals are held for two reasons. A handler that multiplies must not overwrite the line that it interrupted. A
    // handler that leaves by siglongjmp must not leave a decision that is marked as shown but was not written.
    const system::SignalHold hold;
    if (group != nullptr && !group->mark_shown_in_log()) return;
    if (in_force.log != nullptr) in_force.log->write(event, record::LogBuffer(context->log_buffer));
    if (in_force.log_to_stderr) system::stderr_line(record::format_decision_text(event, context->log_buffer));
}

void report_nonfinite(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                      const policy::Decision& decision, const ExecutionOutcome& done, const record::Audit& found) {
    ThreadContext* const context = thread_context();
    if (context == nullptr) return system::stderr_line("a product produced NaN or infinity from finite operands");
    // Signals are held, because a product in a signal handler would write its line into the same buffer.
    const system::SignalHold hold;
    const std::span<char> buffer(context->log_buffer);
    system::LineWriter line(buffer);
    if ((found.flags & record::audit_received) != 0)
        append_received(line, found);
    else
        append_made(line, found, call.batch != 1);
    where::CallLocation location(__builtin_alloca(sizeof(where::LocationBuffer)));
    const record::DecisionEvent event = decision_event(site, in_force, call, decision, done, location);
    location.read_location(site, in_force, true);
    if (!location.program_line().empty()) line.text("; at ").text(location.program_line());
    line.text("; ");
    const std::size_t size = line.size();
    const std::size_t words = record::format_decision_text(event, buffer.subspan(size)).size();
    system::stderr_line({buffer.data(), size + words});
}

}  // namespace fp32shim
