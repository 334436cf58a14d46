#include "cli/run/children.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "cli/run/log_destination.hpp"
#include "policy/messages.hpp"
#include "record/format/format.hpp"
#include "record/format/identity.hpp"
#include "record/log_path.hpp"
#include "record/write/children.hpp"

namespace fp32shim::cli {
namespace {

bool is_taken(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0;
}

std::uint64_t random_number() {
    std::random_device device;
    const std::uint64_t number = std::uint64_t{device()} << 32 | device();
    return number == 0 ? 1 : number;
}

/// Returns the name of the file beside the log that lists children which the shim does not cover; empty if the name
/// would be too long. No file has this name yet, unless it is the file of the outer `fp32shim run`.
std::string children_file_name(const std::string& log_path, const record::ProcessFacts& facts,
                               std::string_view outer) {
    std::array<char, record::path_capacity> log;
    std::array<char, record::path_capacity> children;
    const record::ExpandedPath expanded = record::expand_path(log_path, facts, log);
    if (expanded.path.empty()) return {};
    const std::string name(record::children_file_path(expanded.path, children));
    // Symbolic links are resolved now, so that a program cannot make the name lead elsewhere by changing a link.
    std::error_code error;
    std::filesystem::path absolute = std::filesystem::absolute(name, error);
    if (!error) absolute = std::filesystem::weakly_canonical(absolute, error);
    if (name.empty() || error) return {};
    std::string path = absolute.string();
    for (int i = 1; path != outer && is_taken(path); ++i) path = with_number_before_extension(absolute.string(), i);
    return path;
}

/// Makes the file for the children of a run. Returns false if the file could not be made. If its folder does not
/// exist, prints a message too. The program starts all the same, because the log's folder may have a placeholder that
/// only the program can fill in.
bool make_children_file(const std::string& path, std::uint64_t run) {
    const int descriptor = record::open_children_file({path.c_str(), -1, run});
    if (descriptor >= 0) close(descriptor);
    if (descriptor == -ENOENT)
        say("run",
            fmt::format("the folder of {} does not exist, so fp32shim verify will not know of programs that leave "
                        "no recording",
                        policy::quoted_path(path)));
    return descriptor >= 0;
}

using record::format::Header, record::format::RunEnd;

/// Returns true if the file for the children of a run lists no program, no unrecorded process and no recording.
bool is_empty_children_file(const std::string& path, const RunMember& file) {
    const auto opened = record::RecordingReader::open(path);
    return opened.reader && opened.reader->children().empty() && opened.reader->missed_children() == 0 &&
           opened.reader->unrecorded_processes().empty() && opened.reader->missed_unrecorded_processes() == 0 &&
           file.unrecorded == 0 && file.listed_count == 0;
}

/// Writes the end of the run into a recording of this machine. The header is mapped, because another process may have
/// it mapped too.
void note_end_here(int descriptor, const RunEnd& end, bool has_children_file) {
    record::with_mapped_header(descriptor, [&](Header& header) {
        if (has_children_file)
            std::atomic_ref(header.flags).fetch_or(record::format::flag_children_file, std::memory_order_relaxed);
        header.run_end = end;
    });
}

/// Writes the end of the run into a recording of another machine, by pwrite. If two machines mapped one file, each
/// would overwrite the other's changes by writing back whole pages.
void note_end_elsewhere(int descriptor, RunEnd end) {
    end.recordings = 0;
    [[maybe_unused]] const ssize_t written = pwrite(descriptor, &end, sizeof end, offsetof(Header, run_end));
}

}  // namespace

RunChildrenFile::RunChildrenFile(const std::string& log_path, bool is_own, ProgramProcess process,
                                 ProcessEnvironment& environment, const record::ProcessFacts& facts) {
    if (!is_recording_name(log_path)) return;
    environment.set(
        record::run_process_variable,
        fmt::format("{}{}", process == ProgramProcess::child ? record::run_process_is_parent : "", getpid()));
    const std::string before = environment.get(record::run_variable);
    const record::RunVariableValue outer = record::parse_run_variable(before);
    run_ = outer.number;
    if (!is_own && run_ != 0) {
        path_ = outer.children_path;
        return;
    }
    path_ = children_file_name(log_path, facts, outer.children_path);
    // If this run is inside another `fp32shim run` that records under the same name, it belongs to the outer run.
    if (path_.empty() || (run_ != 0 && path_ == outer.children_path)) return;
    run_ = random_number();
    is_awaited_ = process == ProgramProcess::child && make_children_file(path_, run_);
    environment.set(record::run_variable, fmt::format("{:016x}{}{}", run_, is_awaited_ ? '+' : ' ', path_));
}

void RunChildrenFile::remove_file() const {
    if (is_awaited_) unlink(path_.c_str());
}

void RunChildrenFile::add_unseen_program(const std::string& program, record::WhyUnseen why) const {
    if (path_.empty()) return;
    record::record_child({path_.c_str(), -1, run_}, {program, {}, why}, record::ChildEvent::starts);
}

std::vector<record::RecordedChild> RunChildrenFile::read_children() const {
    if (path_.empty() || !is_taken(path_)) return {};
    const auto opened = record::RecordingReader::open(path_);
    return opened.reader ? opened.reader->children() : std::vector<record::RecordedChild>();
}

std::string unseen_children_line(const std::vector<record::RecordedChild>& children) {
    if (children.empty()) return {};
    constexpr std::size_t most = 5;
    std::string text = "started without the shim, so their products are unknown: ";
    for (std::size_t i = 0; i < std::min(most, children.size()); ++i)
        text += fmt::format("{}{}, which {}{}", i == 0 ? "" : "; ", children[i].path,
                            record::to_string(children[i].why_unseen),
                            children[i].count > 1 ? fmt::format(" ({} times)", children[i].count) : "");
    if (children.size() > most) text += "; and " + counted(children.size() - most, "more program");
    return printable(text);
}

void note_run_end(const RunEnding& ending) {
    const record::ProcessIdentity self = record::identify_self();
    const auto file = read_run_member(ending.children_file);
    RunEnd end{.ended_ns = now_ns(),
               .running = static_cast<std::uint32_t>(ending.running.size()),
               .recordings = file ? file->run_recordings : 0,
               .began = self.start};
    const bool is_needed = file && !(ending.running.empty() && is_empty_children_file(ending.children_file, *file));
    for (const std::string& path : ending.recordings) {
        const auto member = read_run_member(path);
        const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat status {};
        const bool is_whole = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                              status.st_size >= static_cast<off_t>(sizeof(Header));
        if (member && is_whole) {
            if (member->identity.shares_boot_with(self))
                note_end_here(descriptor, end, is_needed);
            else
                note_end_elsewhere(descriptor, end);
        }
        if (descriptor >= 0) close(descriptor);
    }
    if (file && !is_needed) unlink(ending.children_file.c_str());
}

std::string still_running_line(const RunEnding& ending) {
    if (ending.running.empty()) return {};
    return fmt::format("still running, so more products may follow: {}", running_processes_text(ending.running));
}

}  // namespace fp32shim::cli
