#include <cstdlib>
#include <map>
#include <optional>

#include "cli/binaries/elf_file.hpp"
#include "cli/source_locations/debug_information.hpp"
#include "cli/source_locations/function_symbols.hpp"
#include "cli/source_locations/libdw.hpp"
#include "cli/source_locations/messages.hpp"

namespace fp32shim::cli {
namespace {

/// A file that is opened for the first question about it.
class OpenedFile {
  public:
    OpenedFile(const std::string& path, ReadableParts readable) {
        SymbolTables tables = read_symbol_tables(path);
        exported_.emplace(std::move(tables.exported), true);
        all_.emplace(std::move(tables.all), false);
        if (readable != ReadableParts::all || libdw() == nullptr) return;
        debug_.emplace(*libdw(), path);
        if (all_->is_empty()) all_.emplace(debug_->symbols(), false);
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
    std::optional<FunctionSymbols> exported_, all_;
    std::optional<DebugInformation> debug_;
};

}  // namespace

std::vector<SourceLocation> answer_question(const LocationQuestion& question) {
    // Must be unset before libdw is loaded, which would otherwise download debug information.
    unsetenv("DEBUGINFOD_URLS");
    static std::map<std::string, OpenedFile> files;
    OpenedFile& file = files.try_emplace(question.path, question.path, question.readable).first->second;
    std::vector<SourceLocation> locations;
    for (const std::uint64_t address : question.addresses) locations.push_back(file.find(address));
    return locations;
}

}  // namespace fp32shim::cli
