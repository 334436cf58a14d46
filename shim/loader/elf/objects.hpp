// The loaded objects of this process, read from the loader's own list and each object's own tables.
//
// No dl* function is used: the loader's lock can be held by a thread that waits for this one (a constructor joins a
// thread which multiplies), and `dlsym` itself comes through here. Nothing outside this library is called.
//
// The list is read without the loader's lock. Additions are safe (the loader appends, then publishes). A removal
// is not: every reader holds a Reading (readers.hpp), for which the shim's dlclose waits.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::elf {

/// The tables of one loaded object. A copy of pointers into it: valid while the object is loaded.
struct Object {
    const link_map* map = nullptr;
    ElfW(Addr) base = 0;  ///< l_addr, which is added to the addresses in the file
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint32_t* sysv_hash = nullptr;
    const ElfW(Half) * versions = nullptr;  ///< DT_VERSYM: one per symbol
    const ElfW(Verdef) * version_definitions = nullptr;
    const ElfW(Verneed) * version_needs = nullptr;
    const ElfW(Rela) * relocations = nullptr;
    std::size_t relocation_count = 0;
    std::size_t relative_count = 0;  ///< leading entries of `relocations` that name no symbol
    const ElfW(Rela) * plt_relocations = nullptr;
    std::size_t plt_relocation_count = 0;
    std::string_view name() const;
};

/// Reads an object's tables by its dynamic section. An object that is no longer mapped has no tables.
Object read_object(const link_map* map);

/// Returns the base name of an object's file; the program's own for the main program. Reads only the loader's data,
/// not the object's memory.
std::string_view name_of(const link_map* map);

/// Returns the first object of the loader's list: the main program.
const link_map* first_object();

/// The loader's own counters: reading one tells if objects were added, reading both tells if any were removed.
struct LoaderCounts {
    const std::uint64_t* adds = nullptr;    ///< objects ever added to a list; nullptr: not found (unknown C library)
    const std::uint32_t* loaded = nullptr;  ///< objects that are in first_object()'s list; nullptr: not found
};
LoaderCounts find_loader_counts();

/// Returns true if the loader's list has the object. The pointer need not be valid.
bool is_in_list(const link_map* wanted);
const link_map* own_object();
bool is_own_code(ElfW(Addr) address);

/// Returns true if the object's pages are mapped. The loader first unmaps an object, and then takes it off its list.
/// A child that was forked between these two steps keeps the unmapped object on its list for ever.
bool is_mapped(const link_map* map);

/// Returns true if the eight aligned bytes around an address can be read. Asks the kernel. Safe in signal handlers.
bool is_readable(ElfW(Addr) address);

/// Returns true if every object of the list was mapped when this process was forked, so far as that can be known.
/// False if another thread of the parent was in dlclose at the fork.
bool is_list_complete();

/// Returns true if the object has segments that contain the address.
bool contains(const link_map* map, ElfW(Addr) address);

/// Returns the program headers of an object; empty: unknown. Precondition: the object is mapped.
std::span<const ElfW(Phdr)> program_headers(const link_map* map);

/// Returns the identification that the linker gave the object's file (NT_GNU_BUILD_ID); empty: it has none.
std::span<const std::uint8_t> build_id(const link_map* map);

/// Returns the object that contains an address, or nullptr (code made at run time).
const link_map* object_at(ElfW(Addr) address);

/// Returns the object that contains an address in a segment of code, or nullptr.
const link_map* object_with_code_at(ElfW(Addr) address);

/// The version that an import names or a definition carries; `name` empty: none.
struct Version {
    std::string_view name;
    bool hidden = false;  ///< a definition that only a reference with this version may bind to
};

/// Returns the version of symbol number `index`: of its definition if it is defined, else of the reference.
Version version_of(const Object& object, std::size_t index);

/// Returns the symbol of the definition in this object that a reference to `name` (with `version`, empty for none)
/// binds to, or nullptr. Weak definitions count; undefined, local and hidden-version ones do not.
const ElfW(Sym) * find_definition(const Object& object, std::string_view name, std::string_view version);

/// Calls `visit(symbol, relocation)` for each relocation by which the loader stores the address of a symbol, given by
/// its number: calls through the procedure linkage table, the global offset table, and pointers in the object's data.
template <class Visit>
void for_each_reference(const Object& object, Visit visit) {
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

/// Returns the address of a definition; asks an indirect function (STT_GNU_IFUNC) for its target.
ElfW(Addr) address_of(const Object& object, const ElfW(Sym) & symbol);

/// The objects in the order in which a reference is looked up, as the loader keeps it. Read live: the loader replaces
/// the array when it grows, so every access checks that the array it read is still the current one.
class Scope {
  public:
    Scope() = default;
    explicit Scope(const void* fields) : fields_(fields) {}
    std::size_t count() const;
    const link_map* at(std::size_t index) const;

  private:
    const void* fields_ = nullptr;  ///< PrivateFields of objects.cpp
};

/// Returns the main program's scope: the program, preloaded objects, their dependencies, then all that was opened
/// RTLD_GLOBAL. Empty if the loader's records could not be found (unknown C library); callers then use load order.
Scope global_scope();

/// Returns the scope of an object that was opened by dlopen: itself and its dependencies. Empty for an object that
/// came as a dependency of another.
Scope own_scope(const link_map* map);

}  // namespace fp32shim::elf
