#include "shim/loaded_files.hpp"

#include <elf.h>
#include <link.h>

#include <atomic>

#include "shim/elf/objects.hpp"
#include "shim/elf/readers.hpp"
#include "shim/elf/text.hpp"
#include "shim/functions.hpp"
#include "shim/loaded_object.hpp"
#include "shim/settings.hpp"

namespace fp32shim {
namespace {

constinit std::atomic<bool> has_lookup_past{false};

/// This process's recording, where it has made one.
record::Recording* own_recording() {
    const Settings* known = known_settings();
    if (known == nullptr || known->recording == nullptr) return nullptr;
    return known->recording->is_of_this_process() ? known->recording : nullptr;
}

bool is_of_the_kernel(std::string_view path) {
    return path.starts_with("linux-vdso") || path.starts_with("linux-gate");
}

/// Whether a library that was preloaded before us contains the address: it may well go on to us.
bool is_in_earlier_preload(ElfW(Addr) address) {
    const link_map* own = elf::own_object();
    for (const link_map* map = elf::first_object()->l_next; map != nullptr && map != own; map = map->l_next)
        if (elf::contains(map, address)) return true;
    return false;
}

#if defined(__x86_64__)
constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT;
#else
constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT;
#endif

bool is_product(const char* name) {
    if (name[0] == '_') return false;  // mangled C++ names, most of a large library's
    const FunctionIndex function = find_function(name);
    return function >= 0 && functions[function].convention != Convention::bare;
}

bool leads_past(const elf::Object& object, const ElfW(Rela) & relocation) {
    const std::uint32_t type = ELF64_R_TYPE(relocation.r_info);
    if (type != jump_slot && type != global_data) return false;
    const ElfW(Sym)& symbol = object.symbols[ELF64_R_SYM(relocation.r_info)];
    const char* name = object.strings + symbol.st_name;
    if (!is_product(name)) return false;
    const auto bound = *reinterpret_cast<const ElfW(Addr)*>(object.base + relocation.r_offset);
    if (bound == 0 || elf::is_own_code(bound)) return false;
    // A reference that is bound at its first call, which has not come, still leads into the object's own stubs.
    const bool is_own_definition = symbol.st_shndx != SHN_UNDEF && bound == object.base + symbol.st_value;
    if (elf::contains(object.map, bound) && !is_own_definition) return false;
    return !is_in_earlier_preload(bound);
}

/// Whether a reference of the object to a product leads past us: it was opened RTLD_DEEPBIND, or looks into itself
/// first.
bool is_bound_past(const elf::Object& object) {
    if (object.symbols == nullptr || object.strings == nullptr) return false;
    const auto any = [&](const ElfW(Rela) * relocations, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            if (leads_past(object, relocations[i])) return true;
        return false;
    };
    return (object.plt_relocations != nullptr && any(object.plt_relocations, 0, object.plt_relocation_count)) ||
           (object.relocations != nullptr && any(object.relocations, object.relative_count, object.relocation_count));
}

enum class Bindings : bool { leave, check };

/// Precondition: a Reading is held.
void note_all(record::Recording& recording, Bindings bindings) {
    const link_map* own = elf::own_object();
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        const std::string_view path = elf::view(map->l_name);
        if (map == own || is_of_the_kernel(path) || !elf::is_mapped(map)) continue;
        const bool is_past = bindings == Bindings::check && is_bound_past(elf::read_object(map));
        recording.note_object({path, elf::build_id(map), is_past});
    }
    if (has_lookup_past.load(std::memory_order_relaxed)) recording.note_lookup_past();
}

/// Reads, but changes nothing of what others use: products may still be called after it. All that it needs is there
/// until the process is gone.
__attribute__((destructor)) void note_exit() {
    record::Recording* recording = own_recording();
    if (recording == nullptr) return;
    const elf::Reading reading;
    const std::uint32_t additions = count_of_added_objects();
    note_all(*recording, Bindings::check);
    recording->note_objects_complete(additions);
    recording->note_exit();
}

}  // namespace

void note_loaded_files(record::Recording& recording) {
    const elf::Reading reading;
    const std::uint32_t additions = count_of_added_objects();
    if (recording.objects_stamp() != additions) note_all(recording, Bindings::leave);
    recording.note_objects_complete(additions);
}

void note_files_before_unloading() {
    if (record::Recording* recording = own_recording()) note_loaded_files(*recording);
}

void note_lookup_past() {
    has_lookup_past.store(true, std::memory_order_relaxed);
    if (record::Recording* recording = own_recording()) recording->note_lookup_past();
}

}  // namespace fp32shim
