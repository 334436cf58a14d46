#include "shim/call.hpp"

#include <cerrno>
#include <ctime>
#include <string>

#include "record/signal_hold.hpp"
#include "shim/blas/product.hpp"
#include "shim/blas/routine.hpp"
#include "shim/decisions_seen.hpp"
#include "shim/elf/objects.hpp"
#include "shim/gate.hpp"
#include "shim/plan.hpp"
#include "shim/settings.hpp"
#include "shim/thread_context.hpp"

namespace fp32shim {
namespace {

// ---- inner calls -------------------------------------------------------------------------------------------------

/// The outermost product that this thread is inside of. A library that multiplies by calling itself (reference
/// CBLAS calls `sgemm_`) comes back through our entry points: such a call is forwarded and not counted.
///
/// Kept by value and without destructor, since xerbla_ may throw or longjmp past us. What is then left behind is
/// recognised by its frame: a product that is still running has its frame above that of any call it makes.
struct Running {
    LoadedObject* provider;
    LoadedObject* delegate;  ///< the library that the provider passed its work on to, through an inner call
    const Frame* frame;
};

__attribute__((tls_model("initial-exec"))) constinit thread_local Running running{};

/// MKL is several libraries that call each other through the one that programs link (libmkl_rt).
bool is_mkl(const LoadedObject& object) { return object.name.starts_with("libmkl_"); }

/// A provider that jumps on through an address it looked up returns into our own code: that is inner too.
bool is_inner(const Site& site, const Frame* frame) {
    if (running.provider == nullptr || frame >= running.frame || site.caller == nullptr) return false;
    return site.caller == running.provider || site.caller == running.delegate ||
           site.caller->map == elf::own_object() || (is_mkl(*site.caller) && is_mkl(*running.provider));
}

// ---- decide ------------------------------------------------------------------------------------------------------

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

policy::Decision decide_product(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    const bool holds_for_all_calls = !in_force.policy.looks_at_sizes() && !scopes_in_use();
    if (!holds_for_all_calls) {
        if (const ThreadContext* context = existing_thread_context()) call.scope = context->scope_label();
        return policy::decide(call, in_force.process, in_force.policy, overrides());
    }
    // Counted before the overrides are read: a verdict may be made with newer ones than it says, never with older.
    const std::uint8_t override_count = process_override_count();
    const auto kept = __builtin_bit_cast(Verdict, site.verdict.load(std::memory_order_relaxed));
    if (kept.settings == in_force.id && kept.override_count == override_count)
        return {kept.requested, kept.precision, kept.source, kept.rule, kept.reason};
    const policy::Decision decision = policy::decide(call, in_force.process, in_force.policy, overrides());
    const Verdict fresh{in_force.id,        override_count,     static_cast<std::int16_t>(decision.rule),
                        decision.requested, decision.precision, decision.source,
                        decision.reason};
    site.verdict.store(__builtin_bit_cast(std::uint64_t, fresh), std::memory_order_relaxed);
    return decision;
}

// ---- run ---------------------------------------------------------------------------------------------------------

// Operands beyond this are processed in blocks of C.
constexpr std::size_t scratch_limit = 256U << 20;

struct Rounding {
    const Plan* plan;
    blas::BoundRoutine same;
    blas::BoundRoutine gemm;
    bool was_limited = false;
};

bool run_rounded(void* context, const blas::Level3& single) {
    auto& rounding = *static_cast<Rounding*>(context);
    const blas::Routine same{blas::call_by_role, &rounding.same};
    const blas::Routine gemm{rounding.gemm.address == nullptr ? nullptr : blas::call_by_role, &rounding.gemm};
    if (rounding.plan->rounds && blas::multiplies(single)) {
        const int saved_errno = errno;
        const auto result = blas::emulate(single, rounding.plan->rounding, same, gemm, scratch_limit);
        errno = saved_errno;
        if (result == blas::EmulationResult::done) return true;
        rounding.was_limited = true;
    }
    same.call(same.context, single);
    return true;
}

/// A stand-in has another signature than what was called, so arguments that cannot be read cannot be passed on
/// either.
void say_unreadable(const Site& site) {
    static constinit record::OncePerProcess said;
    if (!said.first()) return;
    std::string text(site.function->name);
    text += ": invalid arguments, and no library that provides it to report them; nothing was computed";
    record::stderr_line(text);
}

/// Runs the plan; what could not be done as planned is corrected in it.
std::int64_t run(const Site& site, const Frame& frame, const blas::Product& product, Plan& plan) {
    const Running outer = running;
    running = {site.provider, nullptr, &frame};
    std::int64_t value = 0;
    if (!plan.rounds && !site.runs_one_by_one()) {
        value = blas::call_with_frame(site, frame);
    } else if (!product.readable) {
        say_unreadable(site);
    } else {
        const FunctionIndex gemm = row_beside(*site.function, product.level3.is_complex ? "cgemm" : "sgemm");
        Rounding rounding{&plan, {site.routine, site.real}, {gemm < 0 ? nullptr : &functions[gemm], site.gemm}};
        for_each_product(site, frame, product, run_rounded, &rounding);
        if (rounding.was_limited) {
            plan.applied = policy::Applied::fp32;
            plan.reason = policy::Reason::scratch_limit;
            if (!site.runs_one_by_one()) plan.how = record::How::forward;
        }
    }
    running = outer;
    return value;
}

// ---- record ------------------------------------------------------------------------------------------------------

/// Monotonic, in nanoseconds; answered by the vdso, without a system call.
std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void record_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                 const policy::Decision& decision, const Plan& plan, std::int64_t host_ns) {
    record::DecisionEvent event;
    event.call = call;
    event.provider = site.provider->name;
    event.requested = decision.requested;
    event.source = decision.source;
    if (decision.rule >= 0) event.rule = in_force.policy.rules[static_cast<std::size_t>(decision.rule)].name;
    event.applied = plan.applied;
    event.how = plan.how;
    event.reason = plan.reason;
    event.detail = plan.detail;
    event.host_ns = host_ns;

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

}  // namespace

LoadedObject* running_library() { return running.delegate != nullptr ? running.delegate : running.provider; }

bool needs_gate(Site& site) {
    if (site.provider == nullptr) return false;
    if (site.runs_one_by_one()) return true;
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return false;
    if (in_force.logs()) return true;
    // Without a log, only what changes the call is worth looking at.
    if (site.function->family->treatment != Treatment::governed) return false;
    if (in_force.policy.cpu_mode != policy::CpuMode::emulate) return false;
    if (scopes_in_use() || in_force.policy.looks_at_sizes()) return true;
    policy::MatmulCall call;
    call.function = site.function->name;
    call.caller = site.caller_name();
    call.dtype = site.function->family->dtype;
    const policy::Decision decision = decide_product(site, in_force, call);
    return decision.precision != policy::Precision::native && decision.precision != policy::Precision::highest;
}

}  // namespace fp32shim

