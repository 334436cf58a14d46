// What an ELF file says about itself, read from the file: nothing is loaded, nothing runs. First step of all that
// `fp32shim doctor` says about a program and its libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A symbol by name and version; the version is empty where it has none.
struct ElfSymbol {
    std::string name;
    std::string version;

    bool operator==(const ElfSymbol&) const = default;
};

/// The parts of an ELF file that decide who calls whom. Lists hold the wanted names only, each once.
struct ElfFile {
    bool is_this_architecture = false;   ///< class, byte order and machine are those of this program
    std::string machine;                 ///< `x86-64`, `aarch64`, `i386`, …
    bool is_dynamic = false;             ///< the loader has something to do: a dynamic section
    bool is_symbolic = false;            ///< -Bsymbolic: looks into itself before the global scope
    std::string interpreter;             ///< empty: none
    std::string soname;                  ///< empty: none
    std::vector<std::uint8_t> build_id;  ///< NT_GNU_BUILD_ID; empty: none
    std::vector<std::string> needed;
    std::vector<ElfSymbol> imports;   ///< names with a relocation, also where the file defines them itself
    std::vector<ElfSymbol> exports;   ///< names that others can bind to
    std::vector<std::string> hidden;  ///< defined, and not exported: seen only where the file is not stripped
};

using NameFilter = std::function<bool(std::string_view name)>;

/// Reads the file; nullopt where it cannot be opened or is no ELF file. Parts that are cut off or broken count as
/// absent: no content of a file makes this fail. Of a file for another architecture only the head is read.
std::optional<ElfFile> read_elf(const std::string& path, const NameFilter& wanted);

/// Which of `markers` the file contains: in its constants, data and names, not in its code or GPU code.
std::vector<bool> find_markers(const std::string& path, std::span<const std::string_view> markers);

}  // namespace fp32shim::cli
