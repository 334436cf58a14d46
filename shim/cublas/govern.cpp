#include "shim/cublas/govern.hpp"

#include "shim/cublas/environment.hpp"
#include "shim/cublas/lt.hpp"
#include "shim/cublas/plan.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/decision.hpp"
#include "shim/loader/provider.hpp"
#include "shim/running.hpp"
#include "shim/thread_context.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Reason;

/// The function that does the same with a compute type, in the same width, or nullptr.
void* find_with_compute_type(const Site& site) {
    const Function& function = *site.function;
    const ProductFamily* typed = function.multiplies() ? function.product().with_compute_type : nullptr;
    return typed == nullptr ? nullptr : find_in(*site.provider, functions[find_function(*typed, function.form)].name);
}

/// Whether something may change a call, so that calls have to be looked at even if nobody logs them.
bool governs(const Settings& in_force) {
    const policy::Policy& policy = in_force.policy;
    return policy.default_precision != policy::Precision::native || policy.floor != policy::Floor::none ||
           !policy.rules.empty() || process_precision() || process_floor() != policy::Floor::none || scopes_in_use();
}

// ---- run ---------------------------------------------------------------------------------------------------------

std::int32_t call_as_called(const Site& site, const Frame& frame) {
    return static_cast<std::int32_t>(site.route->as_called(site.real, frame));
}

std::int32_t call_with_compute_type(const Site& site, const Frame& frame, const Change& change) {
    return static_cast<std::int32_t>(site.route->with_compute_type(site.with_compute_type, frame,
                                                                   {change.compute_type, change.replaces_algorithm}));
}

std::int32_t run_change(const Site& site, const Frame& frame, const Product& product, const Change& change) {
    const auto call = [&] {
        return change.how == record::How::compute_type ? call_with_compute_type(site, frame, change)
                                                       : call_as_called(site, frame);
    };
    if (change.math_mode < 0 || product.handle == nullptr) return call();  // only a known handle's mode is changed
    return call_under_math_mode(*product.handle, *site.library, change.math_mode, call);
}

/// Runs the plan. `done` is what came of it: a call that the library refuses is made again as the program made it.
std::int32_t run(const Site& site, const Frame& frame, const Product& product, const Plan& plan, Done& done) {
    const Change& change = plan.change;
    std::int32_t status = run_change(site, frame, product, change);
    if (change.how == record::How::forward || !is_refusal(status)) return status;
    // What was to be raised can be raised by the math mode too, if it has no compute type of its own.
    if (change.how == record::How::compute_type && change.format > plan.asked && product.asked.compute_type == 0) {
        status = run_change(site, frame, product, by_math_mode(change));
        if (!is_refusal(status)) {
            done.how = record::How::math_mode;
            return status;
        }
    }
    status = call_as_called(site, frame);
    const bool is_invalid = is_refusal(status) && status != status_alloc_failed;
    done = done_unchanged(site, plan, is_invalid ? Reason::invalid_arguments : Reason::library_refused);
    return status;
}

// ---- record ------------------------------------------------------------------------------------------------------

template <class Describe>
void write_down(const Site& site, const Settings& in_force, const Plan& plan, const Done& done, const CallTime* time,
                const Describe& describe, ExpressKey key = {}) {
    policy::MatmulCall call;
    describe(call);
    record_call(site, in_force, call, plan.decision, done, time, key);
}

/// Under which a recording knows successful calls like this one, which run as the kept plan says.
std::uint64_t express_key(const Site& site, const Frame& frame, std::uint64_t kept, const HandleRecord& handle) {
    constexpr std::uint64_t random[] = {0xd1342543de82ef95, 0x2127599bf4325c37, 0x880355f21e6d1965};
    const std::uint64_t salt =
        site.number * random[0] + kept * random[1] +
        static_cast<std::uint32_t>(handle.device.load(std::memory_order_relaxed).index) * random[2];
    return argument_key(site.keyed, frame, site.function->width == Width::ilp64, salt);
}

/// The same, after a call that took the long way; none where later ones will have to take it too.
ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const Done& done, std::uint32_t change_count) {
    constexpr std::uint64_t lane = express_bit | recorded_bit;
    const std::uint64_t kept = site.plan.load(std::memory_order_acquire);
    const bool is_kept = (kept & lane) == lane && product.handle != nullptr && (kept & key_mask) == product.key &&
                         interned_plan(kept >> number_shift & number_mask) == plan;
    if (!is_kept || site.keyed.count == 0 || done.status != status_success || done.how != plan.change.how ||
        done.reason != plan.reason)
        return {};
    return {express_key(site, frame, kept, *product.handle), change_count};
}

