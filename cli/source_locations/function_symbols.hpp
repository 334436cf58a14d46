// The functions of a file by its tables of symbols.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/address_map.hpp"
#include "cli/source_locations/source_locations.hpp"

namespace fp32shim::cli {

/// Functions of one table. Names them by the choice of shim/where/native/symbol_choice.hpp.
class FunctionSymbols {
  public:
    explicit FunctionSymbols(SymbolTable table);

    bool is_empty() const { return functions_.empty(); }
    /// Puts the name of the function at `address` into `location`. Returns false if the table has none.
    bool name(std::uint64_t address, SourceLocation& location) const;

  private:
    std::vector<Elf64_Sym> functions_;  ///< by rising preference: begin, rank, and index in the table from its end on
    std::vector<char> names_;
    AddressMap map_;
};

/// Returns a mangled name of C++ in full, without parameters and return type; other names as where::function_name
/// does.
std::string demangled_function(const std::string& symbol);

}  // namespace fp32shim::cli
