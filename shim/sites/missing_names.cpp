// Handles names that the shim exports although no loaded library has the function.
//
// Without the shim, the loader stores NULL for a weak reference to a missing name, and programs test for NULL:
//
//     if (dgemm_64_) dgemm_64_(…); else dgemm_(…);
//
// A missing name must therefore not lead to the shim. The library's file exports all names as functions. While the
// loader relocates this library, it calls fp32shim_when_relocated(), which makes the names indirect (STT_GNU_IFUNC)
// in this process's copy of the symbol table. From then on the loader calls fp32shim_resolve() whenever it binds a
// reference. fp32shim_when_relocated() also clears the references that the loader bound before.
//
// Some libraries have variables with names such as `ddot`. The loader would bind references to these variables to the
// entry points. If a library that is loaded when the process starts has such a variable, fp32shim_when_relocated()
// hides the shim's name. For libraries that are loaded later, fp32shim_resolve() returns the variable. Thread-local
// variables with such names are not supported.
//
// If the settings cannot ask for kernels, fp32shim_when_relocated() also hides the names of the CUDA driver's
// functions, because some libraries have variables with these names.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <bitset>
#include <cstdint>
#include <span>

#include "shim/entry/entry_layout.h"
#include "shim/entry/gate.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/elf/slots.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/loader/provider.hpp"
#include "shim/settings/read_settings.hpp"
#include "system/elf.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {
namespace {

// A bit for each function to which some loaded object has had a reference that is not weak. No bit is ever cleared.
constexpr std::size_t word_bits = 64;
constinit std::atomic<std::uint64_t> needed_functions[(function_count + word_bits - 1) / word_bits]{};
constinit std::atomic<std::uint64_t> needed_at{
    0};  ///< load_generation() of the last search for references that are not weak

std::uint64_t bit_of(FunctionIndex function) { return std::uint64_t{1} << function % word_bits; }

std::atomic<std::uint64_t>& word_of(FunctionIndex function) { return needed_functions[function / word_bits]; }

/// Returns true if a loaded object has a reference to the function that is not weak. An elf::ReadGuard must be held.
bool is_needed(FunctionIndex function) {
    if (const std::uint64_t stamp = load_generation(); needed_at.load(std::memory_order_acquire) != stamp) {
        for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
            const elf::ObjectTables object = elf::read_object_tables(map);
            elf::for_each_undefined_symbol(object, [&](std::uint32_t symbol) {
                if (ELF64_ST_BIND(object.symbols[symbol].st_info) == STB_WEAK) return;
                const FunctionIndex found = find_function(object.strings + object.symbols[symbol].st_name);
                if (found >= 0) word_of(found).fetch_or(bit_of(found), std::memory_order_relaxed);
            });
        }
        needed_at.store(stamp, std::memory_order_release);
    }
    return (word_of(function).load(std::memory_order_relaxed) & bit_of(function)) != 0;
}

void* entry_point_of(FunctionIndex function) {
    return const_cast<char*>(fp32shim_entries) + function * FP32SHIM_ENTRY_SPACING;
}

/// Stores NULL for each weak reference of an object that the loader bound to the entry point of a missing function.
void clear_weak_references(const link_map* map) {
    const elf::ObjectTables object = elf::read_object_tables(map);
    const auto is_weak = [&](std::uint32_t symbol) {
        const ElfW(Sym)& reference = object.symbols[symbol];
        return ELF64_ST_BIND(reference.st_info) == STB_WEAK && reference.st_shndx == SHN_UNDEF;
    };
    const auto function_of = [&](std::uint32_t symbol) {
        return is_weak(symbol) ? find_function(object.strings + object.symbols[symbol].st_name) : -1;
    };
    bool has_any = false;
    elf::for_each_undefined_symbol(object,
                                   [&](std::uint32_t symbol) { has_any = has_any || function_of(symbol) >= 0; });
    if (!has_any) return;
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
        const FunctionIndex function = function_of(symbol);
        if (function < 0) return;
        const ElfW(Addr) slot = object.base + relocation.r_offset;
        // If the loader has not relocated the object yet, its slot has another value, and is left to the loader.
        if (*reinterpret_cast<const ElfW(Addr)*>(slot) != reinterpret_cast<ElfW(Addr)>(entry_point_of(function)))
            return;
        if (!is_provided(functions[function].name, elf::version_of(object, symbol).name))
            elf::change_slot(map, slot, 0);
    });
}

