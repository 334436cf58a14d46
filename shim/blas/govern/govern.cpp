#include "shim/blas/govern/govern.hpp"

#include <cerrno>
#include <optional>
#include <span>

#include "shim/audit/float_environment.hpp"
#include "shim/audit/groups.hpp"
#include "shim/blas/audit/audit.hpp"
#include "shim/blas/audit/nonfinite.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/fingerprint/fingerprint_call.hpp"
#include "shim/blas/govern/express.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/blas/plan.hpp"
#include "shim/blas/routine.hpp"
#include "shim/blas/site_decision.hpp"
#include "shim/blas/treat.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::blas {
namespace {

// The C library's function that returns the least size of a thread's stack. No header declares it, but the JVM relies
// on it, too.
constinit NextFunction<std::size_t(const pthread_attr_t*)> least_stack_of_a_thread{"__pthread_get_minstack"};

/// Computes the call's products one by one in the shim. A product for which there is no memory runs in the library as
/// called; `plan` is then changed to say so.
void run_each_here(const Site& site, Frame& frame, const Product& product, Plan& plan) {
    struct Limit {
        const LoadedObject& provider;
        int threads;
    };
    const Limit limit{*site.provider, plan.threads};
    const ThreadLimitQuery threads{[](const void* context) {
                                       const auto& most = *static_cast<const Limit*>(context);
                                       const int count =
                                           most.threads > 0 ? most.threads : library_thread_count(most.provider);
                                       return ThreadLimit{count, least_stack_of_a_thread.get()};
                                   },
                                   &limit};
    bool lacked_memory = false;
    for_each_product(site, frame, product, [&](const Level3& single) {
        const int saved_errno = errno;
        const bool done = plan.uses_bf16_units && multiplies(single) ? multiply_in_bf16(single, bf16_units(), threads)
                                                                     : multiply_in_fixed_order(single, threads);
        errno = saved_errno;
        lacked_memory |= !done;
        if (done) {
            if (returns_in_registers(site)) product.write_returned_number(site, frame);
        } else if (has_vector(single.operation)) {
            call_with_frame(site, frame);
        } else {
            ProviderRoutine same{site.routine, site.real};
            call_by_role(&same, single);
        }
    });
    if (!lacked_memory) return;
    plan.applied = policy::native_format(product.call.dtype);
    plan.reason = policy::Reason::scratch_limit;
    plan.how = site.runs_batch_one_by_one() ? record::How::one_by_one : record::How::forward;
}

/// Warns, once per process, that a call with invalid arguments computed nothing. No library provides the called
/// function, and the routine that replaces it takes other arguments, so no library can report the invalid arguments.
void warn_invalid_arguments(const Site& site) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[256];
    system::LineWriter line(buffer);
    line.texts(site.function->name,
               ": called with invalid arguments, and no library provides this function to report them; nothing was "
               "computed");
    system::stderr_line(line.view());
}

/// Runs the call's products one by one, rounded if the plan says so. A product whose rounded operands do not fit in
/// memory runs unrounded; `plan` then gets the operands' own format and the reason scratch_limit.
void run_each(const Site& site, const Frame& frame, const Product& product, Plan& plan) {
    RoutineSet routines = routines_of(site);
    bool was_limited = false;
    for_each_product(site, frame, product, [&](const Level3& single) {
        if (plan.rounds && multiplies(single)) {
            const int saved_errno = errno;
            const auto result = emulate_with_routines(routines, single, plan.preview);
            errno = saved_errno;
            if (result == EmulationResult::done) return;
            was_limited = true;
        }
        call_by_role(&routines.same, single);
    });
    if (!was_limited) return;
    plan.applied = policy::native_format(product.call.dtype);
    plan.reason = policy::Reason::scratch_limit;
    if (!site.runs_batch_one_by_one()) plan.how = record::How::forward;
}

