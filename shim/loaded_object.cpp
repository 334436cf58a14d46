#include "shim/loaded_object.hpp"

#include "shim/arena.hpp"
#include "shim/elf/objects.hpp"
#include "shim/elf/text.hpp"

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

bool is_same(const LoadedObject& known, const link_map* map) {
    return known.map == map && known.base == map->l_addr && known.dynamic == map->l_ld;
}

constexpr std::size_t bucket_count = 512;
constinit std::atomic<LoadedObject*> buckets[bucket_count]{};

std::atomic<LoadedObject*>& bucket_of(const link_map* map) {
    return buckets[(reinterpret_cast<std::uintptr_t>(map) * 0x9e3779b97f4a7c15U >> 32) % bucket_count];
}

LoadedObject* find_record(const link_map* map) {
    for (LoadedObject* known = bucket_of(map).load(std::memory_order_acquire); known != nullptr; known = known->next)
        if (is_same(*known, map) && known->loaded.load(std::memory_order_acquire)) return known;
    return nullptr;
}

constinit std::atomic<std::uint32_t> walks{0};  ///< of the loader's list, to find out what is gone

/// Calls `visit(function, symbol)` for every product that the object has relocations against, once for those in a
/// row.
template <class Visit>
void for_each_import(const elf::Object& object, Visit visit) {
    std::uint32_t previous = 0;
    for_each_product_relocation(object, [&](FunctionIndex function, std::uint32_t symbol, const ElfW(Rela)&) {
        if (symbol != previous) visit(function, static_cast<std::int32_t>(symbol));
        previous = symbol;
    });
}

/// `old` itself where the object imports just that: the table of the file whose record it took over.
const ImportTable* read_imports(const link_map* map, const ImportTable* old) {
    const elf::Object object = elf::read_object(map);
    std::int32_t count = 0;
    bool is_same_as_old = old != nullptr;
    for_each_import(object, [&](FunctionIndex function, std::int32_t symbol) {
        is_same_as_old = is_same_as_old && count < old->count && old->imports[count].function == function &&
                         old->imports[count].symbol == symbol;
        ++count;
    });
    if (is_same_as_old && count == old->count) return old;
    auto* imports = static_cast<Import*>(arena_allocate(sizeof(Import) * static_cast<std::size_t>(count + 1)));
    std::int32_t filled = 0;
    for_each_import(object, [&](FunctionIndex function, std::int32_t symbol) {
        imports[filled++] = {static_cast<std::int16_t>(function), symbol};
    });
    return arena_new<ImportTable>(imports, count);
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15U; }

std::uint64_t mix(std::uint64_t hash, const link_map* map) {
    hash = mix(hash, reinterpret_cast<std::uint64_t>(map));
    hash = mix(hash, map->l_addr ^ reinterpret_cast<std::uint64_t>(map->l_ld));
    for (const char letter : elf::view(map->l_name)) hash = mix(hash, static_cast<unsigned char>(letter));
    return hash;
}

/// Differs, but for a chance of one in 2^64, when an object came or went; names, since another file can be loaded at
/// the place of one that is gone.
std::uint64_t fingerprint_of_list() {
    std::uint64_t fingerprint = 1;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        fingerprint = mix(fingerprint, map);
    return fingerprint;
}

}  // namespace

LoadedObject* loaded_object(const link_map* map) {
    if (LoadedObject* known = find_record(map)) return known;
    const std::string_view name = elf::read_object(map).name();
    std::atomic<LoadedObject*>& bucket = bucket_of(map);
    for (LoadedObject* gone = bucket.load(std::memory_order_acquire); gone != nullptr; gone = gone->next) {
        if (!is_same(*gone, map) || !elf::equal(gone->name, name)) continue;
        gone->stamp.store(walks.load(std::memory_order_acquire), std::memory_order_release);
        gone->imports_are_old.store(true, std::memory_order_release);
        gone->width.store(IntegerWidth::not_probed, std::memory_order_release);
        gone->loads.fetch_add(1, std::memory_order_acq_rel);
        gone->loaded.store(true, std::memory_order_release);
        return gone;
    }
    auto* object = arena_new<LoadedObject>(map, map->l_addr, map->l_ld, arena_copy(name));
    object->stamp.store(walks.load(std::memory_order_acquire), std::memory_order_relaxed);
    object->next = bucket.load(std::memory_order_relaxed);
    while (
        !bucket.compare_exchange_weak(object->next, object, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return object;
}

LoadedObject* object_containing(std::uintptr_t address) {
    const link_map* map = elf::object_at(address);
    return map == nullptr ? nullptr : loaded_object(map);
}

std::int32_t import_of(LoadedObject& object, FunctionIndex function) {
    const ImportTable* table = object.imports.load(std::memory_order_acquire);
    if (table == nullptr || object.imports_are_old.load(std::memory_order_acquire)) {
        table = read_imports(object.map, table);
        object.imports.store(table, std::memory_order_release);
        object.imports_are_old.store(false, std::memory_order_release);
    }
    for (std::int32_t i = 0; i < table->count; ++i)
        if (table->imports[i].function == function) return table->imports[i].symbol;
    return -1;
}

bool notice_unloaded_objects() {
    static constinit std::atomic<std::uint64_t> seen{0};
    const std::uint64_t fingerprint = fingerprint_of_list();
    if (seen.exchange(fingerprint, std::memory_order_acq_rel) == fingerprint) return false;
    // Stamp the records that the list still has; those that keep an older stamp are gone.
    const std::uint32_t walk = walks.fetch_add(1, std::memory_order_acq_rel) + 1;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (LoadedObject* known = find_record(map)) known->stamp.store(walk, std::memory_order_release);
    bool any = false;
    for (std::atomic<LoadedObject*>& bucket : buckets) {
        for (LoadedObject* known = bucket.load(std::memory_order_acquire); known != nullptr; known = known->next) {
            if (known->stamp.load(std::memory_order_acquire) >= walk) continue;  // also another thread's later walk
            any = known->loaded.exchange(false, std::memory_order_acq_rel) || any;
        }
    }
    return any;
}

constinit std::atomic<const std::uint64_t*> loader_adds{nullptr};

std::uint64_t objects_stamp() {
    static constinit std::atomic<bool> was_searched{false};
    if (!was_searched.load(std::memory_order_acquire)) {
        loader_adds.store(elf::find_loader_adds(), std::memory_order_release);
        was_searched.store(true, std::memory_order_release);
    }
    const std::uint64_t stamp = quick_objects_stamp();
    return stamp != 0 ? stamp : fingerprint_of_list() | 1;
}

}  // namespace fp32shim