/// Returns true if the function's name may also be the name of a variable in some library. Such names are `ddot`, and
/// also `ddot_`, because Fortran compilers append the underscore to the names of common blocks.
bool may_be_variable(const Function& function) {
    const NameForm form = function.form;
    return (form == NameForm::bare || form == NameForm::upper || form == NameForm::underscored) &&
           has_vector(function.product().operation);
}

/// Returns the address of the variable that an object defines under this name; 0 if it defines none.
ElfW(Addr) variable_in(const elf::ObjectTables& object, std::string_view name) {
    const ElfW(Sym)* const known = elf::find_definition(object, name, {});
    return known != nullptr && ELF64_ST_TYPE(known->st_info) == STT_OBJECT ? object.base + known->st_value : 0;
}

/// A bit for each function whose name a library that is loaded at the start has given to a variable.
constinit std::bitset<function_count> names_of_variables;

/// Finds libraries with a variable that has the name of a function in the table. If the loader has bound references
/// to this name to the shim's entry point, changes them so that they lead to the variable. Notes the name in
/// `names_of_variables`, so that change_names() hides it.
void bind_references_to_variables() {
    const link_map* const own = elf::own_object();
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        const elf::ObjectTables object = elf::read_object_tables(map);
        for (FunctionIndex function = 0; function < function_count && map != own; ++function) {
            if (!may_be_variable(functions[function]) || names_of_variables[static_cast<std::size_t>(function)])
                continue;
            const ElfW(Addr) variable = variable_in(object, functions[function].name);
            if (variable == 0) continue;
            names_of_variables.set(static_cast<std::size_t>(function));
            const auto entry = reinterpret_cast<ElfW(Addr)>(entry_point_of(function));
            for (const link_map* other = elf::first_object(); other != nullptr; other = other->l_next)
                elf::for_each_reference(elf::read_object_tables(other),
                                        [&](std::uint32_t, const ElfW(Rela) & relocation) {
                                            const ElfW(Addr) slot = other->l_addr + relocation.r_offset;
                                            if (*reinterpret_cast<const ElfW(Addr)*>(slot) == entry)
                                                elf::change_slot(other, slot, variable);
                                        });
        }
    }
}

/// Is called while the loader binds a reference to `name`. Returns the address of the variable that the reference
/// means; 0 if the reference means a function. If a library has a variable of this name, but its own reference to the
/// name does not lead to the variable yet, the loader is just loading this library, so the reference means this
/// variable. If there is no such library, the result is 0 if `is_function` is true (some library has a function of
/// this name), and otherwise the variable of the library that was loaded last.
ElfW(Addr) wanted_variable(std::string_view name, bool is_function) {
    ElfW(Addr) last = 0;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
        const elf::ObjectTables object = elf::read_object_tables(map);
        const ElfW(Addr) variable = variable_in(object, name);
        if (variable == 0) continue;
        last = variable;
        bool is_unbound = false;
        elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
            const ElfW(Addr) slot = object.base + relocation.r_offset;
            is_unbound = is_unbound || (object.strings + object.symbols[symbol].st_name == name &&
                                        *reinterpret_cast<const ElfW(Addr)*>(slot) != variable);
        });
        if (is_unbound) return variable;
    }
    return is_function ? 0 : last;
}

