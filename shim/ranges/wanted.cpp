#include "shim/ranges/wanted.hpp"

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {
namespace {

/// Returns true if the program's references bind to the shim: it was preloaded, or linked. A child that has lost its
/// LD_PRELOAD may still have a variable that makes NVTX or ITT open the library, which then sees no product.
bool is_in_global_scope() {
    const elf::Reading reading;
    const elf::Scope global = elf::global_scope();
    const std::size_t count = global.count();
    for (std::size_t i = 0; i < count; ++i)
        if (global.at(i) == elf::own_object()) return true;
    return count == 0;
}

}  // namespace

bool ranges_wanted(RangeSource source) {
    if (!is_in_global_scope()) return false;
    const Settings& in_force = settings();
    const policy::Where word = source == RangeSource::nvtx ? policy::Where::nvtx : policy::Where::itt;
    return !in_force.forward_everything && in_force.policy.wants(word);
}

}  // namespace fp32shim
