#include "shim/where/native/symbol.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

#include "shim/loader/elf/objects.hpp"
#include "shim/where/native/function_name.hpp"
#include "shim/where/native/symbol_choice.hpp"
#include "system/elf.hpp"
#include "system/inline_text.hpp"
#include "system/mapped_memory.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::where {
namespace {

constexpr std::int64_t patience_ns = 100'000'000;
constexpr std::size_t scratch_size = 64 << 10;

/// A point in time at which the search gives up.
class Deadline {
  public:
    Deadline() : end_(system::raw::clock_ns(CLOCK_MONOTONIC) + patience_ns) {}
    bool is_over() const { return system::raw::clock_ns(CLOCK_MONOTONIC) >= end_; }

  private:
    std::int64_t end_;
};

bool are_equal(const void* left, const void* right, std::size_t size) {
    return system::equal({static_cast<const char*>(left), size}, {static_cast<const char*>(right), size});
}

/// Copies a name from a table into `to` and returns it. Returns an empty text if it does not fit, or has no end
/// within the table.
std::string_view copied(const char* name, std::size_t room, std::span<char> to) {
    std::size_t size = 0;
    while (size < room && size < to.size() && name[size] != '\0') {
        to[size] = name[size];
        ++size;
    }
    return size < room && size < to.size() ? std::string_view(to.data(), size) : std::string_view();
}

/// Returns the number of symbols in the loaded table of exported names. The table has no field for it.
std::uint64_t symbol_count(const elf::Object& object) {
    if (object.gnu_hash == nullptr) return object.sysv_hash == nullptr ? 0 : object.sysv_hash[1];
    return system::symbols_in_gnu_hash(
        [&](std::uint64_t first, std::uint64_t count) { return std::span(object.gnu_hash + first, count); });
}

Elf64_Sym find_exported(const elf::Object& object, std::uint64_t address, const Deadline& deadline) {
    if (object.symbols == nullptr || object.strings == nullptr) return {};
    SymbolChoice choice(address);
    const std::uint64_t count = symbol_count(object);
    for (std::uint64_t i = 0; i < count; ++i) {
        if (i % 65536 == 65535 && deadline.is_over()) return {};
        choice.consider(object.symbols[i]);
    }
    return choice.best();
}

/// Returns true if the file is the one that was loaded: it has the program headers and build id that are in memory.
bool is_file_of(const link_map* map, const system::RawFile& file, const Elf64_Ehdr& header, char* scratch) {
    const auto loaded = elf::program_headers(map);
    const std::size_t size = loaded.size() * sizeof(Elf64_Phdr);
    if (loaded.empty() || size > scratch_size || header.e_phnum != loaded.size() ||
        file.read(header.e_phoff, scratch, size) != size || !are_equal(scratch, loaded.data(), size))
        return false;
    const std::span<const std::uint8_t> id = elf::build_id(map);
    if (id.empty()) return true;
    const auto address = reinterpret_cast<std::uintptr_t>(id.data()) - map->l_addr;
    for (const Elf64_Phdr& segment : loaded) {
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        return id.size() <= scratch_size &&
               file.read(segment.p_offset + (address - segment.p_vaddr), scratch, id.size()) == id.size() &&
               are_equal(scratch, id.data(), id.size());
    }
    return false;
}

/// Finds the section of a given type, and the section that it links to (a table's names).
bool find_table(const system::RawFile& file, const Elf64_Ehdr& header, Elf64_Shdr& table, Elf64_Shdr& names) {
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return false;
    const auto read_section = [&](std::uint32_t index, Elf64_Shdr& section) {
        return index < header.e_shnum && file.read_all(header.e_shoff + index * sizeof section, section);
    };
    for (std::uint32_t i = 0; read_section(i, table); ++i)
        if (table.sh_type == SHT_SYMTAB && table.sh_entsize == sizeof(Elf64_Sym))
            return read_section(table.sh_link, names) && names.sh_type == SHT_STRTAB;
    return false;
}

/// Finds the name of an address in the file's table of all symbols, and copies it into `to`. Sets `start` to the
/// address where the function begins.
std::string_view find_in_file(const link_map* map, std::uint64_t address, const Deadline& deadline,
                              std::uint64_t& start, std::span<char> to) {
    const bool is_program = map == elf::first_object() && map->l_name[0] == '\0';
    const system::RawFile file(is_program ? "/proc/self/exe" : map->l_name);
    const MappedMemory memory(scratch_size);
    char* const scratch = memory.bytes().data();
    Elf64_Ehdr header{};
    struct stat facts {};
    if (!file.is_regular(facts) || memory.bytes().empty() || !file.read_all(0, header) || !system::is_elf(header) ||
        !system::has_own_layout(header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
        !is_file_of(map, file, header, scratch))
        return {};
    Elf64_Shdr table{}, names{};
    if (!find_table(file, header, table, names)) return {};

    SymbolChoice choice(address);
    constexpr std::size_t chunk = scratch_size / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    for (std::uint64_t done = 0; done < table.sh_size && !deadline.is_over();) {
        const std::size_t wanted = std::min<std::uint64_t>(table.sh_size - done, chunk);
        const std::size_t got = file.read(table.sh_offset + done, scratch, wanted);
        const auto* symbols = reinterpret_cast<const Elf64_Sym*>(scratch);
        for (std::size_t i = 0; i < got / sizeof(Elf64_Sym); ++i) choice.consider(symbols[i]);
        if (got != wanted) return {};
        done += got;
    }
    const Elf64_Sym& found = choice.best();
    if (deadline.is_over() || found.st_name == 0 || found.st_name >= names.sh_size) return {};
    start = found.st_value;
    const std::size_t room = std::min<std::uint64_t>(names.sh_size - found.st_name, symbol_limit + 1);
    return copied(scratch, file.read(names.sh_offset + found.st_name, scratch, room), to);
}

}  // namespace

NamedAddress name_of_caller(const link_map* object, std::uintptr_t return_address, std::span<char> buffer) {
    if (object == nullptr || buffer.size() < 2 || !elf::is_mapped(object)) return {};
    const Deadline deadline;
    const std::uint64_t address = return_address - 1 - object->l_addr;  // in the call, even if it ends a function
    const std::span<char> symbol = buffer.subspan(0, std::min(buffer.size() / 2, symbol_limit + 1));
    const elf::Object tables = elf::read_object(object);
    const Elf64_Sym exported = find_exported(tables, address, deadline);
    std::uint64_t start = exported.st_value;
    const std::string_view found = exported.st_name != 0
                                       ? copied(tables.strings + exported.st_name, symbol_limit + 1, symbol)
                                       : find_in_file(object, address, deadline, start, symbol);
    if (found.empty()) return {.gave_up = deadline.is_over()};
    return {.name = function_name(found, buffer.subspan(symbol.size())),
            .clone = clone_suffix(found),
            .offset = address + 1 - start};
}

}  // namespace fp32shim::where
