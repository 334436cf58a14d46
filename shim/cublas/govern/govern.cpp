#include "shim/cublas/govern/govern.hpp"

#include <algorithm>

#include "shim/cublas/audit/run_audited.hpp"
#include "shim/cublas/environment.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/torch_guard.hpp"
#include "shim/loader/provider.hpp"
#include "shim/thread/running.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the library's equivalent function that takes a compute type and has the same width of integers, or nullptr
/// if there is none.
void* find_with_compute_type(const Site& site) {
    const Function& function = *site.function;
    const ProductFamily* typed = function.multiplies() ? function.product().with_compute_type : nullptr;
    return typed == nullptr ? nullptr
                            : find_symbol_in(*site.provider, functions[find_function(*typed, function.form)].name);
}

/// Returns true if the settings may change a call, so that each call has to be planned even if no call is recorded.
bool may_change_calls(const Settings& in_force) {
    const policy::Policy& policy = in_force.policy;
    return policy.default_precision != policy::Precision::native || policy.floor != policy::Floor::none ||
           !policy.rules.empty() || in_force.limits_algorithms || in_force.changes_accumulation ||
           process_precision() || process_floor() != policy::Floor::none || scopes_set_precisions();
}

/// Runs a function that reports or changes the state of a handle. Holds the handle's lock for that, so that the
/// program never reads or replaces a math mode that the shim has set for a product.
CallOutcome run_state_function(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count) {
    const StateEffect effect = site.function->state().effect;
    if (effect == StateEffect::algorithms_found)
        return govern_lt_algorithm_search(site, frame, in_force, change_count);
    if (effect == StateEffect::algorithm_checked) return govern_lt_algorithm_check(site, frame);
    if (effect == StateEffect::handle_created) {
        const std::int32_t status = call_as_called(site, frame);
        const auto* created = reinterpret_cast<const Handle*>(frame.word(0));
        if (status == status_success && created != nullptr) on_handle_created(*created);
        return {status, nullptr};
    }
    const auto handle = reinterpret_cast<Handle>(frame.word(0));
    if (effect == StateEffect::handle_destroyed) {
        on_handle_destroyed(handle);
        const std::int32_t status = call_as_called(site, frame);
        if (status != status_success) on_destroy_failed(handle);
        return {status, nullptr};
    }
    HandleRecord* record = live_record_of(handle);
    const HandleLockGuard guard(record);
    if (record == nullptr) return {call_as_called(site, frame), nullptr};
    if (effect == StateEffect::math_mode_set && site.cublas.library->set_math_mode != nullptr)
        return {set_program_math_mode(*record, *site.cublas.library, static_cast<std::int32_t>(frame.word(1))),
                nullptr};
    const std::int32_t status = call_as_called(site, frame);
    // A logging callback of the program may ask for the math mode while the shim runs a product in another mode. It
    // gets the program's mode.
    if (effect == StateEffect::math_mode_read && status == status_success && record->runs_under_other_mode)
        *reinterpret_cast<std::int32_t*>(frame.word(1)) = record->program_mode;
    return {status, nullptr};
}

/// Begins to time a call on the GPU if a measurement is due. Precondition: the handle's lock is held.
[[gnu::noinline]] void measure(const Site& site, const Product& product, const Settings& in_force,
                               const policy::MatmulCall& call, GpuTimedCall& time) {
    const Library& library = *site.cublas.library;
    Stream stream = nullptr;
    if (time.is_due(site, in_force, call) && product.handle != nullptr && library.get_stream != nullptr &&
        library.get_stream(product.handle->address(), &stream) == status_success)
        time.begin_timing(stream);
}

inline bool multiplies_nothing(const Site& site, const Frame& frame, const Product& product) {
    return product.handle != nullptr && !site.cublas.route->multiplies(frame, site.function->width == Width::ilp64);
}

/// Runs a call while audits are on. This is a separate function, because an audited call needs more stack than other
/// calls.
[[gnu::noinline]] CallOutcome govern_with_audits(Site& site, const Frame& frame, const Product& product,
                                                 const Settings& in_force, HandleLockGuard& guard) {
    policy::MatmulCall call;
    describe_sizes(site, frame, product, call);
    AuditedBatch singles;
    AuditLauncher launcher{site, frame, product, set_up_cublas_launcher, launch_by_cublas};
    const bool is_nothing = multiplies_nothing(site, frame, product);
    const bool may_audit = !is_nothing && singles.read_arguments(site, frame, product);
    GpuTimedCall time;
    const AuditedRun done = run_audited(site, launcher, may_audit ? &singles : nullptr, is_nothing, call, in_force,
                                        [&](const Plan& plan, ExecutionOutcome& done_so_far) {
                                            if (!is_nothing && !GpuTimedCall::is_passed_over(site, in_force, call))
                                                measure(site, product, in_force, call, time);
                                            return run_timed(site, frame, in_force, done_so_far, time, [&] {
                                                return run_as_planned(site, frame, product, plan, done_so_far);
                                            });
                                        });
    guard.release();
    if (in_force.is_logging()) record_audited(site, in_force, call, done, time);
    return {done.status, nullptr};
}

