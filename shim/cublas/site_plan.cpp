#include "shim/cublas/site_plan.hpp"

#include "shim/cublas/environment.hpp"
#include "shim/cublas/torch_guard.hpp"
#include "shim/memory/arena.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Reason;

// All plans, indexed by number. There are few different plans, since they consist of precisions, kinds of changes and
// reasons. The number 0 means that there is no plan.
constexpr std::size_t plan_limit = number_mask + 1;
constinit std::atomic<const Plan*> plans[plan_limit]{};

std::size_t bucket_of(const Plan& plan) {
    system::Hash hash;
    hash.add(static_cast<std::uint64_t>(plan.decision.rule));
    hash.add(static_cast<std::uint64_t>(plan.decision.requested) << 32 |
             static_cast<std::uint64_t>(plan.decision.source) << 24 | static_cast<std::uint64_t>(plan.applied) << 16 |
             static_cast<std::uint64_t>(plan.asked) << 8 | static_cast<std::uint64_t>(plan.reason));
    hash.add(static_cast<std::uint64_t>(plan.change.compute_type) << 32 |
             static_cast<std::uint32_t>(plan.change.math_mode));
    return hash.value() % (plan_limit - 1);
}

/// Stores a plan in `plans`, unless an equal plan is stored there already. Returns the number of the plan for
/// plan_by_number(), or 0 if there is no room or memory.
std::uint64_t intern(const Plan& plan) {
    const Plan* fresh = nullptr;
    for (std::size_t probe = 0; probe < 64; ++probe) {
        const std::size_t number = 1 + (bucket_of(plan) + probe) % (plan_limit - 1);
        const Plan* held = plans[number].load(std::memory_order_acquire);
        if (held == nullptr) {
            if (fresh == nullptr) fresh = arena_try_new<Plan>(plan);
            if (fresh == nullptr) return 0;
            if (plans[number].compare_exchange_strong(held, fresh, std::memory_order_acq_rel)) return number;
        }
        if (*held == plan) return number;
    }
    return 0;
}

}  // namespace

void keep_plan(Site& site, const Product& product, const Plan& plan, const Settings& in_force) {
    const std::uint64_t number = intern(plan);
    if (number == 0) return;
    const bool is_forwarded = plan.change.how == record::How::forward;
    const std::int32_t compute_type = is_forwarded ? product.asked.compute_type : plan.change.compute_type;
    const bool is_simple =
        product.asked.control == FormatControl::compute_type && plan.applied != policy::AppliedFormat::unchanged &&
        plan.change.how != record::How::math_mode && plan.change.math_mode < 0 && plan.change.mantissa_bits == 0 &&
        product.device.compute_capability != 0 &&  // device_of() asks for the device again while this is 0
        !depends_on_math_mode({.compute_type = compute_type});
    const bool is_recorded = in_force.recording != nullptr;
    const bool is_watched = (in_force.is_logging() && !is_recorded) || site.by_importers ||
                            !is_cublas_library(site.provider) || may_be_guarded(site);
    const std::uint64_t lane = is_simple && !is_watched ? express_bit | (is_recorded ? recorded_bit : 0) : 0;
    site.cublas.plan.store(kept_bit | lane | number << number_shift | product.key, std::memory_order_release);
}

const Plan& plan_by_number(std::uint64_t number) { return *plans[number].load(std::memory_order_acquire); }

Plan plan_decision(const Site& site, const Product& product, const policy::Decision& decision,
                   const Settings& in_force) {
    const PlanRequest request{.treatment = product.treatment,
                              .handle_is_known = product.handle != nullptr,
                              .pointers_are_in_arrays = product.pointers_are_in_arrays,
                              .is_solve = site.function->product().operation == blas::Operation::trsm,
                              .is_guarded = product.is_guarded,
                              .caller = site.caller_name(),
                              .asked = product.asked};
    return plan_request(request, decision, floor_in_force(in_force), environment_in_force(), in_force.policy);
}

ExecutionOutcome done_as_planned(const Site& site, const Plan& plan) {
    ExecutionOutcome done;
    done.how = plan.change.how;
    done.applied = plan.applied;
    done.reason = plan.reason;
    done.accumulator_as_called = plan.accumulator_as_called;
    done.accumulator = plan.accumulator;
    done.detail = plan.is_by_environment ? environment_detail(plan) : provider_ambiguity_text(site);
    return done;
}

ExecutionOutcome done_unchanged(const Site& site, const Plan& plan, Reason reason) {
    return done_as_planned(site, plan_unchanged(plan, reason, environment_in_force()));
}

}  // namespace fp32shim::cublas
