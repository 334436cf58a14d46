
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/binaries/recorded_file.hpp"
#include "cli/source_locations/debug_information.hpp"
#include "cli/source_locations/function_symbols.hpp"
#include "cli/source_locations/libdw.hpp"
#include "cli/source_locations/messages.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::uint64_t memory_limit = std::uint64_t{8} << 30;

std::string why_unreadable(const record::RecordedObject& object) {
    if (!object.path.starts_with('/')) return "has no complete path";
    const auto build_id = read_build_id(object.path);
    return build_id ? why_another_file(object, *build_id) : "does not exist here, or cannot be read";
}

/// A file that is opened for the first question about it.
class OpenedFile {
  public:
    OpenedFile(const record::RecordedObject& object, Readable readable) : why_unreadable_(why_unreadable(object)) {
        if (!why_unreadable_.empty()) return;
        SymbolTables tables = read_symbol_tables(object.path);
        exported_.emplace(std::move(tables.exported), true);
        all_.emplace(std::move(tables.all), false);
        if (readable != Readable::all || libdw() == nullptr) return;
        debug_.emplace(*libdw(), object.path);
        if (all_->is_empty()) all_.emplace(debug_->symbols(), false);
    }

    SourceLocation find(std::uint64_t address) {
        SourceLocation location;
        location.why_unknown = why_unreadable_;
        if (!why_unreadable_.empty()) return location;
        if (exported_->name(address, location) || all_->name(address, location)) ++location.symbol_offset;
        if (debug_)
            debug_->find(address, location);
        else
            location.why_unknown = "can be searched for lines only with libdw.so.1 (Debian's package libdw1)";
        return location;
    }

  private:
    std::string why_unreadable_;
    std::optional<FunctionSymbols> exported_, all_;
    std::optional<DebugInformation> debug_;
};

class OpenedFiles {
  public:
    std::vector<SourceLocation> answer(const LocationQuestion& question) {
        std::unique_ptr<OpenedFile>& file = files_[question.object];
        if (file == nullptr) file = std::make_unique<OpenedFile>(question.facts, question.readable);
        std::vector<SourceLocation> locations;
        for (const std::uint64_t address : question.addresses) locations.push_back(file->find(address));
        return locations;
    }

  private:
    std::map<std::uint32_t, std::unique_ptr<OpenedFile>> files_;
};

/// Limits this process, so that a malicious file can do no more than end it.
void restrict_process() {
    for (const int signal_number : {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
        signal(signal_number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    rlimit memory{};
    if (getrlimit(RLIMIT_DATA, &memory) == 0 && memory.rlim_cur > memory_limit) {
        memory.rlim_cur = memory_limit;
        setrlimit(RLIMIT_DATA, &memory);
    }
    unsetenv("DEBUGINFOD_URLS");  // must be unset before libdw is loaded, which would otherwise download debug
                                  // information
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) dup2(nowhere, standard);
}

}  // namespace

void answer_questions(int socket) {
    restrict_process();
    OpenedFiles files;
    for (;;) {
        const auto text = receive_message(socket);
        const auto question = text ? decode_question(*text) : std::nullopt;
        if (!question) _exit(EXIT_SUCCESS);
        alarm(question_seconds);
        try {
            if (!send_message(socket, encode(files.answer(*question)))) _exit(EXIT_SUCCESS);
        } catch (const std::exception&) {
            _exit(EXIT_FAILURE);  // no memory; the parent process reports the failure
        }
        alarm(0);
    }
}

}  // namespace fp32shim::cli
