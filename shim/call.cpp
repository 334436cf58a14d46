#include "shim/call.hpp"

#include <ctime>

#include <cerrno>
#include <optional>

#include "shim/blas/product.hpp"
#include "shim/blas/routine.hpp"
#include "shim/decisions_seen.hpp"
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
    const link_map* provider;
    const Frame* frame;
};

__attribute__((tls_model("initial-exec"))) constinit thread_local Running running{nullptr, nullptr};

bool is_inner(const Site& site, const Frame* frame) {
    return running.provider != nullptr && site.caller == running.provider && frame < running.frame;
}

// ---- decide ------------------------------------------------------------------------------------------------------

/// Bare names can be anybody's: `sgemm` of a library that is no BLAS. Governed only if the provider has `sgemm_` too.
bool is_blas(const Site& site) {
    if (site.function->convention != Convention::bare) return true;
    const FunctionIndex known_name = underscored(static_cast<FunctionIndex>(site.function - functions));
    return known_name >= 0 && find_in(*site.provider, functions[known_name].name) != nullptr;
}

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

/// A decision that holds for every call of a site, packed with the settings' epoch into one word, so that a thread
/// sees it whole or not at all.
struct Verdict {
    std::uint16_t epoch;
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
    const std::uint16_t epoch = settings_epoch();
    const auto kept = __builtin_bit_cast(Verdict, site.verdict.load(std::memory_order_relaxed));
    if (kept.epoch == epoch) return {kept.requested, kept.precision, kept.source, kept.rule, kept.reason};
    const policy::Decision decision = policy::decide(call, in_force.process, in_force.policy, overrides());
    const Verdict fresh{epoch,
                        static_cast<std::int16_t>(decision.rule),
                        decision.requested,
                        decision.precision,
                        decision.source,
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

/// Runs the plan; what could not be done as planned is corrected in it.
std::int64_t run(Site& site, const Frame& frame, const blas::Product& product, Plan& plan) {
    const Running outer = running;
    running = {site.provider->map, &frame};
    std::int64_t value = 0;
    if (!plan.rounds && !site.loops_over_gemm) {
        value = blas::call_with_frame(site, frame);
    } else {
        Rounding rounding{&plan, {}, blas::gemm_beside(site)};
        rounding.same = site.loops_over_gemm ? blas::BoundRoutine{rounding.gemm.function, site.real, site.width}
                                             : blas::BoundRoutine{site.function, site.real, site.width};
        for_each_product(site, frame, product, run_rounded, &rounding);
        if (rounding.was_limited) {
            plan.applied = policy::Applied::fp32;
            plan.reason = policy::Reason::scratch_limit;
            if (!site.loops_over_gemm) plan.how = record::How::forward;
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
    if (in_force.log != nullptr) in_force.log->write(event, record::LogBuffer(context->log_buffer));
    if (in_force.log_to_stderr) record::stderr_line(record::format_decision_text(event, context->log_buffer));
}

}  // namespace

bool needs_gate(Site& site) {
    const Settings& in_force = settings();
    if (site.loops_over_gemm) return true;
    if (in_force.forward_everything || !is_blas(site)) return false;
    if (in_force.logs()) return true;
    // Without a log, only what changes the call is worth looking at.
    if (site.function->family->treatment != Treatment::governed) return false;
    if (in_force.policy.cpu_mode != policy::CpuMode::emulate) return false;
    if (scopes_in_use() || in_force.policy.looks_at_sizes()) return true;
    policy::MatmulCall call;
    call.function = site.function->name;
    call.caller = site.caller_name;
    call.dtype = site.function->family->dtype;
    const policy::Decision decision = decide_product(site, in_force, call);
    return decision.precision != policy::Precision::native && decision.precision != policy::Precision::highest;
}

}  // namespace fp32shim

extern "C" fp32shim::Outcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (is_inner(*site, frame)) return {0, site->real};
    if (site->function->convention == Convention::bare &&
        !blas::arguments_look_like_pointers(*site->function, *frame))
        return {0, site->real};

    const Settings& in_force = settings();
    blas::Product product;
    blas::describe(*site, *frame, product);
    const policy::Decision decision = decide_product(*site, in_force, product.call);
    Plan plan = make_plan(*site, *frame, product, decision, in_force.policy.tf32_rounding);
    if (plan.reason == policy::Reason::invalid_arguments) {
        // xerbla_ may not come back: say what is known, and leave no trace of ours on the stack.
        if (in_force.logs()) record_call(*site, in_force, product.call, decision, plan, -1);
        return {0, site->real};
    }
    const std::int64_t started = in_force.logs() ? now_ns() : 0;
    const std::int64_t value = run(*site, *frame, product, plan);
    if (in_force.logs()) record_call(*site, in_force, product.call, decision, plan, now_ns() - started);
    return {value, nullptr};
}
