#include "shim/call.hpp"

#include <cerrno>

#include "shim/blas/plan.hpp"
#include "shim/blas/product.hpp"
#include "shim/blas/routine.hpp"
#include "shim/cublas/govern.hpp"
#include "shim/decision.hpp"
#include "shim/entry/gate.hpp"
#include "shim/express_lane.hpp"
#include "shim/running.hpp"
#include "shim/settings.hpp"
#include "shim/thread_context.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

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
    static constinit system::OncePerProcess said;
    if (!said.first()) return;
    char buffer[256];
    system::LineWriter line(buffer);
    line.text(site.function->name);
    line.text(": invalid arguments, and no library that provides it to report them; nothing was computed");
    system::stderr_line(line.view());
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
        const FunctionIndex gemm =
            find_function(product.level3.is_complex ? families::cgemm : families::sgemm, site.function->form);
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

// ---- the express lane --------------------------------------------------------------------------------------------

/// What the long way would have said of a call that was forwarded.
record::DecisionEvent describe_forwarded(Site& site, const Frame& frame, const Settings& in_force) {
    blas::Product product;
    blas::describe(site, frame, product);
    const policy::Decision decision =
        decide_call(site, in_force, [&](policy::MatmulCall& call) { call = product.call; });
    const Plan plan = make_plan(site, frame, product, decision, in_force.policy.tf32_rounding);
    return decision_event(site, in_force, product.call, decision, plan);
}

/// A call on the express lane that is to be timed, or whose library may come back to us. False: it has to take the
/// long way.
bool takes_express_lane(Site& site, const Frame& frame, Outcome& outcome) {
    const ExpressCall call = express_call(site, frame);
    if (call.recording == nullptr || !record::Recording::knows(*call.writer, call.key)) return false;
    const Settings& in_force = settings();
    running = {site.provider, nullptr, &frame};
    const std::uint64_t begin = record::ticks();
    outcome = {blas::call_with_frame(site, frame), nullptr};
    const std::uint64_t end = record::ticks();
    running = {};  // nothing ran before: express_call saw to that
    // The decision is asked for only if the call is not like a known one any more: the process was forked inside it.
    call.recording->count(*call.writer, call.key, begin, end, call.with_event,
                          [&](record::DecisionEvent& event) { event = describe_forwarded(site, frame, in_force); });
    return true;
}

/// Whether every call of the site runs as called under these settings, if `decision` is that for one of them.
bool forwards_every_call(const Site& site, const Settings& in_force, const policy::Decision& decision) {
    if (site.function->family->treatment != Treatment::governed) return true;
    if (in_force.policy.cpu_mode != policy::CpuMode::emulate) return true;
    return !in_force.looks_at_sizes &&
           (decision.precision == policy::Precision::native || decision.precision == policy::Precision::highest);
}

}  // namespace

std::uint64_t express_word(const Site& site, const Settings& in_force, const policy::Decision& decision,
                           std::uint32_t change_count) {
    if (in_force.recording == nullptr || scopes_in_use() || site.keyed.count == 0 ||
        site.width.load(std::memory_order_relaxed) == IntegerWidth::unknown || site.runs_one_by_one() ||
        site.function->family->treatment == Treatment::opaque || !forwards_every_call(site, in_force, decision))
        return 0;
    // Bits 0 to 4 the reason, 5 to 7 the source, 8 to 10 what was requested, 11 to 13 the precision, 14 to 21 the
    // settings, 22 to 30 the rule, from 1.
    static_assert(policy::reason_count <= 1U << 5);
    static_assert(static_cast<unsigned>(policy::Source::native) < 1U << 3);
    static_assert(static_cast<unsigned>(policy::Precision::bf16x9) < 1U << 3);
    constexpr std::int32_t rule_limit = (1 << 9) - 1;
    constexpr std::uint32_t generation_limit = 1U << 8;
    constexpr std::uint64_t is_whole = std::uint64_t{1} << 31;
    std::uint64_t low = change_count & (is_whole - 1);
    if (!in_force.looks_at_sizes && decision.rule < rule_limit && in_force.generation < generation_limit) {
        const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
        low = is_whole | bits(decision.rule + 1) << 22 | bits(in_force.generation) << 14 |
              bits(decision.precision) << 11 | bits(decision.requested) << 8 | bits(decision.source) << 5 |
              bits(decision.reason);
    }
    return std::uint64_t{change_count} << 32 | low;
}