/// Runs a call as planned. Returns what the called function returns, or 0 if it was not called. If the call cannot
/// run as planned, changes `plan` to describe what was done instead.
std::int64_t run(const Site& site, Frame& frame, const Product& product, Plan& plan) {
    const RunningProduct outer = running;
    running = {site.provider, nullptr, &frame};
    std::int64_t value = 0;
    if (plan.has_fixed_order || plan.uses_bf16_units)
        run_each_here(site, frame, product, plan);
    else if (!plan.rounds && !site.runs_batch_one_by_one())
        value = call_with_frame(site, frame);
    else if (!product.readable)
        warn_invalid_arguments(site);
    else
        run_each(site, frame, product, plan);
    running = outer;
    return value;
}

/// The ways in which a call's result is examined.
struct ResultChecks {
    bool audits = false;        ///< the product is computed again, and the results are compared
    bool searches = false;      ///< the result is searched for NaN and infinity
    bool fingerprints = false;  ///< the result's hash and sketch are recorded

    bool any() const { return audits || searches || fingerprints; }
};

/// Runs a call as planned, and examines its result in the ways that `checks` names. Returns the same as run(). This
/// is a function of its own because an examined call needs more stack than other calls.
[[gnu::noinline]] std::int64_t run_and_check(const Site& site, Frame& frame, Product& product, Plan& plan,
                                             const audit::JudgedDecision& verdict, const Settings& in_force,
                                             ResultChecks checks) {
    std::optional<CallAudit> call_audit;
    if (checks.audits) call_audit.emplace(site, frame, product, plan, in_force.policy, verdict.tested);
    std::optional<NonfiniteSearch> search;
    if (checks.searches) search.emplace(site, frame, product);
    std::optional<record::OperandHashes> operands;
    if (checks.fingerprints) operands = hash_operands(site, frame, product);
    CallTime time;
    if (in_force.is_logging()) time.begin = current_call_time(in_force);
    const std::int64_t value = run(site, frame, product, plan);
    if (in_force.is_logging()) time.end = current_call_time(in_force);
    if (returns_in_registers(site)) product.read_returned_number(frame);
    record::Audit audits[3];
    std::size_t count = 0;
    if (call_audit) {
        const audit::QuietFloatEnvironment environment(audit::QuietFloatEnvironment::Settings::as_the_program);
        audits[count] = call_audit->finish();
        audit::store_audit_outcome(verdict, in_force.policy, audits[count++]);
    }
    const std::optional<record::Audit> nonfinite = search ? search->find_origin(plan) : std::nullopt;
    const bool is_first = nonfinite && end_nonfinite_search();
    if (is_first) audits[count++] = *nonfinite;
    const bool receives = search && search->first_received() && is_first_to_receive_nonfinite();
    if (receives) audits[count++] = *search->first_received();
    const auto fingerprint = checks.fingerprints ? fingerprint_call(site, frame, product) : std::nullopt;
    const ResultFindings found{std::span(audits, count), fingerprint ? &*fingerprint : nullptr,
                               operands ? &*operands : nullptr, checks.searches};
    if (in_force.is_logging()) record_call(site, in_force, product.call, verdict.decision, plan, &time, {}, &found);
    if (is_first) report_nonfinite(site, in_force, product.call, verdict.decision, plan, *nonfinite);
    if (receives) report_nonfinite(site, in_force, product.call, verdict.decision, plan, *search->first_received());
    return value;
}

/// Finds out how the provider returns numbers to Fortran callers, by calling the function that the call site calls.
/// Does nothing if the library may not be a BLAS, or if the answer does not matter for this function.
void probe_return_conventions(const Site& site, const Frame& frame, const Settings& in_force) {
    const IntegerWidth width = site.cpu.width.load(std::memory_order_relaxed);
    LoadedObject& provider = *site.provider;
    const auto probe = [&](void (*find)(LoadedObject&, void*)) {
        const RunningProduct outer = running;
        running = {site.provider, nullptr, &frame};  // calls that the probed function makes are not the program's
        find(provider, site.real);
        running = outer;
    };
    if (width == IntegerWidth::unknown || site.function->convention == CallingConvention::cblas) return;
    if (site.function->returns_complex()) {
        if (provider.complex_results.load(std::memory_order_relaxed) == ComplexResults::not_probed)
            probe(probe_complex_results);
    } else if (returns_fortran_float32(*site.function) &&
               runs_in_fixed_order(site.function->product(), in_force.policy)) {
        if (provider.real_results.load(std::memory_order_relaxed) == RealResults::not_probed)
            probe(probe_real_results);
    }
}

}  // namespace

