#include "shim/loader/loaded_object.hpp"

#include <iterator>

#include "shim/loader/elf/objects.hpp"
#include "shim/memory/arena.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {

namespace {

bool is_same(const LoadedObject& known, const link_map* map) {
    return known.map == map && known.base == map->l_addr && known.dynamic == map->l_ld;
}

constexpr std::size_t bucket_count = 512;
constinit std::atomic<LoadedObject*> buckets[bucket_count]{};

std::atomic<LoadedObject*>& bucket_of(const link_map* map) {
    return buckets[system::table_index(reinterpret_cast<std::uintptr_t>(map), 32) % bucket_count];
}

LoadedObject* find_record(LoadedObject* head, const link_map* map) {
    for (LoadedObject* known = head; known != nullptr; known = known->next)
        if (is_same(*known, map) && known->loaded.load(std::memory_order_acquire)) return known;
    return nullptr;
}

constinit std::atomic<std::uint32_t> walk_count{
    0};  ///< the number of walks of the loader's list that looked for unloaded objects

/// Reuses the record of an unloaded object if its file is loaded at the same address again. Otherwise returns
/// nullptr.
LoadedObject* take_over_record(LoadedObject* head, const link_map* map, std::string_view name) {
    for (LoadedObject* gone = head; gone != nullptr; gone = gone->next) {
        if (!is_same(*gone, map) || !system::equal(gone->name, name)) continue;
        gone->stamp.store(walk_count.load(std::memory_order_acquire), std::memory_order_release);
        gone->imports_are_old.store(true, std::memory_order_release);
        gone->width.store(IntegerWidth::not_probed, std::memory_order_release);
        gone->complex_results.store(ComplexResults::not_probed, std::memory_order_release);
        gone->real_results.store(RealResults::not_probed, std::memory_order_release);
        gone->loads.fetch_add(1, std::memory_order_acq_rel);
        gone->loaded.store(true, std::memory_order_release);
        return gone;
    }
    return nullptr;
}

/// Reads the imports of an object. Returns `old`, the table from an earlier load of the file, if its content is still
/// correct. Returns nullptr if there is no memory.
const ImportTable* read_imports(const link_map* map, const ImportTable* old) {
    const elf::ObjectTables object = elf::read_object_tables(map);
    std::size_t count = 0;
    bool is_same_as_old = old != nullptr;
    ElfW(Addr) getenv_slot = 0;
    ElfW(Addr) dlsym_slot = 0;
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
        const char* const name = object.strings + object.symbols[symbol].st_name;
        if (name[0] == 'g' && system::equal(system::view(name), "getenv")) getenv_slot = relocation.r_offset;
        if (name[0] == 'd' && system::equal(system::view(name), "dlsym")) dlsym_slot = relocation.r_offset;
    });
    read_each_import(object, [&](const FunctionImport& import) {
        is_same_as_old = is_same_as_old && count < old->count && old->imports[count] == import;
        ++count;
    });
    if (is_same_as_old && count == old->count && getenv_slot == old->getenv_slot && dlsym_slot == old->dlsym_slot)
        return old;
    const std::size_t size = sizeof(ImportTable) + sizeof(FunctionImport) * count;
    auto* const table = static_cast<ImportTable*>(arena_try_allocate(size));
    if (table == nullptr) return nullptr;
    auto* const imports = reinterpret_cast<FunctionImport*>(table + 1);
    std::size_t filled = 0;
    read_each_import(object, [&](const FunctionImport& import) { imports[filled++] = import; });
    table->imports = imports;
    table->count = count;
    table->getenv_slot = getenv_slot;
    table->dlsym_slot = dlsym_slot;
    return table;
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * system::golden_ratio; }

std::uint64_t mix(std::uint64_t hash, const link_map* map) {
    hash = mix(hash, reinterpret_cast<std::uint64_t>(map));
    hash = mix(hash, map->l_addr ^ reinterpret_cast<std::uint64_t>(map->l_ld));
    for (const char letter : system::view(map->l_name)) hash = mix(hash, static_cast<unsigned char>(letter));
    return hash;
}

std::uint64_t unload_stamp();

/// Returns a hash of the loader's list. It changes when an object is added or removed, except with a chance of one in
/// 2^64. The hash covers names, because another file can be loaded at the address of an unloaded one.
std::uint64_t fingerprint_of_list() {
    std::uint64_t fingerprint = 1;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        fingerprint = mix(fingerprint, map);
    return fingerprint;
}

// The objects that contained recent call sites, by address. An entry is valid as long as no object has been unloaded
// after it was stored.
constexpr std::size_t region_size = 1 << 16;
constinit std::atomic<LoadedObject*> recent_objects[64]{};

/// The unload_stamp() at the last search for unloaded objects.
constinit std::atomic<std::uint64_t> noticed_unloads{0};

