// Reads the debug information (DWARF) of one file with libdw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/address_map.hpp"
#include "cli/source_locations/libdw.hpp"
#include "cli/source_locations/source_locations.hpp"

namespace fp32shim::cli {

/// The functions and source lines of a file. Addresses are those in the file. The class must be used in a child
/// process, because a malicious file may make libdw crash or run forever.
class DebugInformation {
  public:
    /// Opens the file, and finds its debug information in the file itself or in a separate file.
    DebugInformation(const Libdw& libdw, const std::string& path);

    /// Finds the functions and lines at an address. Sets `location.frames` or, if there is no debug information for
    /// the address, `location.why_unknown`.
    void find_location(std::uint64_t address, SourceLocation& location);

    /// Returns the symbols in the separate file that contains the debug information.
    SymbolTable separate_symbols();

  private:
    /// The code of a function, or of a call of a function that was inlined.
    struct FunctionCode {
        Dwarf_Die entry;
        std::uint32_t
            outer;  ///< index in CompilationUnit::all of the enclosing function; no_function if there is none
        bool is_inlined;
    };
    /// A compilation unit, which is a source file with everything that it includes.
    struct CompilationUnit {
        Dwarf_Die lines;           ///< DWARF entry that has the table of lines
        Dwarf_Die functions = {};  ///< DWARF entry that contains the functions; it may be in a .dwo file
        bool is_read = false;
        std::vector<FunctionCode> all;
        AddressMap by_address;
    };
    /// A position in a source file.
    struct SourcePosition {
        std::string file;
        int line = 0;
    };
    static constexpr std::uint32_t no_function = UINT32_MAX;

    void open_file(const std::string& path);
    void index_units();
    void read_unit(CompilationUnit& unit);
    void add_ranges(Dwarf_Die& entry, std::uint32_t number, AddressMap& map) const;
    void read_functions(CompilationUnit& unit, Dwarf_Die& parent, std::uint32_t outer, int depth);
    void read_function(CompilationUnit& unit, Dwarf_Die& entry, bool is_inlined, std::uint32_t outer, int depth);
    SourcePosition position_of(CompilationUnit& unit, std::uint64_t address);
    SourcePosition position_of_call(CompilationUnit& unit, Dwarf_Die& inlined);
    const std::string& absolute_source_path(CompilationUnit& unit, const char* file);
    const std::string& function_name_of(Dwarf_Die entry);
    std::string build_function_name(Dwarf_Die& entry);
    std::string name_with_scopes(Dwarf_Die& entry, const char* name);
    const char* string_attribute(Dwarf_Die& entry, unsigned attribute) const;
    std::optional<std::uint64_t> number_attribute(Dwarf_Die& entry, unsigned attribute) const;

    const Libdw& libdw_;
    std::unique_ptr<Dwfl, void (*)(Dwfl*)> session_;
    Dwfl_Module* module_ = nullptr;
    Dwarf_Addr bias_ = 0;  ///< difference between addresses in the file and in its debug information
    std::string problem_;  ///< reason why there is no debug information; empty if there is some
    std::vector<CompilationUnit> units_;
    AddressMap units_by_address_;
    std::unordered_map<const void*, std::string>
        names_;  ///< function names by the address of the function's DWARF entry
    std::map<std::pair<const void*, const char*>, std::string>
        paths_;  ///< absolute paths by compilation unit and file name
};

}  // namespace fp32shim::cli
