#include "shim/cublas/govern.hpp"

#include "shim/cublas/lt.hpp"
#include "shim/cublas/product.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/decision.hpp"
#include "shim/provider.hpp"
#include "shim/running.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Reason;

/// libcublas calls cublasLt, also from threads of its own: always inner.
bool is_cublas_library(const LoadedObject* object) {
    return object != nullptr &&
           (object->name.starts_with("libcublas.so") || object->name.starts_with("libcublasLt.so"));
}

/// cuSOLVER refines what it gets, and relies on more precision than its products seem to need.
constexpr std::string_view solver = "libcusolver";

/// The function that does the same with a compute type, in the same width, or nullptr.
void* find_with_compute_type(const Site& site) {
    char name[64]{};
    std::size_t size = 0;
    const std::string_view form = site.function->family->with_compute_type;
    if (form.empty()) return nullptr;
    for (char letter : form) name[size++] = letter;
    if (site.function->width == Width::ilp64)
        for (char letter : std::string_view("_64")) name[size++] = letter;
    return find_in(*site.provider, {name, size});
}

/// Whether something may change a call, so that calls have to be looked at even if nobody logs them.
bool governs(const Settings& in_force) {
    const policy::Policy& policy = in_force.policy;
    return policy.default_precision != policy::Precision::native || policy.floor != policy::Floor::none ||
           !policy.rules.empty() || process_precision() || process_floor() != policy::Floor::none || scopes_in_use();
}

// ---- plan --------------------------------------------------------------------------------------------------------

struct Plan : Done {
    Change change;
    Format as_called = Format::fp32;
};

Plan make_plan(const Site& site, const Frame& frame, const Product& product, const policy::Decision& decision,
               const Settings& in_force) {
    const Family& family = *site.function->family;
    Plan plan;
    if (product.counted == Counted::observed) {
        plan.reason = Reason::observed;
    } else if (family.treatment == Treatment::recognised) {
        plan.reason = Reason::not_governable;
    } else if (product.handle == nullptr) {
        plan.reason = Reason::unknown_handle;
    } else if (!is_known(product.asked)) {
        plan.reason = Reason::unknown_value;
    } else if (!multiplies(site, frame)) {
        plan.applied = policy::Applied::fp32;
        plan.reason = Reason::no_product;
    } else {
        const Restraints restraints = restraints_of(site, decision, in_force.policy);
        plan.as_called = asked_format(product.asked, in_force.cuda);
        plan.change = plan_change(product.asked, in_force.cuda, restraints, decision, floor_for(decision, in_force),
                                  in_force.policy);
        plan.how = plan.change.how;
        tell(plan, plan.change.format, plan.change.reason, in_force.cuda);
    }
    return plan;
}

// ---- run ---------------------------------------------------------------------------------------------------------

/// What the handle's math mode decides, also while it is another than the program's.
bool depends_on_math_mode(std::int32_t compute_type) { return compute_type == 0 || compute_type == compute_32f; }

std::int32_t call_as_called(const Site& site, const Frame& frame) {
    return static_cast<std::int32_t>(site.route->as_called(site.real, frame));
}

std::int32_t call_with_compute_type(const Site& site, const Frame& frame, const Product& product,
                                    const Change& change) {
    const std::int32_t data_type = product.dtype == policy::Dtype::complex64 ? type_c_32f : type_r_32f;
    return static_cast<std::int32_t>(site.route->with_compute_type(
        site.with_compute_type, frame, {data_type, change.compute_type, change.algorithm}));
}

/// With the lock held: calls under another math mode, which only bits 0 to 2 of the program's make way for.
template <class Call>
std::int32_t call_under_math_mode(const Site& site, HandleRecord& handle, std::int32_t choice, const Call& call) {
    const Handle address = handle.handle.load(std::memory_order_relaxed);
    const std::int32_t own = handle.math_mode.load(std::memory_order_relaxed);
    const std::int32_t wanted = (own & ~math_choice) | choice;
    if (site.library->set_math_mode == nullptr || site.library->set_math_mode(address, wanted) != status_success)
        return status_not_supported;
    const std::int32_t status = call();
    // Read again: a logging callback of the program's may have set another.
    site.library->set_math_mode(address, handle.math_mode.load(std::memory_order_relaxed));
    return status;
}

std::int32_t run_change(const Site& site, const Frame& frame, const Product& product, const Change& change) {
    const auto call = [&] {
        return change.how == record::How::compute_type ? call_with_compute_type(site, frame, product, change)
                                                       : call_as_called(site, frame);
    };
    const bool needs_lock = change.math_mode >= 0 ||
                            depends_on_math_mode(change.how == record::How::compute_type ? change.compute_type
                                                                                         : product.asked.compute_type);
    const HandleLockGuard guard(needs_lock ? product.handle : nullptr);
    return change.math_mode >= 0 ? call_under_math_mode(site, *product.handle, change.math_mode, call) : call();
}

/// Runs the plan; what could not be done as planned is corrected in it.
std::int32_t run(const Site& site, const Frame& frame, const Product& product, const Settings& in_force, Plan& plan) {
    const Running outer = running;
    running = {site.provider, nullptr, &frame};
    std::int32_t status = run_change(site, frame, product, plan.change);
    if (plan.how != record::How::forward && is_refusal(status)) {
        status = run_change(site, frame, product, {});
        plan.how = record::How::forward;
        tell(plan, plan.as_called, status == status_success ? Reason::library_refused : Reason::invalid_arguments,
             in_force.cuda);
    }
    running = outer;
    return status;
}

