#include "cli/source_locations/function_symbols.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "cli/source_locations/function_names.hpp"
#include "shim/where/native/symbol_choice.hpp"

namespace fp32shim::cli {

FunctionSymbols::FunctionSymbols(SymbolTable table, bool is_exported)
    : names_(std::move(table.names)), is_exported_(is_exported) {
    std::copy_if(table.symbols.rbegin(), table.symbols.rend(), std::back_inserter(functions_), where::is_function);
    std::stable_sort(functions_.begin(), functions_.end(), [](const Elf64_Sym& left, const Elf64_Sym& right) {
        return std::pair(left.st_value, where::rank_of(left)) < std::pair(right.st_value, where::rank_of(right));
    });
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
        const Elf64_Sym& function = functions_[i];
        const std::uint64_t end = function.st_value + function.st_size;
        map_.add(function.st_value, end < function.st_value ? UINT64_MAX : end, i);
    }
    map_.build();
}

bool FunctionSymbols::set_name(std::uint64_t address, SourceLocation& location) const {
    const Elf64_Sym* found = nullptr;
    if (const auto index = map_.find(address)) {
        found = &functions_[*index];
    } else {
        const auto after = std::upper_bound(
            functions_.begin(), functions_.end(), address,
            [](std::uint64_t value, const Elf64_Sym& function) { return value < function.st_value; });
        if (after == functions_.begin()) return false;
        found = &*std::prev(after);
        if (found->st_size != 0 || address - found->st_value >= where::reach_without_size) return false;
    }
    if (found->st_name >= names_.size()) return false;
    const char* begin = names_.data() + found->st_name;
    const std::string symbol(begin,
                             strnlen(begin, std::min(names_.size() - found->st_name, where::symbol_limit + 1)));
    if (symbol.empty() || symbol.size() > where::symbol_limit) return false;
    location.symbol = function_name(symbol);
    location.clone = clone_suffix(symbol);
    location.exported = is_exported_ ? symbol : std::string();
    location.symbol_offset = address - found->st_value;
    return true;
}

}  // namespace fp32shim::cli
