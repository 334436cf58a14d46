#include "shim/sites/target.hpp"

#include "shim/blas/express.hpp"
#include "shim/blas/govern.hpp"
#include "shim/cublas/govern.hpp"
#include "shim/entry/gate.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {
namespace {

/// Returns true if calls from this site have to be looked at one by one: something may change them, or they are
/// recorded.
bool needs_gate(Site& site) {
    if (site.provider == nullptr) return false;
    if (site.runs_one_by_one()) return true;
    const Settings& in_force = settings();
    if (in_force.forward_everything || !site.is_blas) return false;
    return is_of_cublas(site.function->convention) ? cublas::needs_gate(site, in_force)
                                                   : blas::needs_gate(site, in_force);
}

void* gate_of(const Site& site) {
    if (site.function->convention == Convention::cublas) return reinterpret_cast<void*>(&fp32shim_cublas_gate);
    const bool is_worth_a_look =
        blas::may_take_express_lane(site, settings()) || site.forwards_while_bound.load(std::memory_order_relaxed);
    return reinterpret_cast<void*>(is_worth_a_look ? &fp32shim_express_gate : &fp32shim_govern_gate);
}

}  // namespace

void refresh(Site& site) {
    // Two threads that do this at once may store in the wrong order. So a thread that finds other settings afterwards
    // does it again.
    std::uint32_t count = 0;
    do {
        count = settings_change_count();
        site.cpu.decision.store(0, std::memory_order_relaxed);
        site.cpu.express.store(0, std::memory_order_relaxed);
        site.cublas.plan.store(0, std::memory_order_relaxed);
        const bool is_governed = needs_gate(site);
        site.forwards_while_bound.store(!is_governed && site.by_importers, std::memory_order_relaxed);
        const bool is_gated = is_governed || site.by_importers;
        site.target.store(is_gated ? gate_of(site) : site.real, std::memory_order_release);
    } while (count != settings_change_count());
}

}  // namespace fp32shim