/// Warns, once per process, that the search for NaN and infinity does not examine products of this call site's
/// function.
void warn_not_searched(const Site& site) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[256];
    system::LineWriter line(buffer);
    line.texts("audit: nonfinite: ", site.function->name, ": products on a GPU are not checked for NaN and infinity");
    system::stderr_line(line.view());
}

}  // namespace

bool governs_float64(const Settings& in_force) {
    return std::ranges::any_of(in_force.policy.rules, [](const policy::Rule& rule) {
        return (rule.precision == policy::Precision::fp64 || rule.precision == policy::Precision::fp64_emulated) &&
               std::ranges::any_of(rule.when.dtype, policy::is_double);
    });
}

void bind_site(Site& site) {
    const bool is_state = !site.function->multiplies();
    refresh_environment_in_force(is_state && site.function->state().effect == StateEffect::handle_created);
    find_torch_guard(site);
    site.cublas.library = library_of(*site.provider);
    site.cublas.route = route_of(*site.function->family);
    site.cublas.with_compute_type = find_with_compute_type(site);
    // libcublas calls cublasLt, even from threads of its own. Calls between these libraries never count as the
    // program's.
    if (is_cublas_library(site.caller)) site.is_blas = false;
}

bool needs_gate(const Site& site, const Settings& in_force) {
    if (in_force.searches_for_nonfinite() && site.function->multiplies()) warn_not_searched(site);
    if (!site.function->multiplies()) return true;
    if (site.function->product().control == FormatControl::lt_matmul && has_changed_searches()) return true;
    if (in_force.is_logging()) return true;
    const policy::Dtype dtype = site.function->product().dtype;
    if (policy::is_half(dtype)) return in_force.policy.changes_accumulation();
    const bool is_float64 = policy::is_double(dtype);
    return site.function->family->treatment == Treatment::governed &&
           (is_float64 ? governs_float64(in_force) : may_change_calls(in_force));
}

CallOutcome govern_call(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count) {
    const CallOutcome untouched{0, site.real};
    if (!site.function->multiplies()) return run_state_function(site, frame, in_force, change_count);
    if (site.function->product().control == FormatControl::lt_matmul)
        return govern_lt_matmul(site, frame, in_force, change_count);

    const bool logs = in_force.is_logging();
    Product product = describe_product(site, frame);
    if (product.treatment == OperandTreatment::ignored) return untouched;
    const auto in_words = [&](policy::MatmulCall& call) { describe_sizes(site, frame, product, call); };
    if (site.cublas.route == nullptr) {  // this function belongs to the interface before version 2, and its arguments
                                         // can only be passed on by a jump
        const Plan plan = plan_call(site, product, in_force, in_words);
        if (!logs) return untouched;
        policy::MatmulCall call;
        in_words(call);
        record_call(site, in_force, call, plan.decision, done_as_planned(site, plan), nullptr);
        return untouched;
    }
    HandleLockGuard guard(product.handle);  // no other thread changes the handle's math mode before the call ends
    describe_requested_precision(site, frame, settings_key(change_count, in_force.generation), product);
    if (may_be_guarded(site) && is_inside_torch_guard()) {
        product.is_guarded = true;
        product.key = key_unknown;  // no plan is kept, since the next call from this call site may come from outside
                                    // the guard
    }
    const Plan* const kept = kept_plan(site, product);
    if (kept == nullptr && in_force.audits) return govern_with_audits(site, frame, product, in_force, guard);
    Plan plan = kept != nullptr ? *kept : make_and_keep_plan(site, product, in_force, in_words);
    const bool is_nothing = multiplies_nothing(site, frame, product);
    if (is_nothing) plan = plan_for_call_without_product(plan);
    ExecutionOutcome done = done_as_planned(site, plan);
    GpuTimedCall time;
    policy::MatmulCall call;
    if (logs) {
        in_words(call);
        if (!is_nothing && !GpuTimedCall::is_passed_over(site, in_force, call))
            measure(site, product, in_force, call, time);
    }
    const std::int32_t status = run_timed(site, frame, in_force, done, time,
                                          [&] { return run_as_planned(site, frame, product, plan, done); });
    guard.release();
    if (logs) {
        done.status = status;
        record_call(site, in_force, call, plan.decision, done, &time,
                    express_key_after(site, frame, product, plan, done, change_count));
    }
    return {status, nullptr};
}

}  // namespace fp32shim::cublas
