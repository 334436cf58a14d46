// Chooses the symbol that names an address, among the symbols of a table. The shim and the command `fp32shim` make
// the same choice.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace fp32shim::where {

/// The length of the longest symbol name that is read. Longer names are treated as unknown.
inline constexpr std::size_t symbol_limit = 2048;

/// A function whose symbol has no size is taken to reach less than this number of bytes from its beginning.
inline constexpr std::uint64_t reach_without_size = 64 << 10;

/// Returns true if the symbol is a defined function with a name.
inline bool is_function(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0;
}

/// Returns the rank of a symbol among the symbols of one address; higher is better. Global symbols rank above weak
/// ones, and weak ones above local ones: other objects can use global and weak names but not local names, and a weak
/// name may be replaced.
inline unsigned symbol_rank(const Elf64_Sym& symbol) {
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    return binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 2 : binding == STB_WEAK ? 1 : 0;
}

/// Chooses the best name for one address among the symbols that it is given. Takes the function that begins last
/// among the functions that contain the address. If this function has several names, takes the name with the best
/// rank, and among equal ranks the first in the table. If no function contains the address, a function without a size
/// (hand-written assembly) can be chosen: the one that begins last before the address, unless another function lies
/// in between.
class SymbolChoice {
  public:
    explicit SymbolChoice(std::uint64_t address) : address_(address) {}

    void consider(const Elf64_Sym& symbol) {
        if (!is_function(symbol) || symbol.st_value > address_) return;
        if (is_better_than(symbol, nearest_symbol_)) nearest_symbol_ = symbol;
        if (address_ - symbol.st_value < symbol.st_size && is_better_than(symbol, covering_symbol_))
            covering_symbol_ = symbol;
    }

    /// Returns the chosen symbol; its st_name is 0 if there is none.
    const Elf64_Sym& best() const {
        const bool may_reach =
            nearest_symbol_.st_size == 0 && address_ - nearest_symbol_.st_value < reach_without_size;
        return covering_symbol_.st_name != 0 || !may_reach ? covering_symbol_ : nearest_symbol_;
    }

  private:
    static bool is_better_than(const Elf64_Sym& symbol, const Elf64_Sym& known) {
        if (known.st_name == 0 || symbol.st_value > known.st_value) return true;
        return symbol.st_value == known.st_value && symbol_rank(symbol) > symbol_rank(known);
    }

    std::uint64_t address_;
    Elf64_Sym covering_symbol_{};
    Elf64_Sym nearest_symbol_{};
};

}  // namespace fp32shim::where