// ---- state -------------------------------------------------------------------------------------------------------

/// Functions that say or change what a handle is. They run as called, under the handle's lock: so the program never
/// sees a math mode that is not its own, and never loses one that it sets.
Outcome follow_state(const Site& site, const Frame& frame) {
    const Road road = site.function->family->road;
    if (road == Road::handle_created) {
        const std::int32_t status = call_as_called(site, frame);
        const auto* created = reinterpret_cast<const Handle*>(frame.word(0));
        if (status == status_success && created != nullptr) note_handle_created(*created);
        return {status, nullptr};
    }
    const auto handle = reinterpret_cast<Handle>(frame.word(0));
    if (road == Road::handle_destroyed) {
        note_handle_destroyed(handle);
        const std::int32_t status = call_as_called(site, frame);
        if (status != status_success) note_handle_kept(handle);
        return {status, nullptr};
    }
    HandleRecord* record = find_handle(handle, *site.library);
    const bool is_inside_own_product = record != nullptr && record->lock->is_held_by_this_thread();
    const HandleLockGuard guard(record);
    const std::int32_t status = call_as_called(site, frame);
    if (status != status_success || record == nullptr) return {status, nullptr};
    if (road == Road::math_mode_set)
        record->math_mode.store(static_cast<std::int32_t>(frame.word(1)), std::memory_order_relaxed);
    // A logging callback of the program's, called out of a product that runs under our mode.
    if (road == Road::math_mode_read && is_inside_own_product)
        *reinterpret_cast<std::int32_t*>(frame.word(1)) = record->math_mode.load(std::memory_order_relaxed);
    return {status, nullptr};
}

}  // namespace

void tell(Done& done, Format format, Reason reason, const Environment& environment) {
    const Format effect = in_effect(format, environment);
    done.applied = applied_of(effect);
    done.reason = effect != format && reason == Reason::as_requested ? Reason::tf32_override : reason;
    if (effect == Format::bf16x9 && environment.emulates_fp32) done.detail = "CUBLAS_EMULATE_SINGLE_PRECISION=1";
}

bool is_refusal(std::int32_t status) {
    return status == status_invalid_value || status == status_arch_mismatch || status == status_not_supported;
}

bool vouches_for_alignment(const policy::Decision& decision, const policy::Policy& policy) {
    return decision.rule >= 0 && policy.rules[static_cast<std::size_t>(decision.rule)].assume_aligned;
}

Restraints restraints_of(const Site& site, const policy::Decision& decision, const policy::Policy& policy) {
    Restraints restraints;
    const Batching batching = site.function->family->batching;
    if (batching == Batching::pointers || batching == Batching::groups)
        restraints.pointers_may_be_unaligned = !vouches_for_alignment(decision, policy);
    if (site.is_of_solver) {
        restraints.is_of_solver = true;
        if (decision.rule >= 0)
            for (const std::string& caller : policy.rules[static_cast<std::size_t>(decision.rule)].when.caller)
                if (caller.starts_with(solver)) restraints.is_of_solver = false;
    }
    return restraints;
}

policy::Floor floor_for(const policy::Decision& decision, const Settings& in_force) {
    return decision.precision == policy::Precision::native ? floor_in_force(in_force) : policy::Floor::none;
}

void bind(Site& site) {
    site.library = library_of(*site.provider);
    site.route = route_of(*site.function->family);
    site.with_compute_type = find_with_compute_type(site);
    site.is_of_solver = site.caller_name().starts_with(solver);
    if (is_cublas_library(site.caller)) site.is_blas = false;
}

bool needs_gate(const Site& site, const Settings& in_force) {
    const Treatment treatment = site.function->family->treatment;
    if (treatment == Treatment::state) return true;
    if (in_force.logs()) return true;
    return treatment == Treatment::governed && governs(in_force);
}

Outcome govern(Site& site, const Frame& frame) {
    const Outcome untouched{0, site.real};
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return untouched;
    const Family& family = *site.function->family;
    if (is_inner(site, &frame)) {
        running.delegate = site.provider;
        return untouched;
    }
    if (family.road == Road::lt_matmul) return govern_lt_matmul(site, frame, in_force);
    if (family.road == Road::lt_heuristic) return govern_lt_heuristic(site, frame, in_force);
    if (family.treatment == Treatment::state) return follow_state(site, frame);

    const bool logs = in_force.logs();
    const Product product = describe(site, frame);
    if (product.counted == Counted::not_at_all) return untouched;
    const auto in_words = [&](policy::MatmulCall& call) { describe_sizes(site, frame, product, call); };
    const policy::Decision decision =
        decide_call(site, in_force, product.dtype, product.asked.compute_capability, in_words);
    Plan plan = make_plan(site, frame, product, decision, in_force);
    if (site.route == nullptr) {  // from before version 2: with arguments that only a jump passes on
        policy::MatmulCall call;
        in_words(call);
        if (logs) record_call(site, in_force, call, decision, plan, -1);
        return untouched;
    }
    const std::int64_t started = logs ? now_ns() : 0;
    const std::int32_t status = run(site, frame, product, in_force, plan);
    if (logs) {
        const std::int64_t host_ns = now_ns() - started;
        plan.status = status;
        policy::MatmulCall call;
        in_words(call);
        record_call(site, in_force, call, decision, plan, host_ns);
    }
    return {status, nullptr};
}

}  // namespace fp32shim::cublas