void search_loader_counts() {
    static constinit std::atomic<bool> was_searched{false};
    if (was_searched.load(std::memory_order_acquire)) return;
    const elf::LoaderCounters found = elf::find_loader_counters();
    loader_object_count.store(found.loaded, std::memory_order_release);
    loader_add_count.store(found.adds, std::memory_order_release);
    was_searched.store(true, std::memory_order_release);
}

/// Returns a number that changes when objects are unloaded; never 0. The number is the loader's count of objects ever
/// added minus its count of loaded objects. If these counts are unknown, the number is a hash of the loader's list,
/// which additions change as well.
std::uint64_t unload_stamp() {
    search_loader_counts();
    const std::uint64_t adds = quick_load_generation();
    const std::uint32_t* loaded = loader_object_count.load(std::memory_order_acquire);
    if (adds == 0 || loaded == nullptr) return fingerprint_of_list() | 1;
    return (adds - __atomic_load_n(loaded, __ATOMIC_ACQUIRE)) | std::uint64_t{1} << 63;
}

}  // namespace

LoadedObject* loaded_object(const link_map* map) {
    std::atomic<LoadedObject*>& bucket = bucket_of(map);
    LoadedObject* head = bucket.load(std::memory_order_acquire);
    if (LoadedObject* known = find_record(head, map)) return known;
    const std::string_view name = elf::name_of(map);
    LoadedObject* fresh = nullptr;
    // If another thread has added a record meanwhile, the search is repeated, because an object must have only one
    // record: callers are compared by the address of their record.
    for (;;) {
        if (LoadedObject* known = find_record(head, map)) return known;
        if (LoadedObject* known = take_over_record(head, map, name)) return known;
        if (fresh == nullptr) fresh = arena_new<LoadedObject>(map, map->l_addr, map->l_ld, arena_copy(name));
        fresh->stamp.store(walk_count.load(std::memory_order_acquire), std::memory_order_relaxed);
        fresh->next = head;
        if (bucket.compare_exchange_strong(head, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
            return fresh;
    }
}

LoadedObject* object_containing(std::uintptr_t address) {
    std::atomic<LoadedObject*>& recent = recent_objects[address / region_size % std::size(recent_objects)];
    LoadedObject* known = recent.load(std::memory_order_acquire);
    if (known != nullptr && noticed_unloads.load(std::memory_order_acquire) == unload_stamp() &&
        known->loaded.load(std::memory_order_acquire) && elf::object_contains(known->map, address))
        return known;
    const link_map* map = elf::object_at(address);
    if (map == nullptr) return nullptr;
    known = loaded_object(map);
    recent.store(known, std::memory_order_release);
    return known;
}

const ImportTable* imports_of(LoadedObject& object) {
    const ImportTable* table = object.imports.load(std::memory_order_acquire);
    if (table != nullptr && !object.imports_are_old.load(std::memory_order_acquire)) return table;
    table = read_imports(object.map, table);
    if (table == nullptr) return nullptr;
    object.imports.store(table, std::memory_order_release);
    object.imports_are_old.store(false, std::memory_order_release);
    return table;
}

std::int32_t find_import_symbol(LoadedObject& object, FunctionIndex function) {
    std::int32_t symbol = -1;
    for_each_import(object, [&](const FunctionImport& import) {
        if (symbol < 0 && import.function == function) symbol = static_cast<std::int32_t>(import.symbol);
    });
    return symbol;
}

bool mark_unloaded_objects() {
    const std::uint64_t stamp = unload_stamp();
    if (noticed_unloads.load(std::memory_order_acquire) == stamp) return false;
    // This loop stamps the records of all objects in the list. Records that keep an older stamp belong to unloaded
    // objects.
    const std::uint32_t walk = walk_count.fetch_add(1, std::memory_order_acq_rel) + 1;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        LoadedObject* known = find_record(bucket_of(map).load(std::memory_order_acquire), map);
        // The names are compared because another file may have been loaded at the address of an unloaded one.
        if (known != nullptr && system::equal(known->name, elf::name_of(map)))
            known->stamp.store(walk, std::memory_order_release);
    }
    bool any = false;
    for (std::atomic<LoadedObject*>& bucket : buckets)
        for (LoadedObject* known = bucket.load(std::memory_order_acquire); known != nullptr; known = known->next) {
            // If this walk or a later one found the object, it is loaded.
            if (known->stamp.load(std::memory_order_acquire) >= walk) continue;
            any = known->loaded.exchange(false, std::memory_order_acq_rel) || any;
        }
    // The stamp is stored last. Until then, other threads walk the loader's list themselves.
    noticed_unloads.store(stamp, std::memory_order_release);
    return any;
}

constinit std::atomic<const std::uint64_t*> loader_add_count{nullptr};
constinit std::atomic<const std::uint32_t*> loader_object_count{nullptr};

std::uint64_t load_generation() {
    search_loader_counts();
    const std::uint64_t stamp = quick_load_generation();
    return stamp != 0 ? stamp : fingerprint_of_list() | 1;
}

}  // namespace fp32shim
