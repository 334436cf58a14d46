#include "cli/source_locations/source_locations.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cli/source_locations/messages.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return fmt::format("took over {} s", question_seconds);
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return "ran out of memory";
}

}  // namespace

/// The child process that reads files.
struct SourceLocations::Worker {
    int socket = -1;
    pid_t process = -1;
    std::uint32_t generation = 0;  ///< number of children that were started
    std::string problem;           ///< reason why no child can be started

    Worker() = default;
    ~Worker() { end(SIGKILL); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    bool start() {
        if (socket >= 0) return true;
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fails();
        std::fflush(stdout);
        process = fork();
        if (process == 0) {
            close(ends[0]);
            answer_questions(ends[1]);
        }
        close(ends[1]);
        if (process < 0) {
            close(ends[0]);
            return fails();
        }
        socket = ends[0];
        ++generation;
        return true;
    }

    /// Ends the child and returns its status. A signal other than 0 is sent to it; otherwise it ends because its
    /// socket is closed.
    int end(int signal_number) {
        if (socket < 0) return 0;
        close(socket);
        socket = -1;
        if (signal_number != 0) kill(process, signal_number);
        int status = 0;
        while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
        return status;
    }

  private:
    bool fails() {
        problem =
            fmt::format("could not be read, because no process could be started for it: {}", std::strerror(errno));
        return false;
    }
};

struct SourceLocations::KnownObject {
    record::RecordedObject facts;
    std::uint32_t number = 0;
    std::uint32_t told = 0;  ///< number of the child that has received the facts
    Readable readable = Readable::all;
    std::string problem;  ///< reason why some parts of the file are not read
    std::unordered_map<std::uint64_t, SourceLocation> locations;
};

SourceLocations::SourceLocations() : worker_(std::make_unique<Worker>()) {}
SourceLocations::~SourceLocations() = default;

SourceLocations::KnownObject& SourceLocations::known_object(const record::RecordedObject& object) {
    std::unique_ptr<KnownObject>& found = objects_[{object.path, object.build_id}];
    if (found == nullptr) {
        found = std::make_unique<KnownObject>();
        found->facts = object;
        found->number = static_cast<std::uint32_t>(objects_.size());
    }
    return *found;
}

const SourceLocation& SourceLocations::at(const record::RecordedObject& object, std::uint64_t offset) {
    look_up(object, {&offset, 1});
    return known_object(object).locations[offset];
}

void SourceLocations::look_up(const record::RecordedObject& object, std::span<const std::uint64_t> offsets) {
    KnownObject& file = known_object(object);
    constexpr std::size_t at_once = 256;
    std::vector<std::uint64_t> next;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const auto [known, is_new] = file.locations.try_emplace(offsets[i]);
        if (is_new && object.path.empty())
            known->second.why_unknown = "is code that was made at run time";
        else if (is_new)
            next.push_back(offsets[i]);
        if (next.empty() || (next.size() < at_once && i + 1 < offsets.size())) continue;
        std::vector<SourceLocation> locations = ask(file, next);
        for (std::size_t j = 0; j < next.size(); ++j) file.locations[next[j]] = std::move(locations[j]);
        next.clear();
    }
}

/// Asks the child for locations. Returns one for each offset.
std::vector<SourceLocation> SourceLocations::ask(KnownObject& object, const std::vector<std::uint64_t>& offsets) {
    SourceLocation unknown;
    while (object.readable != Readable::nothing) {
        if (!worker_->start()) {
            unknown.why_unknown = worker_->problem;
            return {offsets.size(), unknown};
        }
        LocationQuestion question;
        question.object = object.number;
        question.readable = object.readable;
        question.addresses = offsets;
        // Return addresses are reduced by one, so that they lie in the call even if it is the last instruction of a
        // function.
        for (std::uint64_t& address : question.addresses) --address;
        if (object.told != worker_->generation) question.facts = object.facts;
        object.told = worker_->generation;
        std::optional<std::vector<SourceLocation>> locations;
        if (send_message(worker_->socket, encode(question)))
            if (const auto text = receive_message(worker_->socket)) locations = decode_locations(*text);
        if (locations && locations->size() == offsets.size()) {
            if (!object.problem.empty())
                for (SourceLocation& location : *locations) location.why_unknown = object.problem;
            return std::move(*locations);
        }
        const std::string how = how_it_ended(worker_->end(0));
        const bool has_symbols_left = object.readable == Readable::all;
        object.readable = has_symbols_left ? Readable::symbols : Readable::nothing;
        object.problem = fmt::format("{} could not be read: the process that read it {}",
                                     has_symbols_left ? "has debug information that" : "is a file that", how);
    }
    unknown.why_unknown = object.problem;
    return {offsets.size(), unknown};
}

std::string call_site_text(std::string_view path, std::uint64_t offset, const SourceLocation& location) {
    if (path.empty()) return "code made at run time";
    const std::string_view name = system::base_name(path);
    if (location.symbol.empty()) return fmt::format("{}+{:#x}", name, offset);
    return fmt::format("{}!{}{}+{:#x}", name, location.symbol, location.clone, location.symbol_offset);
}

std::string call_site_of_rules(std::string_view path, std::uint64_t offset, const SourceLocation& location) {
    const std::string_view name = system::base_name(path);
    if (location.exported.empty()) return fmt::format("{}+{:#x}", name, offset);
    return fmt::format("{}!{}+{:#x}", name, location.exported, location.symbol_offset);
}

}  // namespace fp32shim::cli
