#include "cli/source_locations/source_locations.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "cli/binaries/elf_file.hpp"
#include "cli/binaries/file_identity.hpp"
#include "cli/binaries/worker_process.hpp"
#include "cli/source_locations/messages.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

constexpr unsigned question_seconds = 30;
constexpr std::uint64_t memory_limit = std::uint64_t{8} << 30;

/// Returns the reason why the file of an object cannot be read, or an empty text if it can.
std::string why_unreadable(const record::RecordedObject& object) {
    if (object.path.empty()) return "is code that was made at run time";
    if (!object.path.starts_with('/')) return "has no complete path";
    const auto build_id = read_build_id(object.path);
    return build_id ? why_file_may_differ(object, *build_id) : "does not exist here, or cannot be read";
}

}  // namespace

struct SourceLocator::KnownObject {
    explicit KnownObject(const record::RecordedObject& object)
        : path(object.path),
          problem(why_unreadable(object)),
          readable(problem.empty() ? ReadableParts::all : ReadableParts::nothing) {}

    std::string path;
    std::string problem;  ///< reason why some parts of the file are not read
    ReadableParts readable;
    std::unordered_map<std::uint64_t, SourceLocation> locations;
};

SourceLocator::SourceLocator()
    : child_(std::make_unique<WorkerProcess>(
          [](const Message& question) -> Message { return locate_addresses(question); }, question_seconds,
          memory_limit)) {}
SourceLocator::~SourceLocator() = default;

SourceLocator::KnownObject& SourceLocator::known_object(const record::RecordedObject& object) {
    std::unique_ptr<KnownObject>& found = objects_[{object.path, object.build_id}];
    if (found == nullptr) found = std::make_unique<KnownObject>(object);
    return *found;
}

const SourceLocation& SourceLocator::location_of(const record::RecordedObject& object, std::uint64_t offset) {
    look_up_all(object, {&offset, 1});
    return known_object(object).locations[offset];
}

void SourceLocator::look_up_all(const record::RecordedObject& object, std::span<const std::uint64_t> offsets) {
    KnownObject& file = known_object(object);
    constexpr std::size_t at_once = 256;
    std::vector<std::uint64_t> next;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (file.locations.try_emplace(offsets[i]).second) next.push_back(offsets[i]);
        if (next.empty() || (next.size() < at_once && i + 1 < offsets.size())) continue;
        std::vector<SourceLocation> locations = ask_worker(file, next);
        for (std::size_t j = 0; j < next.size(); ++j) file.locations[next[j]] = std::move(locations[j]);
        next.clear();
    }
}

/// Asks the worker process for locations. Returns one location for each of `offsets`. If the file cannot be read,
/// each location has only the reason in `why_unknown`.
std::vector<SourceLocation> SourceLocator::ask_worker(KnownObject& object,
                                                      const std::vector<std::uint64_t>& offsets) {
    while (object.readable != ReadableParts::nothing) {
        LocationQuestion question{object.path, object.readable, offsets};
        // Each return address is reduced by one, so that it lies inside the call instruction even if the call is the
        // last instruction of a function.
        for (std::uint64_t& address : question.addresses) --address;
        const WorkerAnswer answer = child_->ask(question);
        try {
            std::vector<SourceLocation> locations = answer.value;
            if (locations.size() == offsets.size()) {
                if (!object.problem.empty())
                    for (SourceLocation& location : locations) location.why_unknown = object.problem;
                return locations;
            }
        } catch (const nlohmann::json::exception&) {
            // The worker process gave no answer, or a damaged one.
        }
        const bool has_symbols_left = object.readable == ReadableParts::all;
        object.readable = has_symbols_left ? ReadableParts::symbols : ReadableParts::nothing;
        object.problem = fmt::format("{} could not be read: the process that read it {}",
                                     has_symbols_left ? "has debug information that" : "is a file that",
                                     answer.problem.empty() ? "gave a wrong answer" : answer.problem);
    }
    SourceLocation unknown;
    unknown.why_unknown = object.problem;
    return {offsets.size(), unknown};
}

std::string call_site_text(std::string_view path, std::uint64_t offset, const SourceLocation& location) {
    if (path.empty()) return "code made at run time";
    const std::string_view name = system::base_name(path);
    if (location.symbol.empty()) return fmt::format("{}+{:#x}", name, offset);
    return fmt::format("{}!{}{}+{:#x}", name, location.symbol, location.clone, location.symbol_offset);
}

std::string call_site_for_rules(std::string_view path, std::uint64_t offset, const SourceLocation& location) {
    const std::string_view name = system::base_name(path);
    if (location.exported.empty()) return fmt::format("{}+{:#x}", name, offset);
    return fmt::format("{}!{}+{:#x}", name, location.exported, location.symbol_offset);
}

}  // namespace fp32shim::cli
