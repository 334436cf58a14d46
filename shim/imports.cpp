#include "shim/imports.hpp"

#include <atomic>

#include "shim/arena.hpp"
#include "shim/elf/objects.hpp"

namespace fp32shim {
namespace {

struct Import {
    std::int16_t function;
    std::int32_t symbol;
};

/// The imports of one object. Never freed; `object` becomes nullptr when it is unloaded.
struct ImportTable {
    std::atomic<const link_map*> object;
    const Import* imports;
    std::int32_t count;
    ImportTable* next;
};

constinit std::atomic<ImportTable*> tables{nullptr};

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
        if (filled < count) imports[filled++] = {static_cast<std::int16_t>(function), symbol};
    });
    auto* table = arena_new<ImportTable>(map, imports, filled, tables.load(std::memory_order_relaxed));
    while (!tables.compare_exchange_weak(table->next, table, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return table;
}

}  // namespace

std::int32_t import_of(const link_map* object, FunctionIndex function) {
    const ImportTable* table = tables.load(std::memory_order_acquire);
    while (table != nullptr && table->object.load(std::memory_order_relaxed) != object) table = table->next;
    if (table == nullptr) table = read_imports(object);
    for (std::int32_t i = 0; i < table->count; ++i)
        if (table->imports[i].function == function) return table->imports[i].symbol;
    return -1;
}

bool is_loaded(const link_map* object) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (map == object) return true;
    return false;
}

void forget_unloaded_imports() {
    for (ImportTable* table = tables.load(std::memory_order_acquire); table != nullptr; table = table->next) {
        const link_map* object = table->object.load(std::memory_order_relaxed);
        if (object != nullptr && !is_loaded(object)) table->object.store(nullptr, std::memory_order_relaxed);
    }
}

}  // namespace fp32shim
