#include "shim/cublas/environment.hpp"

#include <unistd.h>

#include <atomic>
#include <string_view>

#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {
namespace {

constinit std::atomic<Environment> in_force{Environment{}};

}  // namespace

Environment environment() { return in_force.load(std::memory_order_acquire); }

void refresh_environment() {
    const Environment fresh = read_environment(environ);
    if (in_force.exchange(fresh, std::memory_order_acq_rel) != fresh) settings_changed();
}

}  // namespace fp32shim::cublas
