// The express lane: the short path of a cuBLAS call whose call site keeps a plan that changes at most the compute
// type. The lane runs the call, and counts it if calls are recorded, but does not decide it again. If the library
// refuses the call, it has launched nothing, and fp32shim_govern() plans the call again.
#include "record/write/count_call.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/entry/gate.hpp"
#include "shim/thread/running.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the key of the recording's row that counts successful calls from this call site with these arguments, by
/// the same plan, on this device and inside a scope with the key `scope`. `kept` is the value of CublasSite::plan.
std::uint64_t express_key(const Site& site, const Frame& frame, std::uint64_t kept, const HandleRecord& handle,
                          std::uint64_t scope) {
    constexpr std::uint64_t random[] = {0x2127599bf4325c37, 0x880355f21e6d1965};
    const std::uint64_t salt =
        site.number + kept * random[0] + scope +
        static_cast<std::uint32_t>(handle.device.load(std::memory_order_relaxed).index) * random[1];
    return argument_key(site.keyed, frame, site.function->width == Width::ilp64, salt);
}

const Plan& plan_of(std::uint64_t kept) { return plan_by_number(kept >> number_shift & number_mask); }

/// Runs and records a call by the plan that its call site keeps. `kept` is the value of CublasSite::plan. Stores the
/// library's status in `status`. Returns false if the call must be planned and run again, because the settings have
/// changed, the recording lacks a row for the call, or the library refused the call.
bool run_recorded(Site& site, const Frame& frame, std::uint64_t kept, const HandleRecord& handle,
                  const CallChange& change, std::int32_t& status) {
    ThreadContext* const context = existing_thread_context();
    if (context == nullptr || context->writer_change_count != settings_change_count() ||
        context->recording->has_command())
        return false;
    // The plan refers to its rule by an index into these settings. A variable holds them, since settings() may return
    // other ones when the call has returned.
    const Settings& in_force = settings();
    if ((kept & generation_mask) != settings_key(0, in_force.generation)) return false;
    record::Recording& recording = *context->recording;
    record::ThreadWriter& writer = *context->writer;
    std::uint64_t key = express_key(site, frame, kept, handle, context->scopes.key());
    if (in_force.distinguishes_call_paths()) key = where::combined_row_key(key, where::location_key(in_force));
    const record::Recording::CallsOfKey counted = recording.calls_of_key(writer, key);
    if (!counted.is_known) return false;
    // A call that is to be timed on its GPU leaves the express lane, since the timer needs the handle's stream.
    if (in_force.gpu_times != 0 && context->measures_next_call(counted.calls)) return false;
    const bool is_timed = counted.times_next;
    const std::uint64_t begin = is_timed ? record::ticks() : record::Recording::not_timed;
    const bool is_forwarded = change.how == record::How::forward;
    if (in_force.asks_kernels) {
        running = {site.provider, nullptr, &frame};
        note_permitted_format(frame, done_as_planned(site, plan_of(kept)).applied);
    }
    status = is_forwarded ? call_as_called(site, frame) : call_with_compute_type(site, frame, change);
    if (in_force.asks_kernels) running = {};  // no product was running before this call
    if (is_refusal(status) && !is_forwarded) return false;
    if (!is_timed && status == status_success && recording.count_untimed(writer, key, context->writes_every_call))
        return true;
    const std::uint64_t end = record::ticks();
    where::CallLocation location(in_force.distinguishes_call_paths() ? __builtin_alloca(sizeof(where::LocationBuffer))
                                                                     : nullptr);
    const auto describe_call = [&](record::DecisionEvent& event) {
        const Plan& plan = plan_of(kept);
        ExecutionOutcome done = done_as_planned(site, plan);
        done.status = status;
        policy::MatmulCall call;
        describe_sizes(site, frame, describe_product(site, frame), call);
        event = decision_event(site, in_force, call, plan.decision, done, location);
    };
    // Failed calls are counted in one row of the recording for each status.
    const std::uint64_t row_key = status == status_success ? key : system::Hash().add(key).add(status).value();
    recording.count(writer, row_key, begin, end, context->writes_every_call, describe_call);
    return true;
}

}  // namespace

ExpressKey express_key_after(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                             const ExecutionOutcome& done, std::uint32_t change_count) {
    constexpr std::uint64_t lane = express_bit | recorded_bit;
    const std::uint64_t kept = site.cublas.plan.load(std::memory_order_acquire);
    const bool is_kept = (kept & lane) == lane && product.handle != nullptr && (kept & key_mask) == product.key &&
                         plan_of(kept) == plan;
    if (!is_kept || site.keyed.count == 0 || done.status != status_success || done.how != plan.change.how ||
        done.reason != plan.reason)
        return {};
    return {express_key(site, frame, kept, *product.handle, scope_key()), change_count};
}

}  // namespace fp32shim::cublas

extern "C" fp32shim::CallOutcome fp32shim_govern_cublas(fp32shim::Site* site, fp32shim::Frame* frame) {
    using namespace fp32shim;
    using namespace fp32shim::cublas;
    const std::uint64_t kept = site->cublas.plan.load(std::memory_order_acquire);
    if ((kept & express_bit) == 0 || running.provider != nullptr) return fp32shim_govern(site, frame);
    const Route& route = *site->cublas.route;
    const HandleRecord* handle = known_record_of(reinterpret_cast<Handle>(frame->word(0)));
    const std::uint64_t key = handle == nullptr
                                  ? key_unknown
                                  : join_keys(settings_key(settings_change_count(), 0),
                                              handle->state_key.load(std::memory_order_relaxed), route.key(*frame));
    if ((kept & key_mask & ~generation_mask) != key ||
        !route.multiplies(*frame, site->function->width == Width::ilp64))
        return fp32shim_govern(site, frame);
    const CallChange& change = plan_of(kept).change;
    std::int32_t status = 0;
    if ((kept & recorded_bit) != 0) {
        if (run_recorded(*site, *frame, kept, *handle, change, status)) return {status, nullptr};
        return fp32shim_govern(site, frame);
    }
    if (change.how == record::How::forward) return {0, site->real};
    status = call_with_compute_type(*site, *frame, change);
    return is_refusal(status) ? fp32shim_govern(site, frame) : CallOutcome{status, nullptr};
}
