#include "shim/where/native/exported_function.hpp"

#include <cstring>
#include <span>

#include "shim/loader/elf/objects.hpp"
#include "shim/where/native/symbol_choice.hpp"
#include "system/elf.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::where {
namespace {

/// Returns the number of symbols in the loaded table of exported names. The table has no field for this number.
std::uint64_t symbol_count(const elf::ObjectTables& object) {
    if (object.gnu_hash == nullptr) return object.sysv_hash == nullptr ? 0 : object.sysv_hash[1];
    return system::symbols_in_gnu_hash(
        [&](std::uint64_t first, std::uint64_t count) { return std::span(object.gnu_hash + first, count); });
}

// A thread in dlclose waits some 20 ms for readers of the loader's tables, so a search that takes longer than 15 ms
// is given up.
constexpr std::int64_t longest_search_ns = 15'000'000;
constexpr std::uint64_t symbols_between_clock_reads = 65536;

}  // namespace

ExportedFunction exported_caller(const link_map* object, std::uintptr_t return_address) {
    if (object == nullptr || !elf::is_mapped(object)) return {};
    // This address lies inside the call instruction, which may be the last one of its function.
    const std::uint64_t address = return_address - 1 - object->l_addr;
    const elf::ObjectTables tables = elf::read_object_tables(object);
    if (tables.symbols == nullptr || tables.strings == nullptr) return {};
    SymbolChoice choice(address);
    const std::uint64_t count = symbol_count(tables);
    const std::int64_t end = system::raw::clock_ns(CLOCK_MONOTONIC) + longest_search_ns;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (i % symbols_between_clock_reads == symbols_between_clock_reads - 1 &&
            system::raw::clock_ns(CLOCK_MONOTONIC) > end)
            return {};
        choice.consider(tables.symbols[i]);
    }
    const Elf64_Sym& found = choice.best();
    if (found.st_name == 0) return {};
    const char* const name = tables.strings + found.st_name;
    const std::size_t size = strnlen(name, symbol_limit + 1);
    return size > symbol_limit ? ExportedFunction{} : ExportedFunction{{name, size}, address + 1 - found.st_value};
}

}  // namespace fp32shim::where