/// Returns this library's own symbol table; empty if the library has no symbol table or no hash table for it.
std::span<ElfW(Sym)> own_symbols(const elf::ObjectTables& own) {
    if (own.symbols == nullptr || own.gnu_hash == nullptr) return {};
    const std::uint64_t count = system::symbols_in_gnu_hash(
        [&](std::uint64_t first, std::uint64_t size) { return std::span(own.gnu_hash + first, size); });
    return {const_cast<ElfW(Sym)*>(own.symbols), count};
}

/// Makes the exported names indirect in this process's copy of the symbol table, or hides them. If the table cannot
/// be changed, the names stay functions, and weak references that the loader binds from now on are never NULL.
void change_names() {
    const link_map* const map = elf::own_object();
    if (map == nullptr) return;
    const std::span<ElfW(Sym)> symbols = own_symbols(elf::read_object_tables(map));
    if (symbols.empty()) return;
    const auto begin = reinterpret_cast<ElfW(Addr)>(symbols.data()), end = begin + symbols.size_bytes();
    // Pages that contain code are not changed, because another thread may be running the code.
    if (elf::protection_at(map, begin) != PROT_READ) return;
    const elf::WritablePages writable(begin, end, PROT_READ);
    if (!writable) return;
    const ElfW(Addr) entries = reinterpret_cast<ElfW(Addr)>(fp32shim_entries) - map->l_addr;
    const bool hides_driver = !may_be_set_at_start("FP32_MATMUL_KERNELS");
    const ElfW(Addr) resolvers = reinterpret_cast<ElfW(Addr)>(fp32shim_resolvers) - map->l_addr;
    for (ElfW(Sym) & symbol : symbols) {
        const ElfW(Addr) function = (symbol.st_value - entries) / FP32SHIM_ENTRY_SPACING;
        if (symbol.st_value < entries || function >= function_count) continue;
        if ((hides_driver && functions[function].convention == CallingConvention::driver) ||
            names_of_variables[function]) {
            symbol.st_shndx = SHN_UNDEF;
            symbol.st_value = 0;
            continue;
        }
        symbol.st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_GNU_IFUNC);
        symbol.st_value = resolvers + function * FP32SHIM_RESOLVER_SPACING;
    }
}

void do_nothing() {}

using EmptyFunction = void();

}  // namespace
}  // namespace fp32shim

extern "C" {

/// The loader calls this function when it has applied all other relocations of this library. In libraries that the
/// loader relocated earlier, weak references may already lead to the shim's names. They can still be changed, because
/// the constructors of these libraries have not run yet. Calls no function of another library.
__attribute__((visibility("hidden"))) fp32shim::EmptyFunction* fp32shim_when_relocated() {
    using namespace fp32shim;
    const link_map* const own = elf::own_object();
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (map != own) {
            clear_weak_references(map);
            elf::rebind_own_variables(map, functions[row_cuLaunchKernel].name);
        }
    bind_references_to_variables();
    change_names();
    return do_nothing;
}

__attribute__((visibility("hidden"), ifunc("fp32shim_when_relocated"))) void fp32shim_relocated();
}

namespace fp32shim {
namespace {

/// Refers to the indirect function, so that the linker makes the relocation for which the loader calls
/// fp32shim_when_relocated().
__attribute__((constructor)) void refer_to_relocation() { fp32shim_relocated(); }

}  // namespace
}  // namespace fp32shim

void* fp32shim_resolve(fp32shim::FunctionIndex function) {
    using namespace fp32shim;
    const elf::ReadGuard reading;
    const std::string_view name = functions[function].name;
    const bool is_function = is_provided(name, {});
    if (may_be_variable(functions[function]))
        if (const ElfW(Addr) variable = wanted_variable(name, is_function); variable != 0)
            return reinterpret_cast<void*>(variable);
    // Without the shim, the loader would report an error for a reference that is not weak, either when it loads the
    // program or at the first call. So the reference is bound to the entry point. A call of the entry point ends the
    // process with a line that says why, as the loader would have done.
    const bool is_found = is_function || is_needed(function);
    return is_found ? entry_point_of(function) : nullptr;
}
