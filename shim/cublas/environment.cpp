#include "shim/cublas/environment.hpp"

#include <unistd.h>

#include <atomic>

#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {
namespace {

constinit std::atomic<Environment> in_force{Environment{}};
constinit std::atomic<bool> has_been_read{false};
constinit Environment at_start;

__attribute__((constructor)) void read_at_start() { at_start = read_environment(environ); }

}  // namespace

Environment environment_in_force() { return in_force.load(std::memory_order_acquire); }

void refresh_environment_in_force(bool call_makes_handle) {
    if (has_been_read.exchange(true, std::memory_order_acq_rel)) return;
    Environment fresh = read_environment(environ);
    if (!call_makes_handle) {
        fresh.tf32_is_off = fresh.tf32_is_off && at_start.tf32_is_off;
        fresh.tf32_may_be_on = fresh.tf32_may_be_on || at_start.tf32_may_be_on;
        fresh.emulates_fp32 = fresh.emulates_fp32 || at_start.emulates_fp32;
        fresh.emulates_fp64 = fresh.emulates_fp64 || at_start.emulates_fp64;
    }
    if (in_force.exchange(fresh, std::memory_order_acq_rel) != fresh) settings_changed();
}

}  // namespace fp32shim::cublas
