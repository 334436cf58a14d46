// Reads from ELF files what they require, import, export, hide and contain. No file is loaded or run.
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

/// The name of a symbol with its version, which may be empty.
struct ElfSymbol {
    std::string name;
    std::string version;

    bool operator==(const ElfSymbol&) const = default;
};

/// The facts about an ELF file that determine which object calls which. The lists of symbols contain only names that
/// pass the NameFilter, and each name once.
struct ElfFile {
    bool is_this_architecture = false;  ///< the ELF class, byte order and machine are those of fp32shim itself
    bool is_symbolic = false;           ///< the file was linked with -Bsymbolic, so its own symbols are found first
    bool has_search_path =
        false;                ///< the file names folders in which the loader looks for libraries (RPATH, RUNPATH)
    std::string interpreter;  ///< path of the loader (PT_INTERP); empty if there is none
    std::vector<std::uint8_t> build_id;  ///< build id (NT_GNU_BUILD_ID); empty if there is none
    std::vector<std::string> needed;
    std::vector<ElfSymbol> imports;   ///< names that need a relocation, even if the file defines them itself
    std::vector<ElfSymbol> exports;   ///< names to which other files can bind
    std::vector<std::string> hidden;  ///< functions that are not exported; empty if the file is stripped
};

/// A function that returns true for the names that read_elf() should keep.
using NameFilter = std::function<bool(std::string_view name)>;

/// Reads an ELF file. Returns nullopt if the file cannot be opened or is not an ELF file. Missing and damaged parts
/// count as absent, so no damage makes the function fail. If the file is for another architecture, only its header is
/// read.
std::optional<ElfFile> read_elf(const std::string& path, const NameFilter& wanted);

/// The symbols of one symbol table, and the bytes of the table that holds their names.
struct SymbolTable {
    std::vector<Elf64_Sym> symbols;
    std::vector<char> names;
};

/// The two symbol tables of a file.
struct SymbolTables {
    SymbolTable exported;  ///< symbols in `.dynsym`
    SymbolTable all;       ///< symbols in `.symtab`, which strip removes
};

/// Reads the symbol tables of a file for this architecture. Missing and damaged parts count as absent.
SymbolTables read_symbol_tables(const std::string& path);

/// Returns the build id of a file, which is empty if the file has none. Returns nullopt if the file cannot be opened
/// or is not an ELF file for this architecture.
std::optional<std::vector<std::uint8_t>> read_build_id(const std::string& path);

/// Returns the bytes of a file's program headers without any change, or an empty list if none can be read.
std::vector<std::byte> read_program_headers(const std::string& path);

/// Those of the texts given to find_markers() that were found in the file.
using Markers = std::set<std::string_view>;

/// Returns those of `markers` that occur in the constants, data or symbol names of a file. Machine code for CPUs or
/// GPUs is not searched.
Markers find_markers(const std::string& path, std::span<const std::string_view> markers);

/// A function that is called with each piece of code. `size` is the number of bytes of `code` that precede the next
/// piece, and `offset` is the offset of `code` in the file.
using CodeVisitor = std::function<void(std::span<const std::uint8_t> code, std::size_t size, std::uint64_t offset)>;

/// Calls `visit` with the machine code of a file for this architecture. The code is in the executable sections or, if
/// the file has no sections, in the executable segments. It comes in pieces, each of which overlaps the next one by
/// `overlap` bytes.
void visit_machine_code(const std::string& path, std::size_t overlap, const CodeVisitor& visit);

}  // namespace fp32shim::cli