// ---- state -------------------------------------------------------------------------------------------------------

/// Functions that say or change what a handle is. They run as called, under the handle's lock: so the program never
/// sees a math mode that is not its own, and never loses one that it sets.
Outcome follow_state(Site& site, const Frame& frame, const Settings& in_force) {
    const Effect effect = site.function->state().effect;
    if (effect == Effect::algorithms_found) return govern_lt_heuristic(site, frame, in_force);
    if (effect == Effect::algorithm_checked) return govern_lt_check(site, frame);
    if (effect == Effect::handle_created) {
        const std::int32_t status = call_as_called(site, frame);
        const auto* created = reinterpret_cast<const Handle*>(frame.word(0));
        if (status == status_success && created != nullptr) note_handle_created(*created);
        return {status, nullptr};
    }
    const auto handle = reinterpret_cast<Handle>(frame.word(0));
    if (effect == Effect::handle_destroyed) {
        note_handle_destroyed(handle);
        const std::int32_t status = call_as_called(site, frame);
        if (status != status_success) note_handle_kept(handle);
        return {status, nullptr};
    }
    HandleRecord* record = find_handle(handle);
    const HandleLockGuard guard(record);
    if (record == nullptr) return {call_as_called(site, frame), nullptr};
    if (effect == Effect::math_mode_set && site.library->set_math_mode != nullptr)
        return {set_program_math_mode(*record, *site.library, static_cast<std::int32_t>(frame.word(1))), nullptr};
    const std::int32_t status = call_as_called(site, frame);
    // A logging callback of the program's, called out of a product that runs under another mode.
    if (effect == Effect::math_mode_read && status == status_success && record->runs_under_other_mode)
        *reinterpret_cast<std::int32_t*>(frame.word(1)) = record->program_mode;
    return {status, nullptr};
}

}  // namespace

bool is_refusal(std::int32_t status) {
    return status == status_alloc_failed || status == status_invalid_value || status == status_arch_mismatch ||
           status == status_not_supported;
}

void bind(Site& site) {
    refresh_environment();
    site.library = library_of(*site.provider);
    site.route = route_of(*site.function->family);
    site.with_compute_type = find_with_compute_type(site);
    // libcublas calls cublasLt, also from threads of its own: always inner.
    if (is_cublas_library(site.caller)) site.is_blas = false;
}

bool needs_gate(const Site& site, const Settings& in_force) {
    if (!site.function->multiplies()) return true;
    if (site.function->product().road == Road::lt_matmul && has_changed_searches()) return true;
    if (in_force.logs()) return true;
    return site.function->family->treatment == Treatment::governed && governs(in_force);
}

Outcome govern(Site& site, const Frame& frame) {
    const Outcome untouched{0, site.real};
    obey_waiting_command();
    // Counted before the settings are looked at.
    const std::uint32_t change_count = settings_change_count();
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return untouched;
    if (is_inner(site, &frame)) {
        running.delegate = site.provider;
        return untouched;
    }
    if (!site.function->multiplies()) return follow_state(site, frame, in_force);
    if (site.function->product().road == Road::lt_matmul) return govern_lt_matmul(site, frame, in_force);

    const bool logs = in_force.logs();
    Product product = describe(site, frame);
    if (product.counted == Counted::not_at_all) return untouched;
    const auto in_words = [&](policy::MatmulCall& call) { describe_sizes(site, frame, product, call); };
    if (site.route == nullptr) {  // from before version 2: with arguments that only a jump passes on
        const Plan plan = plan_call(site, product, in_force, in_words);
        if (logs) write_down(site, in_force, plan, done_by(site, plan), nullptr, in_words);
        return untouched;
    }
    Plan plan;
    Done done;
    std::int32_t status = 0;
    CallTime time;
    {
        // From here to the end of the call nobody changes the handle's math mode.
        const HandleLockGuard guard(product.handle);
        describe_request(site, frame, settings_key(static_cast<std::uint16_t>(change_count), in_force.id), product);
        plan = plan_call(site, product, in_force, in_words);
        if (product.handle != nullptr && !site.route->multiplies(frame, site.function->width == Width::ilp64))
            plan = plan_for_nothing(plan);
        done = done_by(site, plan);
        const Running outer = running;
        running = {site.provider, nullptr, &frame};
        if (logs) time.begin = time_now(in_force);
        status = run(site, frame, product, plan, done);
        if (logs) time.end = time_now(in_force);
        running = outer;
    }
    if (logs) {
        done.status = status;
        write_down(site, in_force, plan, done, &time, in_words,
                   express_key_after(site, frame, product, plan, done, change_count));
    }
    return {status, nullptr};
}

