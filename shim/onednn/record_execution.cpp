#include "shim/onednn/record_execution.hpp"

#include "shim/decision/record_observed.hpp"
#include "shim/settings/settings.hpp"
#include "system/hash.hpp"
#include "system/line_writer.hpp"

namespace fp32shim::onednn {
namespace {

/// Returns a duration in ticks of the recording; 0 if it is unknown. Uses no floating-point arithmetic, because the
/// program may have switched on traps for it.
std::uint64_t ticks_of(std::int64_t nanoseconds, std::uint64_t ticks_per_second) {
    __extension__ using Wide = unsigned __int128;
    if (nanoseconds <= 0) return 0;
    return static_cast<std::uint64_t>(static_cast<Wide>(nanoseconds) * ticks_per_second / 1'000'000'000);
}

bool is_integer(const record::OneDnnExecution& execution) {
    const auto is = [](std::string_view type) { return type.size() == 2 && (type[0] == 's' || type[0] == 'u'); };
    return is(execution.source_type) || is(execution.weights_type);
}

/// Fills in `event`, by which an execution is recorded. The shim requests no precision of oneDNN, so the requested
/// precision stays `native`.
void describe(const Site& site, const record::OneDnnExecution& execution, std::string_view function,
              record::DecisionEvent& event) {
    event.call.function = function;
    event.call.caller = event.provider = site.provider->name;
    event.call.dtype = execution.dtype.value_or(is_integer(execution) ? policy::Dtype::int8 : policy::Dtype::float32);
    event.call.m = execution.m;
    event.call.n = execution.n;
    event.call.k = execution.k;
    event.call.batch = execution.batch;
    event.applied = execution.applied;
    event.actual = execution.actual;
    event.reason = policy::is_single(event.call.dtype) || policy::is_double(event.call.dtype)
                       ? policy::Reason::not_governable
                       : policy::Reason::observed;
    event.detail = execution.identity;
}

}  // namespace

void record_execution(const Site& site, const record::OneDnnExecution& execution, std::string_view where) {
    const Settings* const in_force = known_settings();
    if (in_force == nullptr || in_force->recording == nullptr) return;
    char name[64];
    system::LineWriter function(name);
    if (!execution.kind.starts_with(record::xla_prefix)) function.text(record::onednn_prefix);
    function.escaped(execution.kind, 40);
    const std::uint64_t end = record::ticks();
    const std::uint64_t duration = ticks_of(execution.duration_ns, in_force->recording->ticks_rate());
    const std::uint64_t begin = duration == 0 || duration >= end ? record::Recording::not_timed : end - duration;
    const std::uint64_t kind = system::Hash().add(execution.identity).add(where).value();
    record_observed_product(site, *in_force, kind, {begin, end}, where.empty(), [&](record::DecisionEvent& event) {
        describe(site, execution, function.view(), event);
        event.call.where = where;
    });
}

}  // namespace fp32shim::onednn
