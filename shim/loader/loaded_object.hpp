// Records of loaded objects: name, imports of intercepted functions, width of integers.
//
// An object is identified by its link_map, base, dynamic section and name together, since the loader reuses each of
// them. When an object is unloaded, its record is marked and kept, because sites may still refer to it. If the same
// file is loaded again at the same address, it gets the same record, so reloading a plugin for ever needs no more
// memory.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

enum class IntegerWidth : std::int8_t { not_probed = 0, bits32 = 32, bits64 = 64, unknown = -1 };

/// How functions of Fortran return complex numbers: in vector registers (gfortran), or through a pointer, the first
/// argument (Intel).
enum class ComplexResults : std::uint8_t { not_probed, in_registers, by_pointer };

/// The type of the number that functions of Fortran on float32 return: float32 (gfortran), or float64 (f2c, g77).
enum class RealResults : std::uint8_t { not_probed, float32, float64 };

/// A relocation of an object against an intercepted function.
struct FunctionImport {
    std::int16_t function;  ///< a FunctionIndex
    std::uint32_t symbol;   ///< index into the object's symbol table
    ElfW(Addr) slot;        ///< place where the loader stores the function's address, relative to the object's base

    bool operator==(const FunctionImport&) const = default;
};

struct ImportTable {
    const FunctionImport* imports;
    std::size_t count;
    ElfW(Addr) getenv_slot;  ///< like FunctionImport::slot, for getenv; 0: the object does not import it
    ElfW(Addr) dlsym_slot;   ///< the same for dlsym
};

/// The record of a loaded object. Never freed. `map` may only be dereferenced while `loaded` is true.
struct LoadedObject {
    const link_map* map;
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
    std::string_view name;  ///< base name of the object's file
    std::atomic<bool> loaded{true};
    std::atomic<IntegerWidth> width{IntegerWidth::not_probed};
    std::atomic<ComplexResults> complex_results{ComplexResults::not_probed};
    std::atomic<RealResults> real_results{RealResults::not_probed};
    std::atomic<std::uint32_t> loads{
        0};  ///< number of times that its file was loaded again, and this record used again
    std::atomic<const ImportTable*> imports{nullptr};  ///< read when first needed
    std::atomic<bool> imports_are_old{
        false};  ///< after `imports` was read, the file was unloaded and loaded again: read `imports` again
    std::atomic<std::uint8_t> onednn{
        0};  ///< what is known of oneDNN and XLA in it: bits record::format::object_tells …
    std::atomic<bool> calls_back{false};  ///< the library was seen to multiply by calling the shim's entry points
    std::atomic<std::uint32_t> stamp{0};  ///< number of the last walk of the loader's list that found the object
    LoadedObject* next = nullptr;
};

/// Returns the record of an object in the loader's list. Makes it on first use. Thread-safe, lock-free.
LoadedObject* loaded_object(const link_map* map);

/// Returns the record of the object that contains this address, or nullptr for code outside every object.
LoadedObject* object_containing(std::uintptr_t address);

/// Calls `visit(import)` for every import of the object, read from its relocations.
template <class Visit>
void read_each_import(const elf::ObjectTables& object, Visit visit) {
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
        const char* name = object.strings + object.symbols[symbol].st_name;
        const FunctionIndex function = find_function(name);
        if (function >= 0) visit(FunctionImport{static_cast<std::int16_t>(function), symbol, relocation.r_offset});
    });
}

/// Returns the imports of an object, or nullptr if there is no memory. The first call for an object reads all its
/// relocations. That takes milliseconds for a large library, so it is done once.
const ImportTable* imports_of(LoadedObject& object);

/// Calls `visit(import)` for every import of the object.
template <class Visit>
void for_each_import(LoadedObject& object, Visit visit) {
    const ImportTable* const table = imports_of(object);
    if (table == nullptr) return read_each_import(elf::read_object_tables(object.map), visit);
    for (std::size_t i = 0; i < table->count; ++i) visit(table->imports[i]);
}

/// Returns true if the import is of a variable that the object defines by itself under the name of a function.
inline bool is_own_variable(const elf::ObjectTables& object, const FunctionImport& import) {
    const ElfW(Sym)& symbol = object.symbols[import.symbol];
    return symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 15) == STT_OBJECT;
}

/// Returns the index of the object's import of `function` in its symbol table, or -1. An object imports a name if it
/// has a relocation against the name, even if it also defines it (PyPI's torch calls its own `sgemm_` through its
/// procedure linkage table).
std::int32_t find_import_symbol(LoadedObject& object, FunctionIndex function);

/// Marks the records of objects that are no longer in the loader's list. Returns true if it marked any. Costs two
/// memory reads if nothing was unloaded since the previous call. Also notices unloads that bypassed the shim's
/// dlclose.
bool mark_unloaded_objects();

/// Returns a number that changes when objects are added; never 0. Cheap if the loader's counter was found. Otherwise
/// it is a hash of the loader's list, which unloads change too. Precondition: an elf::ReadGuard is held.
std::uint64_t load_generation();

extern std::atomic<const std::uint64_t*>
    loader_add_count;  ///< the loader's count of objects ever added; nullptr: unknown, or not searched for yet

extern std::atomic<const std::uint32_t*>
    loader_object_count;  ///< loader's count of loaded objects; nullptr: not known

/// Returns the same number as load_generation(), by two memory reads and without an elf::ReadGuard; 0 if the loader's
/// counter is unknown.
[[gnu::always_inline]] inline std::uint64_t quick_load_generation() {
    const std::uint64_t* adds = loader_add_count.load(std::memory_order_acquire);
    return adds == nullptr ? 0 : __atomic_load_n(adds, __ATOMIC_ACQUIRE);
}

/// Returns a number that changes when objects are added or removed. Needs four memory reads. Returns 0 if the
/// loader's counters are unknown.
inline std::uint64_t load_unload_generation() {
    const std::uint64_t adds = quick_load_generation();
    const std::uint32_t* loaded = loader_object_count.load(std::memory_order_acquire);
    return adds == 0 || loaded == nullptr ? 0 : adds << 24 ^ __atomic_load_n(loaded, __ATOMIC_ACQUIRE);
}

}  // namespace fp32shim