bool needs_gate(Site& site) {
    if (site.provider == nullptr) return false;
    if (site.runs_one_by_one()) return true;
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return false;
    if (is_of_cublas(site.function->convention)) return cublas::needs_gate(site, in_force);
    if (in_force.logs()) return true;
    // Without a log, only what changes the call is worth looking at.
    if (site.function->family->treatment != Treatment::governed) return false;
    if (in_force.policy.cpu_mode != policy::CpuMode::emulate) return false;
    if (scopes_in_use() || in_force.looks_at_sizes) return true;
    const policy::Decision decision = decide_call(site, in_force, [&](policy::MatmulCall& call) {
        call.function = site.function->name;
        call.caller = site.caller_name();
        call.dtype = site.function->product().dtype;
    });
    return decision.precision != policy::Precision::native && decision.precision != policy::Precision::highest;
}

}  // namespace fp32shim

extern "C" fp32shim::Outcome fp32shim_govern(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    if (Outcome outcome; takes_express_lane(*site, *frame, outcome)) return outcome;
    site = rebound_site(site);
    if (is_of_cublas(site->function->convention)) return cublas::govern(*site, *frame);  // from before version 2
    // Only where `real` is what was called: a stand-in has another signature.
    const bool stands_in = site->runs_one_by_one();
    const Outcome untouched{0, site->real};
    obey_waiting_command();
    const std::uint32_t change_count = settings_change_count();  // counted before the settings are looked at
    const Settings& in_force = settings();
    if (!stands_in) {
        if (!needs_gate(*site)) return untouched;
        if (site->function->convention == Convention::bare &&
            !blas::arguments_look_like_pointers(*site->function, *frame))
            return untouched;
    }
    const bool inner = is_inner(*site, frame);
    if (inner && !stands_in) {
        running.provider->calls_back.store(true, std::memory_order_relaxed);
        running.delegate = site->provider;
        return untouched;
    }
    if (site->width.load(std::memory_order_relaxed) == IntegerWidth::not_probed)
        site->width.store(integer_width(*site->provider, *site->routine), std::memory_order_relaxed);

    const bool forwards = inner || in_force.forward_everything;
    const bool logs = in_force.logs() && !forwards;
    blas::Product product;
    blas::describe(*site, *frame, product);
    const auto describe = [&](policy::MatmulCall& call) { call = product.call; };
    const policy::Decision decision = forwards ? policy::Decision{} : decide_call(*site, in_force, describe);
    Plan plan = make_plan(*site, *frame, product, decision, in_force.policy.tf32_rounding);
    if (plan.reason == policy::Reason::invalid_arguments && !stands_in) {
        // xerbla_ may not come back: say what is known, and leave no trace of ours on the stack.
        if (logs) record_call(*site, in_force, product.call, decision, plan, nullptr);
        return untouched;
    }
    const std::uint64_t express = logs ? express_word(*site, in_force, decision, change_count) : 0;
    const ExpressKey key{express == 0 ? 0 : express_key(*site, *frame, express), change_count};
    CallTime time;
    if (logs) time.begin = time_now(in_force);
    const std::int64_t value = run(*site, *frame, product, plan);
    if (logs) {
        time.end = time_now(in_force);
        record_call(*site, in_force, product.call, decision, plan, &time, key);
        site->express.store(express, std::memory_order_relaxed);
    }
    return {value, nullptr};
}
