// The loaded objects of this process, read from the loader's own list and each object's own tables.
//
// The code uses no dl* function, for two reasons. A thread that waits for the calling thread may hold the loader's
// lock, for example in a constructor that joins a thread which multiplies. Also, the shim's own `dlsym` uses the
// code, which therefore must not call dlsym. The code calls nothing outside this library except getauxval and the
// resolvers of indirect functions.
//
// The list is read without the loader's lock. Additions are safe, because the loader completes an entry before it
// publishes it. Removals are not safe, so every reader holds a ReadGuard (readers.hpp), and the shim's dlclose waits
// for readers.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::elf {

/// Pointers to the tables of one loaded object. Valid while the object is loaded.
struct ObjectTables {
    const link_map* map = nullptr;
    ElfW(Addr) base = 0;  ///< l_addr, which the loader adds to the addresses in the file
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint32_t* sysv_hash = nullptr;
    const ElfW(Half) * versions = nullptr;  ///< the table DT_VERSYM, which has one entry per symbol
    const ElfW(Verdef) * version_definitions = nullptr;
    const ElfW(Verneed) * version_needs = nullptr;
    const ElfW(Rela) * relocations = nullptr;
    std::size_t relocation_count = 0;
    std::size_t relative_count = 0;  ///< the number of entries at the beginning of `relocations` that name no symbol
    const ElfW(Rela) * plt_relocations = nullptr;
    std::size_t plt_relocation_count = 0;
    std::string_view name() const;
    /// Returns an index that is larger than the indices of all undefined symbols, or 0 if the hash tables do not tell
    /// one.
    std::uint32_t undefined_symbol_end() const;
};

/// Reads the addresses of an object's tables from its dynamic section. An object that is no longer mapped has no
/// tables.
ObjectTables read_object_tables(const link_map* map);

/// Returns the base name of an object's file; for the main program, the program's name. Reads only the loader's data,
/// not the object's memory.
std::string_view name_of(const link_map* map);

/// Returns the first object of the loader's list, which is the main program.
const link_map* first_object();

/// The loader's own counters. `adds` grows when objects are added. The difference between `adds` and `loaded` grows
/// when objects are removed.
struct LoaderCounters {
    /// The number of objects ever added to a list; nullptr if it was not found (unknown C library).
    const std::uint64_t* adds = nullptr;
    /// The number of objects in first_object()'s list; nullptr if it was not found.
    const std::uint32_t* loaded = nullptr;
};
LoaderCounters find_loader_counters();

/// Returns true if the loader's list contains this pointer, which need not be valid.
bool is_in_loader_list(const link_map* wanted);
const link_map* own_object();
bool is_own_code(ElfW(Addr) address);

/// Returns true if the object's pages are mapped. The loader unmaps an object before it removes it from its list. A
/// child forked between these two steps keeps the unmapped object on its list for ever.
bool is_mapped(const link_map* map);

/// Returns false if the loader's list contained an unmapped object when this process was forked, because another
/// thread of the parent was in dlclose. An object whose program headers are unknown counts as mapped.
bool is_loader_list_complete();

/// Returns true if a segment of the object contains the address.
bool object_contains(const link_map* map, ElfW(Addr) address);

/// Returns the program headers of an object, or an empty span if they are unknown. Precondition: the object is
/// mapped.
std::span<const ElfW(Phdr)> program_headers(const link_map* map);

/// Returns true if `is_in(std::string_view bytes)` returns true for a segment of constants or code. Segments without
/// code are tried first, because most libraries have their strings there. Precondition: the object is mapped.
template <class IsIn>
bool any_constant_segment(const link_map* map, const IsIn& is_in) {
    for (const bool is_code : {false, true}) {
        for (const ElfW(Phdr) & segment : program_headers(map)) {
            const bool is_constant = (segment.p_flags & PF_R) != 0 && (segment.p_flags & PF_W) == 0;
            if (segment.p_type != PT_LOAD || !is_constant || ((segment.p_flags & PF_X) != 0) != is_code) continue;
            const auto* const bytes = reinterpret_cast<const char*>(map->l_addr + segment.p_vaddr);
            if (is_in(std::string_view(bytes, segment.p_filesz))) return true;
        }
    }
    return false;
}

/// Returns the build id that the linker wrote into the object's file (NT_GNU_BUILD_ID), or an empty span if there is
/// none.
std::span<const std::uint8_t> build_id(const link_map* map);

