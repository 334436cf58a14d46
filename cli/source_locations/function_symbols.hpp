// Finds the functions of a file in its symbol tables.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/address_map.hpp"
#include "cli/source_locations/source_locations.hpp"

namespace fp32shim::cli {

/// Functions of one symbol table. If several names fit, the rules of shim/where/native/symbol_choice.hpp decide.
class FunctionSymbols {
  public:
    /// `is_exported`: the table has the functions that the object exports.
    FunctionSymbols(SymbolTable table, bool is_exported);

    bool is_empty() const { return functions_.empty(); }
    /// Sets the name of the function at `address` in `location`. Returns false if the table has none.
    bool set_name(std::uint64_t address, SourceLocation& location) const;

  private:
    std::vector<Elf64_Sym> functions_;  ///< sorted by address, rank, and index from the end of the table; later
                                        ///< entries are preferred
    std::vector<char> names_;
    AddressMap map_;
    bool is_exported_;
};

}  // namespace fp32shim::cli
