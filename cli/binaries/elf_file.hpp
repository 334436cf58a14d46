// Reads ELF files: what they need, import, export, hide and contain. Nothing is loaded or run.
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A symbol. The version may be empty.
struct ElfSymbol {
    std::string name;
    std::string version;

    bool operator==(const ElfSymbol&) const = default;
};

/// Facts of an ELF file that decide which object calls which. Symbols: those that pass the NameFilter, each once.
struct ElfFile {
    bool is_this_architecture = false;   ///< ELF class, byte order and machine are those of fp32shim itself
    bool is_symbolic = false;            ///< linked with -Bsymbolic: looks names up in itself first
    std::string interpreter;             ///< path of the loader (PT_INTERP); empty: none
    std::vector<std::uint8_t> build_id;  ///< NT_GNU_BUILD_ID; empty: none
    std::vector<std::string> needed;
    std::vector<ElfSymbol> imports;   ///< names with a relocation, even if the file defines them itself
    std::vector<ElfSymbol> exports;   ///< names that other files can bind to
    std::vector<std::string> hidden;  ///< functions that are not exported; empty if the file is stripped
};

/// Returns true for a name to keep.
using NameFilter = std::function<bool(std::string_view name)>;

/// Reads the file; nullopt if it cannot be opened or is no ELF file. Missing and broken parts count as absent, so no
/// content makes this fail. For another architecture, only the header is read.
std::optional<ElfFile> read_elf(const std::string& path, const NameFilter& wanted);

/// Table of a file's symbols, with their names.
struct SymbolTable {
    std::vector<Elf64_Sym> symbols;
    std::vector<char> names;
};

/// Names of a file's functions.
struct SymbolTables {
    SymbolTable exported;  ///< `.dynsym`
    SymbolTable all;       ///< `.symtab`, which strip removes
};

/// Reads the symbols of a file of this architecture. Missing and broken parts count as absent.
SymbolTables read_symbol_tables(const std::string& path);

/// Reads the build id of a file of this architecture, empty if it has none; nullopt: it cannot be opened, or is no
/// such file.
std::optional<std::vector<std::uint8_t>> read_build_id(const std::string& path);

/// Texts that were found in a file.
using Markers = std::set<std::string_view>;

/// Returns those of `markers` that the file contains in its constants, data and names. Code, also that for a GPU, is
/// not searched.
Markers find_markers(const std::string& path, std::span<const std::string_view> markers);

}  // namespace fp32shim::cli