/// Returns the object that contains an address, or nullptr (for example, for code generated at run time).
const link_map* object_at(ElfW(Addr) address);

/// Returns the object with a segment of code that contains the address, or nullptr.
const link_map* object_with_code_at(ElfW(Addr) address);

/// The version that an import asks for, or that a definition has. An empty `name` means no version.
struct SymbolVersion {
    std::string_view name;
    bool hidden = false;  ///< only a reference with exactly this version may bind to the definition
};

/// Returns the version of symbol number `index`. For a defined symbol, this is the definition's version, otherwise
/// the version that the reference asks for.
SymbolVersion version_of(const ObjectTables& object, std::size_t index);

/// Returns the symbol of the definition in this object to which a reference to `name` binds, or nullptr. `version` is
/// the version that the reference asks for, or empty. Weak definitions count, but undefined and local symbols do not.
/// Without a `version`, a hidden version is returned only if there is no default version.
const ElfW(Sym) * find_definition(const ObjectTables& object, std::string_view name, std::string_view version);

/// Calls `visit(symbol, relocation)` for each relocation that makes the loader store the address of a symbol: for
/// calls through the procedure linkage table, for the global offset table, and for pointers in the object's data.
/// `symbol` is the symbol's number.
template <class Visit>
void for_each_reference(const ObjectTables& object, Visit visit) {
#if defined(__x86_64__)
    constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT, absolute = R_X86_64_64;
#elif defined(__aarch64__)
    constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT,
                            absolute = R_AARCH64_ABS64;
#else
#error "fp32shim knows x86-64 and aarch64"
#endif
    const auto scan = [&](std::span<const ElfW(Rela)> relocations) {
        for (const ElfW(Rela) & relocation : relocations) {
            const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(relocation.r_info));
            const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
            if (symbol != 0 && (type == jump_slot || type == global_data || type == absolute))
                visit(symbol, relocation);
        }
    };
    if (object.symbols == nullptr || object.strings == nullptr) return;
    if (object.plt_relocations != nullptr) scan({object.plt_relocations, object.plt_relocation_count});
    if (object.relocations != nullptr && object.relative_count < object.relocation_count)
        scan({object.relocations + object.relative_count, object.relocation_count - object.relative_count});
}

/// Calls `visit(symbol)` with the number of each symbol that the object refers to and does not define. May visit a
/// symbol several times. Much faster than for_each_reference().
template <class Visit>
void for_each_undefined_symbol(const ObjectTables& object, Visit visit) {
    if (object.symbols == nullptr || object.strings == nullptr) return;
    const auto visit_undefined = [&](std::uint32_t symbol) {
        if (object.symbols[symbol].st_shndx == SHN_UNDEF) visit(symbol);
    };
    const std::uint32_t count = object.undefined_symbol_end();
    for (std::uint32_t symbol = 1; symbol < count; ++symbol) visit_undefined(symbol);
    // The hash tables of an object that defines nothing do not tell where the undefined symbols end.
    if (count == 0)
        for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela)&) { visit_undefined(symbol); });
}

/// Returns the address of a definition. Calls the resolver of an indirect function (STT_GNU_IFUNC).
ElfW(Addr) address_of(const ObjectTables& object, const ElfW(Sym) & symbol);

/// The objects that the loader searches for the definition of a reference, in the loader's order. The loader replaces
/// its array when the array grows, so every access reads the loader's data anew and checks that the array is still
/// the current one.
class SearchScope {
  public:
    SearchScope() = default;
    explicit SearchScope(const void* fields) : fields_(fields) {}
    std::size_t count() const;
    const link_map* at(std::size_t index) const;
    bool contains(const link_map* map) const;

  private:
    const void* fields_ = nullptr;  ///< points to a PrivateLinkMapFields of objects.cpp
};

/// Returns the main program's scope: the program, preloaded objects, their dependencies, then all objects opened with
/// RTLD_GLOBAL. The scope is empty if the loader's data could not be found (unknown C library); callers then use load
/// order.
SearchScope global_scope();

/// Returns the scope of an object that dlopen opened: the object and its dependencies. The scope is empty for an
/// object that was loaded as a dependency of another object.
SearchScope local_scope(const link_map* map);

}  // namespace fp32shim::elf
