#include "shim/cublas/torch_guard.hpp"

#include <link.h>

#include <atomic>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::cublas {
namespace {

using ShouldDisableTf32 = bool();
constinit std::atomic<ShouldDisableTf32*> should_disable_tf32{nullptr};

bool is_of_torch(const Site& site) { return site.caller_name().starts_with("libtorch"); }

}  // namespace

void find_torch_guard(const Site& site) {
    if (!is_of_torch(site) || should_disable_tf32.load(std::memory_order_relaxed) != nullptr) return;
    const elf::ReadGuard reading;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        if (!system::base_name(system::view(map->l_name)).starts_with("libtorch_cpu.so") || !elf::is_mapped(map))
            continue;
        const elf::ObjectTables object = elf::read_object_tables(map);
        const ElfW(Sym)* symbol = elf::find_definition(object, "_ZN2at11NoTF32Guard19should_disable_tf32Ev", {});
        if (symbol == nullptr) continue;
        const auto address = elf::address_of(object, *symbol);
        should_disable_tf32.store(reinterpret_cast<ShouldDisableTf32*>(address), std::memory_order_release);
    }
}

bool may_be_guarded(const Site& site) {
    return should_disable_tf32.load(std::memory_order_relaxed) != nullptr && is_of_torch(site);
}

bool is_inside_torch_guard() {
    const system::ErrnoAndFloatGuard kept;
    return should_disable_tf32.load(std::memory_order_acquire)();
}

}  // namespace fp32shim::cublas