extern "C" fp32shim::Outcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    site = rebound_site(site);
    // Only where `real` is what was called: a stand-in has another signature.
    const bool stands_in = site->runs_one_by_one();
    const Outcome untouched{0, site->real};
    const Settings& in_force = settings();
    if (!stands_in) {
        if (!needs_gate(*site)) return untouched;
        if (site->function->convention == Convention::bare &&
            !blas::arguments_look_like_pointers(*site->function, *frame))
            return untouched;
    }
    const bool inner = is_inner(*site, frame);
    if (inner && !stands_in) {
        running.delegate = site->provider;
        return untouched;
    }
    if (site->width.load(std::memory_order_relaxed) == IntegerWidth::not_probed)
        site->width.store(integer_width(*site->provider, *site->routine), std::memory_order_relaxed);

    const bool forwards = inner || in_force.forward_everything;
    const bool logs = in_force.logs() && !forwards;
    blas::Product product;
    blas::describe(*site, *frame, product);
    const policy::Decision decision = forwards ? policy::Decision{} : decide_product(*site, in_force, product.call);
    Plan plan = make_plan(*site, *frame, product, decision, in_force.policy.tf32_rounding);
    if (plan.reason == policy::Reason::invalid_arguments && !stands_in) {
        // xerbla_ may not come back: say what is known, and leave no trace of ours on the stack.
        if (logs) record_call(*site, in_force, product.call, decision, plan, -1);
        return untouched;
    }
    const std::int64_t started = logs ? now_ns() : 0;
    const std::int64_t value = run(*site, *frame, product, plan);
    if (logs) record_call(*site, in_force, product.call, decision, plan, now_ns() - started);
    return {value, nullptr};
}
