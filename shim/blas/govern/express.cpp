#include "shim/blas/govern/express.hpp"

#include "shim/blas/plan.hpp"
#include "shim/blas/routine.hpp"
#include "shim/blas/site_decision.hpp"
#include "shim/blas/treat.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::blas {
namespace {

/// Returns the event to record for a call that was forwarded without a decision. Decides on the call afterwards.
record::DecisionEvent describe_forwarded(Site& site, const Frame& frame, const Settings& in_force,
                                         where::CallLocation& location) {
    Product product;
    describe_call(site, frame, product);
    const policy::Decision decision = decide_for_site(site, in_force, product.call);
    const Plan plan = plan_cpu_call(site, frame, product, decision, in_force.policy);
    return decision_event(site, in_force, product.call, decision, plan, location);
}

/// Returns true if every call from the call site runs unchanged under these settings, given the decision on one of
/// the calls.
bool forwards_every_call(const Site& site, const Settings& in_force, const policy::Decision& decision) {
    if (runs_in_fixed_order(site.function->product(), in_force.policy)) return false;
    if (site.function->family->treatment != Treatment::governed) return true;
    if (in_force.policy.cpu_mode == policy::CpuMode::off) return true;
    return !in_force.looks_at_sizes && !rounds_operands(decision, site.function->product().dtype);
}

}  // namespace

std::uint64_t make_express_word(const Site& site, const Settings& in_force, const policy::Decision& decision,
                                std::uint32_t change_count) {
    if (in_force.recording == nullptr || in_force.examines_results() || scopes_affect_decisions(in_force) ||
        in_force.looks_at_call_numbers || site.keyed.count == 0 ||
        site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::unknown || site.runs_batch_one_by_one() ||
        site.function->family->treatment == Treatment::opaque || !forwards_every_call(site, in_force, decision))
        return 0;
    // The lower half has the reason in bits 0 to 5, the source in bits 6 to 8, the requested precision in bits 9 to
    // 11, the precision in bits 12 to 14, the settings' generation in bits 15 to 22, and the rule's number, counted
    // from 1, in bits 23 to 30.
    static_assert(policy::reason_count <= 1U << 6);
    static_assert(static_cast<unsigned>(policy::Source::native) < 1U << 3);
    constexpr auto precision_limit = static_cast<policy::Precision>(1U << 3);  // higher precisions are rare, and
                                                                               // do not fit in the word
    constexpr std::int32_t rule_limit = (1 << 8) - 1;
    constexpr std::uint32_t generation_limit = 1U << 8;
    constexpr std::uint64_t is_whole = std::uint64_t{1} << 31;
    std::uint64_t low = change_count & (is_whole - 1);
    if (!in_force.looks_at_sizes && decision.rule < rule_limit && in_force.generation < generation_limit &&
        decision.requested < precision_limit && decision.precision < precision_limit) {
        const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
        low = is_whole | bits(decision.rule + 1) << 23 | bits(in_force.generation) << 15 |
              bits(decision.precision) << 12 | bits(decision.requested) << 9 | bits(decision.source) << 6 |
              bits(decision.reason);
    }
    return std::uint64_t{change_count} << 32 | low;
}

bool try_express_lane(Site& site, Frame& frame, CallOutcome& outcome) {
    ExpressCall call = prepare_express_call(site, frame);
    if (call.recording == nullptr) return false;
    const Settings& in_force = settings();
    if (in_force.distinguishes_call_paths()) {
        call.key = where::combined_row_key(call.key, where::location_key(in_force));
        if (!site.provider->calls_back.load(std::memory_order_relaxed) &&
            call.recording->count_untimed(*call.writer, call.key, call.with_event)) {
            outcome = {0, site.real};
            return true;
        }
    }
    if (!record::Recording::knows_key(*call.writer, call.key)) return false;
    where::CallLocation location(in_force.distinguishes_call_paths() ? __builtin_alloca(sizeof(where::LocationBuffer))
                                                                     : nullptr);
    running = {site.provider, nullptr, &frame};
    const std::uint64_t begin = record::ticks();
    outcome = {call_with_frame(site, frame), nullptr};
    const std::uint64_t end = record::ticks();
    running = {};  // prepare_express_call() made sure that no product was running before this call
    // The event is needed only if the recording no longer knows the key, since the process was forked during the
    // call.
    call.recording->count(*call.writer, call.key, begin, end, call.with_event, [&](record::DecisionEvent& event) {
        event = describe_forwarded(site, frame, in_force, location);
    });
    return true;
}

}  // namespace fp32shim::blas