bool needs_gate(Site& site, const Settings& in_force) {
    const ProductFamily& family = site.function->product();
    if (has_vector(family.operation) && !in_force.policy.log_vectors && !runs_in_fixed_order(family, in_force.policy))
        return false;
    if (in_force.is_logging() || in_force.examines_results()) return true;
    // Without a log, only calls that the shim may change need to pass through govern_call().
    if (runs_in_fixed_order(family, in_force.policy)) return true;
    if (family.treatment != Treatment::governed) return false;
    if (in_force.policy.cpu_mode == policy::CpuMode::off) return false;
    if (scopes_affect_decisions(in_force) || in_force.looks_at_sizes) return true;
    policy::MatmulCall call{.function = site.function->name, .caller = site.caller_name(), .scope = {}};
    call.dtype = site.function->product().dtype;
    return rounds_operands(decide_for_site(site, in_force, call), call.dtype);
}

CallOutcome govern_call(Site& site, Frame& frame, const Settings& in_force, std::uint32_t change_count,
                        bool is_inner_call) {
    if (site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::not_probed)
        site.cpu.width.store(probe_integer_width(*site.provider, *site.routine), std::memory_order_relaxed);
    if (site.function->returns_number()) probe_return_conventions(site, frame, in_force);
    const bool forwards = is_inner_call || in_force.forward_everything;
    const bool logs = in_force.is_logging() && !forwards;
    Product product;
    describe_call(site, frame, product);
    audit::JudgedDecision verdict{forwards ? policy::Decision{} : decide_for_site(site, in_force, product.call)};
    const bool is_double = policy::is_double(product.call.dtype);
    const bool may_audit = in_force.audits && !forwards && site.function->family->treatment == Treatment::governed &&
                           (is_double || policy::is_single(product.call.dtype));
    if (may_audit)
        verdict = audit::judge_decision(verdict.decision, audit::group_key(site, in_force, product.call),
                                        in_force.policy, is_double);
    const policy::Decision& decision = verdict.decision;
    Plan plan = plan_cpu_call(site, frame, product, decision, in_force.policy);
    if (plan.reason == policy::Reason::invalid_arguments && !site.runs_batch_one_by_one()) {
        // The library's xerbla_, which reports invalid arguments, may not return. So the call is recorded before it
        // runs, and the shim leaves no frame on the stack.
        if (logs) record_call(site, in_force, product.call, decision, plan, nullptr);
        return {0, site.real};
    }
    const std::uint64_t express = logs ? make_express_word(site, in_force, decision, change_count) : 0;
    const ExpressKey key{express == 0 ? 0 : express_key(site, frame, express, scope_key()), change_count};
    if (may_audit || in_force.finds_nonfinite || in_force.fingerprints) [[unlikely]] {
        const bool wants_float64 = verdict.tested || in_force.policy.audit_float64;
        const ResultChecks checks{
            may_audit && can_audit(site, frame, product, plan, wants_float64) &&
                audit::choose_for_audit(verdict, in_force.policy),
            in_force.searches_for_nonfinite() && !forwards && has_examinable_result(product, plan),
            in_force.fingerprints && !forwards && has_examinable_result(product, plan)};
        if (checks.any()) return {run_and_check(site, frame, product, plan, verdict, in_force, checks), nullptr};
    }
    CallTime time;
    if (logs) time.begin = current_call_time(in_force);
    const std::int64_t value = run(site, frame, product, plan);
    if (logs) {
        time.end = current_call_time(in_force);
        record_call(site, in_force, product.call, decision, plan, &time, key);
        site.cpu.express.store(express, std::memory_order_relaxed);
    }
    return {value, nullptr};
}

}  // namespace fp32shim::blas
