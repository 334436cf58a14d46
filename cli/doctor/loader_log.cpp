#include "cli/doctor/loader_log.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "cli/binaries/function_kind.hpp"
#include "cli/files/own_files.hpp"
#include "cli/run/process_environment.hpp"

namespace fp32shim::cli {
namespace {

// glibc 2.36 prints lines of these forms, each after `     PID:\t`:
//
//     Initial object scopes
//     object=PROGRAM [0]                       0 is the linker namespace
//      scope 0: PROGRAM LIBRARY LIBRARY …
//     object=LIBRARY [0]
//      scope 0: PROGRAM LIBRARY …              the global scope
//      scope 1: ROOT LIBRARY …                 ROOT, which dlopen opened, and the libraries that it needs
//     add LIBRARY [0] to global scope
//     binding file CALLER [0] to PROVIDER [0]: normal symbol `NAME' [VERSION]
//
// After a dlopen, glibc lists all objects that were loaded by it. For objects that were loaded before, it lists only
// their new scopes.

/// Splits `NAME [3]` into the name and the linker namespace.
std::optional<std::pair<std::string, int>> name_and_namespace(std::string_view text) {
    const std::size_t bracket = text.rfind(" [");
    if (bracket == std::string_view::npos) return std::nullopt;
    int number = 0;
    const char* digits = text.data() + bracket + 2;
    if (std::from_chars(digits, text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
    return std::pair{std::string(text.substr(0, bracket)), number};
}

/// Splits a list of object names at blanks. If some of the `known` names contain blanks, takes the longest known name
/// that fits.
std::vector<std::string> split_scope(std::string_view text, const std::set<std::string>& known) {
    const bool has_blanks =
        std::ranges::any_of(known, [](const std::string& name) { return name.find(' ') != std::string::npos; });
    std::vector<std::string> names;
    while (!text.empty()) {
        std::size_t end = std::min(text.find(' '), text.size());
        constexpr std::size_t longest_path = 4096;
        for (std::size_t longer = end; has_blanks && longer < std::min(text.size(), longest_path);) {
            longer = std::min(text.find(' ', longer + 1), text.size());
            if (known.contains(std::string(text.substr(0, longer)))) end = longer;
        }
        if (end > 0) names.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return names;
}

/// Reads the loader's log of one process id line by line. The result has one LoggedProcess for each program that the
/// process ran, because execve replaces one by another.
class LoaderLogReader {
  public:
    explicit LoaderLogReader(int pid) : pid_(pid) {}

    void read(std::string_view line) {
        line.remove_prefix(std::min(line.find(":\t") + 2, line.size()));
        if (line == "Initial object scopes") {
            finish();
            process_.emplace().pid = pid_;
        } else if (!process_) {
            return;
        } else if (line.starts_with("object=")) {
            begin_object(line.substr(7));
        } else if (line.starts_with(" scope ") && object_ < process_->objects.size()) {
            add_scope(line.substr(7));
        } else if (line.starts_with("add ") && line.ends_with(" to global scope")) {
            const auto added = name_and_namespace(line.substr(4, line.size() - 4 - 16));
            if (added && added->second == 0) process_->added_globally.push_back(added->first);
        } else if (line.starts_with("binding file ")) {
            add_binding(line.substr(13));
        }
    }

    std::vector<LoggedProcess> finished() {
        finish();
        return std::move(processes_);
    }

  private:
    void begin_object(std::string_view text) {
        const auto named = name_and_namespace(text);
        object_ = process_->objects.size();
        if (!named) return;
        const std::string& name = named->first;
        const int link_namespace = named->second;
        names_.insert(name);
        const auto found = std::find_if(process_->objects.begin(), process_->objects.end(), [&](const auto& object) {
            return object.name == name && object.link_namespace == link_namespace;
        });
        object_ = static_cast<std::size_t>(found - process_->objects.begin());
        if (found == process_->objects.end()) process_->objects.push_back({name, link_namespace, {}});
        lines_.resize(process_->objects.size());
    }

    void add_scope(std::string_view text) {
        const std::size_t colon = text.find(": ");
        std::size_t number = 0;
        if (colon == std::string_view::npos ||
            std::from_chars(text.data(), text.data() + colon, number).ec != std::errc() || number > 4096)
            return;
        lines_[object_][number] = text.substr(colon + 2);
    }

    void add_binding(std::string_view text) {
        const std::size_t to = text.find("] to ");
        const std::size_t colon = text.rfind("]: ");
        const std::size_t quote = text.find('`', colon == std::string_view::npos ? text.size() : colon);
        const std::size_t end = text.find('\'', std::min(quote, text.size()));
        if (to == std::string_view::npos || end == std::string_view::npos || colon < to) return;
        const std::string_view symbol = text.substr(quote + 1, end - quote - 1);
        if (!is_intercepted(symbol)) return;
        const auto caller = name_and_namespace(text.substr(0, to + 1));
        const auto provider = name_and_namespace(text.substr(to + 5, colon + 1 - (to + 5)));
        if (caller && provider) process_->bindings.push_back({caller->first, provider->first, std::string(symbol)});
    }

    void finish() {
        if (process_ && !process_->objects.empty()) {
            for (std::size_t i = 0; i < process_->objects.size(); ++i)
                for (const auto& [number, text] : lines_[i])
                    process_->objects[i].scopes.push_back(split_scope(text, names_));
            processes_.push_back(std::move(*process_));
        }
        process_.reset();
        names_.clear();
        lines_.clear();
        object_ = 0;
    }

    int pid_;
    std::optional<LoggedProcess> process_;
    std::set<std::string> names_;
    std::vector<std::map<std::size_t, std::string>> lines_;  // unsplit text of each object's scopes, by scope number
    std::size_t object_ = 0;
    std::vector<LoggedProcess> processes_;
};

/// Reads the output of the loader for the process `pid`, which ran with LD_DEBUG=scopes or LD_DEBUG=scopes,bindings.
/// Unknown lines are skipped.
std::vector<LoggedProcess> read_loader_log(std::istream& log, int pid) {
    LoaderLogReader reader(pid);
    for (std::string line; std::getline(log, line);) reader.read(line);
    return reader.finished();
}

}  // namespace

ObservedRun run_under_ld_debug(const std::string& path, const std::vector<std::string>& words, bool with_bindings) {
    ObservedRun observation;
    const TemporaryFolder folder("fp32shim-doctor");
    if (!folder.problem().empty()) {
        observation.problem = folder.problem();
        return observation;
    }
    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    environment.set("LD_DEBUG", with_bindings ? "scopes,bindings" : "scopes");
    environment.set("LD_DEBUG_OUTPUT", folder.path() + "/loader");
    observation.was_run = true;
    observation.ended = run_program(path, words, environment.entries(), Output::to_stderr);
    std::error_code error;
    std::map<int, std::filesystem::path> logs;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(), error)) {
        const std::string suffix = entry.path().extension().string();  // such as `.4711`, a dot and the process id
        int pid = 0;
        if (suffix.size() > 1) std::from_chars(suffix.data() + 1, suffix.data() + suffix.size(), pid);
        logs[pid] = entry.path();
    }
    for (const auto& [pid, file] : logs) {
        std::ifstream stream(file);
        for (LoggedProcess& process : read_loader_log(stream, pid))
            observation.processes.push_back(std::move(process));
    }
    if (observation.processes.empty()) observation.problem = "the loader wrote nothing about it";
    return observation;
}

}  // namespace fp32shim::cli
