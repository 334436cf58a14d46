#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/address_map.hpp"
#include "cli/source_locations/debug_information.hpp"
#include "cli/source_locations/function_names.hpp"
#include "cli/source_locations/libdw.hpp"
#include "cli/source_locations/messages.hpp"
#include "cli/source_locations/source_locations.hpp"
#include "shim/where/native/symbol_choice.hpp"

namespace fp32shim::cli {
namespace {

// ---- The following code finds the functions of a file in the file's symbol tables.

/// The functions of one symbol table. If several names fit an address, the rules of
/// shim/where/native/symbol_choice.hpp decide which of them is used.
class FunctionSymbolTable {
  public:
    /// `is_exported` is true if the table lists the functions that the object exports.
    FunctionSymbolTable(SymbolTable table, bool is_exported);

    bool is_empty() const { return functions_.empty(); }
    /// Sets the name of the function at `address` in `location`. Returns false if the table has no function there.
    bool set_name(std::uint64_t address, SourceLocation& location) const;

  private:
    std::vector<Elf64_Sym> functions_;  ///< sorted by address, by symbol_rank() and by index from the end of the
                                        ///< table; later entries are preferred
    std::vector<char> names_;
    AddressMap map_;
    bool is_exported_;
};

FunctionSymbolTable::FunctionSymbolTable(SymbolTable table, bool is_exported)
    : names_(std::move(table.names)), is_exported_(is_exported) {
    std::copy_if(table.symbols.rbegin(), table.symbols.rend(), std::back_inserter(functions_), where::is_function);
    std::ranges::stable_sort(functions_, {}, [](const Elf64_Sym& function) {
        return std::pair(function.st_value, where::symbol_rank(function));
    });
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
        const Elf64_Sym& function = functions_[i];
        const std::uint64_t end = function.st_value + function.st_size;
        map_.add_range(function.st_value, end < function.st_value ? UINT64_MAX : end, i);
    }
    map_.build_index();
}

bool FunctionSymbolTable::set_name(std::uint64_t address, SourceLocation& location) const {
    const Elf64_Sym* found = nullptr;
    if (const auto index = map_.value_at(address)) {
        found = &functions_[*index];
    } else {
        const auto after = std::ranges::upper_bound(functions_, address, {}, &Elf64_Sym::st_value);
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

/// A file whose symbols and debug information are read once, when the first question about the file comes.
class SymbolizedFile {
  public:
    SymbolizedFile(const std::string& path, ReadableParts readable) {
        SymbolTables tables = read_symbol_tables(path);
        exported_.emplace(std::move(tables.exported), true);
        all_.emplace(std::move(tables.all), false);
        if (readable != ReadableParts::all || load_libdw() == nullptr) return;
        debug_.emplace(*load_libdw(), path);
        if (all_->is_empty()) all_.emplace(debug_->separate_symbols(), false);
    }

    SourceLocation find(std::uint64_t address) {
        SourceLocation location;
        if (exported_->set_name(address, location) || all_->set_name(address, location)) ++location.symbol_offset;
        if (debug_)
            debug_->find_location(address, location);
        else
            location.why_unknown = "can be searched for lines only with libdw.so.1 (Debian's package libdw1)";
        return location;
    }

  private:
    std::optional<FunctionSymbolTable> exported_, all_;
    std::optional<DebugInformation> debug_;
};

}  // namespace

std::vector<SourceLocation> locate_addresses(const LocationQuestion& question) {
    // The variable must be unset before libdw is loaded, because libdw would otherwise download debug information.
    unsetenv("DEBUGINFOD_URLS");
    static std::map<std::string, SymbolizedFile> files;
    SymbolizedFile& file = files.try_emplace(question.path, question.path, question.readable).first->second;
    std::vector<SourceLocation> locations;
    for (const std::uint64_t address : question.addresses) locations.push_back(file.find(address));
    return locations;
}

}  // namespace fp32shim::cli
