// Reads ELF files: what they require, import, export, hide and contain. Nothing is loaded or run.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A symbol with its version, which may be empty.
struct ElfSymbol {
    std::string name;
    std::string version;

    bool operator==(const ElfSymbol&) const = default;
};

/// Facts of an ELF file that determine which object calls which. The lists contain only symbols that pass the
/// NameFilter, each once.
struct ElfFile {
    bool is_this_architecture = false;   ///< ELF class, byte order and machine are those of fp32shim itself
    bool is_symbolic = false;            ///< linked with -Bsymbolic: finds its own symbols first
    bool has_search_path = false;        ///< names folders in which the loader looks for libraries (RPATH, RUNPATH)
    std::string interpreter;             ///< path of the loader (PT_INTERP); empty: none
    std::vector<std::uint8_t> build_id;  ///< build id (NT_GNU_BUILD_ID); empty: none
    std::vector<std::string> needed;
    std::vector<ElfSymbol> imports;   ///< names that need a relocation, even if the file defines them itself
    std::vector<ElfSymbol> exports;   ///< names to which other files can bind
    std::vector<std::string> hidden;  ///< functions that are not exported; empty if the file is stripped
};

/// Returns true for names that read_elf() should keep.
using NameFilter = std::function<bool(std::string_view name)>;

/// Reads the file. Returns nullopt if it cannot be opened or is not an ELF file. Missing and damaged parts count as
/// absent, so no content makes this fail. If the file is for another architecture, only the header is read.
std::optional<ElfFile> read_elf(const std::string& path, const NameFilter& wanted);

/// Symbols of a file, with their names.
struct SymbolTable {
    std::vector<Elf64_Sym> symbols;
    std::vector<char> names;
};

/// Symbol tables of a file.
struct SymbolTables {
    SymbolTable exported;  ///< `.dynsym`
    SymbolTable all;       ///< `.symtab`, which strip removes
};

/// Reads the symbols of a file for this architecture. Missing and damaged parts count as absent.
SymbolTables read_symbol_tables(const std::string& path);

/// Reads the build id of a file; empty if it has none. Returns nullopt if the file cannot be opened or is not an ELF
/// file for this architecture.
std::optional<std::vector<std::uint8_t>> read_build_id(const std::string& path);

/// Returns the program headers of a file as they are in it; empty if it has none that can be read.
std::vector<std::byte> read_program_headers(const std::string& path);

/// Those of the searched texts that were found in a file.
using Markers = std::set<std::string_view>;

/// Returns those of `markers` that occur in the file's constants, data and names. Machine code is not searched,
/// neither for CPUs nor for GPUs.
Markers find_markers(const std::string& path, std::span<const std::string_view> markers);

/// Function that is called with a piece of code, the number of its bytes before the next piece begins, and its offset
/// in the file.
using CodeVisitor = std::function<void(std::span<const std::uint8_t> code, std::size_t size, std::uint64_t offset)>;

/// Passes on the machine code of a file for this architecture: its executable sections; in a file without sections,
/// its executable segments. Each piece overlaps the next one by `overlap` bytes.
void visit_machine_code(const std::string& path, std::size_t overlap, const CodeVisitor& visit);

}  // namespace fp32shim::cli
