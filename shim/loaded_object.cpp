#include "shim/loaded_object.hpp"

#include "shim/arena.hpp"
#include "shim/elf/objects.hpp"

namespace fp32shim {

struct Import {
    std::int16_t function;
    std::int32_t symbol;
};

struct ImportTable {
    const Import* imports;
    std::int32_t count;
};

namespace {

constinit std::atomic<LoadedObject*> known_objects{nullptr};
constinit std::atomic<const link_map*> last_object{nullptr};  ///< of the loader's list, when it was last walked

bool is_same(const LoadedObject& known, const link_map* map) {
    return known.map == map && known.base == map->l_addr && known.dynamic == map->l_ld;
}

#if defined(__x86_64__)
constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT, absolute = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT, absolute = R_AARCH64_ABS64;
#else
#error "fp32shim knows x86-64 and aarch64"
#endif

/// Calls `visit(function, symbol)` for every relocation against a name of the table.
template <class Visit>
void for_each_import(const elf::Object& object, Visit visit) {
    const auto scan = [&](const ElfW(Rela) * relocations, std::size_t begin, std::size_t end) {
        std::uint32_t previous = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t symbol = ELF64_R_SYM(relocations[i].r_info);
            const std::uint32_t type = ELF64_R_TYPE(relocations[i].r_info);
            if (symbol == 0 || symbol == previous) continue;
            if (type != jump_slot && type != global_data && type != absolute) continue;
            previous = symbol;
            const char* name = object.strings + object.symbols[symbol].st_name;
            if (name[0] == '_') continue;  // mangled C++ names, most of a large library's
            const FunctionIndex function = find_function(name);
            if (function >= 0) visit(function, static_cast<std::int32_t>(symbol));
        }
    };
    if (object.symbols == nullptr || object.strings == nullptr) return;
    if (object.plt_relocations != nullptr) scan(object.plt_relocations, 0, object.plt_relocation_count);
    if (object.relocations != nullptr) scan(object.relocations, object.relative_count, object.relocation_count);
}

const ImportTable* read_imports(const link_map* map) {
    const elf::Object object = elf::read_object(map);
    std::int32_t count = 0;
    for_each_import(object, [&](FunctionIndex, std::int32_t) { ++count; });
    auto* imports = static_cast<Import*>(arena_allocate(sizeof(Import) * static_cast<std::size_t>(count + 1)));
    std::int32_t filled = 0;
    for_each_import(object, [&](FunctionIndex function, std::int32_t symbol) {
        imports[filled++] = {static_cast<std::int16_t>(function), symbol};
    });
    return arena_new<ImportTable>(imports, count);
}

bool is_in_loaders_list(const LoadedObject& known) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (is_same(known, map)) return true;
    return false;
}

/// Differs, but for a chance of one in 2^64, when an object came or went.
std::uint64_t fingerprint_of_list() {
    std::uint64_t fingerprint = 1;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        fingerprint = (fingerprint ^ reinterpret_cast<std::uint64_t>(map)) * 0x9e3779b97f4a7c15U;
        fingerprint = (fingerprint ^ map->l_addr ^ reinterpret_cast<std::uint64_t>(map->l_ld)) * 0x9e3779b97f4a7c15U;
    }
    return fingerprint;
}

}  // namespace

LoadedObject* loaded_object(const link_map* map) {
    for (LoadedObject* known = known_objects.load(std::memory_order_acquire); known != nullptr; known = known->next)
        if (is_same(*known, map) && known->loaded.load(std::memory_order_acquire)) return known;
    auto* object = arena_new<LoadedObject>(map, map->l_addr, map->l_ld, arena_copy(elf::read_object(map).name()));
    object->next = known_objects.load(std::memory_order_relaxed);
    while (!known_objects.compare_exchange_weak(object->next, object, std::memory_order_release,
                                                std::memory_order_relaxed)) {
    }
    return object;
}

LoadedObject* object_containing(std::uintptr_t address) {
    const link_map* map = elf::object_at(address);
    return map == nullptr ? nullptr : loaded_object(map);
}

std::int32_t import_of(LoadedObject& object, FunctionIndex function) {
    const ImportTable* table = object.imports.load(std::memory_order_acquire);
    if (table == nullptr) {
        table = read_imports(object.map);
        object.imports.store(table, std::memory_order_release);
    }
    for (std::int32_t i = 0; i < table->count; ++i)
        if (table->imports[i].function == function) return table->imports[i].symbol;
    return -1;
}

bool notice_unloaded_objects() {
    static constinit std::atomic<std::uint64_t> seen{0};
    const std::uint64_t fingerprint = fingerprint_of_list();
    if (seen.exchange(fingerprint, std::memory_order_acq_rel) == fingerprint) return false;
    bool any = false;
    for (LoadedObject* known = known_objects.load(std::memory_order_acquire); known != nullptr; known = known->next) {
        if (!known->loaded.load(std::memory_order_acquire) || is_in_loaders_list(*known)) continue;
        known->loaded.store(false, std::memory_order_release);
        any = true;
    }
    return any;
}

std::uint32_t count_of_added_objects() {
    // The loader appends.
    static constinit std::atomic<std::uint32_t> count{1};
    const link_map* known = last_object.load(std::memory_order_acquire);
    if (known != nullptr && known->l_next == nullptr) return count.load(std::memory_order_acquire);
    const link_map* map = elf::first_object();
    while (map->l_next != nullptr) map = map->l_next;
    const std::uint32_t grown = count.fetch_add(1, std::memory_order_acq_rel) + 1;
    last_object.store(map, std::memory_order_release);
    return grown;
}

void forget_last_object() { last_object.store(nullptr, std::memory_order_release); }

}  // namespace fp32shim
