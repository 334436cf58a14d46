// Records of loaded objects. Each has the object's name, its imports of intercepted functions, and the width of the
// integers that its functions take.
//
// An object is identified by its link_map, base, dynamic section and name together, because the loader reuses each of
// the four. When an object is unloaded, its record is marked and kept, because call sites may still refer to it. If
// the same file is loaded again at the same address, it gets the same record, so reloading a plugin for ever needs no
// more memory.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

enum class IntegerWidth : std::int8_t { not_probed = 0, bits32 = 32, bits64 = 64, unknown = -1 };

/// The way in which Fortran functions return complex numbers: in vector registers (gfortran), or through a pointer
/// that is passed as the first argument (Intel).
enum class ComplexResults : std::uint8_t { not_probed, in_registers, by_pointer };

/// The type in which Fortran functions on float32 return a number: float32 (gfortran), or float64 (f2c, g77).
enum class RealResults : std::uint8_t { not_probed, float32, float64 };

/// A relocation of an object against an intercepted function.
struct FunctionImport {
    std::int16_t function;  ///< a FunctionIndex
    std::uint32_t symbol;   ///< index into the object's symbol table
    ElfW(Addr) slot;  ///< the place where the loader stores the function's address, relative to the object's base

    bool operator==(const FunctionImport&) const = default;
};

struct ImportTable {
    const FunctionImport* imports;
    std::size_t count;
    ElfW(Addr) getenv_slot;  ///< like FunctionImport::slot, but for getenv; 0 if the object does not import getenv
    ElfW(Addr) dlsym_slot;   ///< like FunctionImport::slot, but for dlsym; 0 if the object does not import dlsym
};

/// The record of a loaded object. Never freed. `map` may only be dereferenced while `loaded` is true.
struct LoadedObject {
    const link_map* map;
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
    std::string_view name;  ///< the base name of the object's file
    std::atomic<bool> loaded{true};
    std::atomic<IntegerWidth> width{IntegerWidth::not_probed};
    std::atomic<ComplexResults> complex_results{ComplexResults::not_probed};
    std::atomic<RealResults> real_results{RealResults::not_probed};
    std::atomic<std::uint32_t> loads{
        0};  ///< the number of times that the file was loaded again and this record was reused
    std::atomic<const ImportTable*> imports{nullptr};  ///< the imports, which are read when they are first needed
    std::atomic<bool> imports_are_old{false};  ///< true if the file was unloaded and loaded again after `imports` was
                                               ///< read, so `imports` must be read again
    std::atomic<std::uint8_t> onednn{
        0};  ///< what is known of oneDNN and XLA in the object, as bits such as record::format::object_tells
    /// True if the library was seen to multiply by calling the shim's entry points.
    std::atomic<bool> calls_back{false};
    std::atomic<std::uint32_t> stamp{0};  ///< the number of the last walk of the loader's list that found the object
    LoadedObject* next = nullptr;
};

/// Returns the record of an object in the loader's list. Makes the record on first use. Thread-safe, lock-free.
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

/// Returns true if the import refers to a variable that the object itself defines under the name of an intercepted
/// function.
inline bool is_own_variable(const elf::ObjectTables& object, const FunctionImport& import) {
    const ElfW(Sym)& symbol = object.symbols[import.symbol];
    return symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 15) == STT_OBJECT;
}

/// Returns the index, in the object's symbol table, of the symbol by which the object imports `function`, or -1 if it
/// does not import it. An object imports a name if it has a relocation against the name, even if it also defines the
/// name (PyPI's torch calls its own `sgemm_` through its procedure linkage table).
std::int32_t find_import_symbol(LoadedObject& object, FunctionIndex function);

/// Marks the records of objects that are no longer in the loader's list. Returns true if it marked any. Costs two
/// memory reads if nothing was unloaded since the previous call. Also notices unloads that bypassed the shim's
/// dlclose.
bool mark_unloaded_objects();

/// Returns a number that changes when objects are added; never 0. The number is the loader's counter if that was
/// found. Otherwise it is a hash of the loader's list, which also changes when objects are removed. Precondition: an
/// elf::ReadGuard is held.
std::uint64_t load_generation();

extern std::atomic<const std::uint64_t*> loader_add_count;  ///< the loader's count of objects ever added; nullptr if
                                                            ///< it is unknown or was not searched for yet

extern std::atomic<const std::uint32_t*> loader_object_count;  ///< the loader's count of loaded objects; nullptr if
                                                               ///< it is unknown or was not searched for yet

/// Returns the same number as load_generation(), by two memory reads and without an elf::ReadGuard. Returns 0 if the
/// loader's counter is unknown.
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