namespace {

/// A call on the express lane that is recorded. False: it has to take the long way, though the library may have
/// refused it once.
bool run_recorded(Site& site, const Frame& frame, std::uint64_t kept, const HandleRecord& handle,
                  const Change& change, std::int32_t& status) {
    const ThreadContext* context = existing_thread_context();
    if (context == nullptr || context->writer_change_count != settings_change_count() ||
        context->recording->has_command())
        return false;
    // The plan's rule is a number of these settings' rules, whatever is in force when the call has returned.
    const Settings& in_force = settings();
    if ((kept & settings_id_mask) != (settings_key(0, in_force.id) & settings_id_mask)) return false;
    record::Recording& recording = *context->recording;
    record::ThreadWriter& writer = *context->writer;
    const std::uint64_t key = express_key(site, frame, kept, handle);
    if (!record::Recording::knows(writer, key)) return false;
    const bool is_timed = recording.times_next(writer, key);
    const std::uint64_t begin = is_timed ? record::ticks() : record::Recording::not_timed;
    const bool is_forwarded = change.how == record::How::forward;
    status = is_forwarded ? call_as_called(site, frame) : call_with_compute_type(site, frame, change);
    if (is_refusal(status) && !is_forwarded) return false;
    if (!is_timed && status == status_success && recording.count_untimed(writer, key, context->writes_every_call))
        return true;
    const std::uint64_t end = record::ticks();
    const auto describe = [&](record::DecisionEvent& event) {
        const Plan& plan = interned_plan(kept >> number_shift & number_mask);
        Done done = done_by(site, plan);
        done.status = status;
        policy::MatmulCall call;
        describe_sizes(site, frame, fp32shim::cublas::describe(site, frame), call);
        event = decision_event(site, in_force, call, plan.decision, done);
    };
    // Each status has a row of its own.
    const std::uint64_t row_key = status == status_success ? key : system::Hash().add(key).add(status).value();
    recording.count(writer, row_key, begin, end, context->writes_every_call, describe);
    return true;
}

}  // namespace
}  // namespace fp32shim::cublas

/// The express lane: where a plan is kept for a call like this, and all that matters is a compute type, there is
/// nothing else to do but to count it where calls are recorded. A refusal goes the long way: the library has launched
/// nothing.
extern "C" fp32shim::Outcome fp32shim_govern_cublas(fp32shim::Site* site, const fp32shim::Frame* frame) {
    using namespace fp32shim;
    using namespace fp32shim::cublas;
    const std::uint64_t kept = site->plan.load(std::memory_order_acquire);
    if ((kept & express_bit) != 0 && running.provider == nullptr) {
        const Route& route = *site->route;
        const HandleRecord* handle = record_of(reinterpret_cast<Handle>(frame->word(0)));
        const std::uint64_t key = handle == nullptr
                                      ? key_unknown
                                      : join(static_cast<std::uint16_t>(settings_change_count()),
                                             handle->key.load(std::memory_order_relaxed), route.key(*frame));
        if ((kept & key_mask & ~settings_id_mask) == key &&
            route.multiplies(*frame, site->function->width == Width::ilp64)) {
            const Change& change = interned_plan(kept >> number_shift & number_mask).change;
            if ((kept & recorded_bit) != 0) {
                std::int32_t status = 0;
                if (run_recorded(*site, *frame, kept, *handle, change, status)) return {status, nullptr};
                return govern(*rebound_site(site), *frame);
            }
            if (change.how == record::How::forward) return {0, site->real};
            const std::int32_t status = call_with_compute_type(*site, *frame, change);
            if (!is_refusal(status)) return {status, nullptr};
        }
    }
    return govern(*rebound_site(site), *frame);
}
