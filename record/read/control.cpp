#include "record/read/control.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "record/format/identity.hpp"
#include "record/log_path.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::record {

namespace {

using format::CommandKind;
using format::CommandResult;
using format::Header;

// ---- search for the recordings that a process has mapped, by inode and not by name
//
// The reader may be root, while the process may belong to any user. The process chooses the names of its files, and a
// name may lead to another file by the time it is opened. So a path is first opened with O_PATH, without following
// links. The file is opened for reading only after it is known to be a regular file and the one that the process has
// mapped.

constexpr std::size_t max_recordings = 256;  // limit per process, which has several if reloads change the log's name,
                                             // because earlier recordings stay mapped
constexpr std::string_view deleted_mark = " (deleted)";

bool is_recording_name(std::string_view name) {
    if (name.ends_with(deleted_mark)) name.remove_suffix(deleted_mark.size());
    return name.ends_with(recording_extension);
}

/// A mapping in a process that may be the header of a recording, because it is shared and writable, and begins at the
/// start of a file.
struct MappedRecording {
    std::uint32_t major = 0, minor = 0;  ///< device of the file, as in /proc/PID/maps; stat may give another device
    std::uint64_t inode = 0;
    std::string name;  ///< path of the file in /proc/PID/maps; it ends in ` (deleted)` once the file is deleted
};

/// A line of /proc/PID/maps, such as `7f01c000-7f01d000 rw-s 00000000 08:01 1234 /tmp/run.fp32rec`.
struct MapsLine {
    unsigned long begin = 0;
    char permissions[5] = {};
    unsigned long offset = 0;
    MappedRecording file;
};

std::optional<MapsLine> parse_maps_line(const std::string& text) {
    MapsLine line;
    unsigned long end = 0, inode = 0;
    int name_at = 0;
    if (std::sscanf(text.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &line.begin, &end, line.permissions, &line.offset,
                    &line.file.major, &line.file.minor, &inode, &name_at) != 7)
        return std::nullopt;
    line.file.inode = inode;
    if (name_at > 0) line.file.name = text.substr(static_cast<std::size_t>(name_at));
    return line;
}

bool is_same_file(const MappedRecording& a, const MappedRecording& b) {
    return a.inode == b.inode && a.major == b.major && a.minor == b.minor;
}

/// Maps a regular file for a moment, and returns the device, inode and path that /proc/self/maps has for the mapping.
/// Returns nullopt if the file cannot be opened or mapped.
std::optional<MappedRecording> mapping_of(const PathOnlyFile& file) {
    const Descriptor readable(open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (readable.number() < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, readable.number(), 0);
    if (mapping == MAP_FAILED) return std::nullopt;
    std::optional<MappedRecording> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string text; !found && std::getline(maps, text);) {
        const auto line = parse_maps_line(text);
        if (line && line->begin == reinterpret_cast<unsigned long>(mapping)) found = line->file;
    }
    munmap(mapping, size);
    return found;
}

/// Returns true if `mapped` is a mapping of `file`. On btrfs and overlayfs, stat and /proc/PID/maps may give
/// different devices for one file. If the devices differ, the function maps the file in this process too, and
/// compares `mapped` with the line in /proc/self/maps.
bool is_mapped_file(const PathOnlyFile& file, const MappedRecording& mapped) {
    struct stat status {};
    if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (major(status.st_dev) == mapped.major && minor(status.st_dev) == mapped.minor)
        return status.st_ino == mapped.inode;
    const auto here = mapping_of(file);
    return here && is_same_file(*here, mapped);
}

/// Opens the file at `path` with O_PATH and the further `flags` of open(). Returns nullptr if it is not the file of
/// the mapping `mapped`.
std::shared_ptr<const PathOnlyFile> open_if_mapped(const std::string& path, int flags,
                                                   const MappedRecording& mapped) {
    auto file = std::make_shared<const PathOnlyFile>(open(path.c_str(), O_PATH | O_CLOEXEC | flags));
    return is_mapped_file(*file, mapped) ? file : nullptr;
}

std::string with_line_feeds(std::string name) {
    constexpr std::string_view shown = "\\012";
    for (std::size_t at = name.find(shown); at != std::string::npos; at = name.find(shown, at + 1))
        name.replace(at, shown.size(), 1, '\n');
    return name;
}

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};

struct FoundMappedFile {
    std::shared_ptr<const PathOnlyFile> file;  ///< nullptr: no name or descriptor leads to the file any more
    std::string name;                          ///< path of the file, for messages
};

/// Finds the file of the mapping `mapped` among the open descriptors of a process. `process_folder` is the process's
/// folder in /proc.
FoundMappedFile find_among_descriptors(const std::string& process_folder, const MappedRecording& mapped) {
    const std::string folder_path = process_folder + "/fd/";
    const std::unique_ptr<DIR, CloseFolder> folder(opendir(folder_path.c_str()));
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        const std::string path = folder_path + entry->d_name;
        char target[4096];
        const ssize_t size = readlink(path.c_str(), target, sizeof target);
        if (size <= 0) continue;
        const std::string_view name(target, static_cast<std::size_t>(size));
        if (!is_recording_name(name)) continue;
        // The link /proc/PID/fd/NUMBER is made by the kernel and leads to the open file itself.
        if (auto file = open_if_mapped(path, 0, mapped)) return {std::move(file), std::string(name)};
    }
    return {nullptr, mapped.name};
}

/// Returns the mappings of process `pid` whose names look like names of recordings. Each file is returned once, and
/// at most max_recordings files are returned.
std::vector<MappedRecording> mapped_recordings(std::int32_t pid) {
    std::vector<MappedRecording> found;
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string text; found.size() < max_recordings && std::getline(maps, text);) {
        if (!is_recording_name(text)) continue;
        auto line = parse_maps_line(text);
        if (!line || line->offset != 0 || std::string_view(line->permissions) != "rw-s") continue;
        const auto is_it = [&](const MappedRecording& other) { return is_same_file(other, line->file); };
        if (std::ranges::none_of(found, is_it)) found.push_back(std::move(line->file));
    }
    return found;
}

/// Finds the file behind a mapping of process `pid`, by its name or by a descriptor that the process still has open.
FoundMappedFile find_mapped_file(std::int32_t pid, const MappedRecording& mapped) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string root = folder + "/root";
    // The kernel writes a line feed in a name as \012. A name that really contains the characters \012 looks the
    // same, so both interpretations are tried.
    for (const std::string& name : {with_line_feeds(mapped.name), mapped.name})
        if (auto file = open_if_mapped(root + name, O_NOFOLLOW, mapped)) return {std::move(file), name};
    return find_among_descriptors(folder, mapped);
}

// ---- commands to a process

/// The reason for refusing a recording of another process. A forked child has its parent's recording mapped until it
/// makes its first product.
constexpr std::string_view belongs_to_another_process = "belongs to another process";
constexpr std::string_view no_longer_used = "is no longer used since a reload; [log] path must name a .fp32rec file";

/// Returns the reason why `process` does not record into the open file `descriptor`, or an empty text if it does.
std::string why_not_recording_into(int descriptor, const ProcessIdentity& process) {
    Header header;
    if (pread(descriptor, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
        header.magic != format::magic)
        return "is not a recording";
    if (header.version != format::version)
        return "has format version " + std::to_string(header.version) + ", but this fp32shim knows version " +
               std::to_string(format::version) + "; use the fp32shim command of that version";
    const ProcessIdentity recorded{header.pid, header.process_start, header.pid_namespace,
                                   std::to_array(header.boot_id)};
    if (recorded != process) return std::string(belongs_to_another_process);
    return std::string((header.flags & format::flag_left) != 0 ? no_longer_used : std::string_view());
}

/// Returns the recording that process `pid` writes, or nullopt if there is none. If all recordings that the process
/// has mapped are unusable, sets `why` to the reason for the last of them. If the process has mapped no recording,
/// leaves `why` unchanged.
std::optional<LiveRecording> recording_of(std::int32_t pid, std::string& why) {
    const std::vector<MappedRecording> all_mapped = mapped_recordings(pid);
    if (all_mapped.empty()) return std::nullopt;
    const ProcessIdentity process = identify_process(pid);
    for (const MappedRecording& mapped : all_mapped) {
        FoundMappedFile found = find_mapped_file(pid, mapped);
        if (found.file == nullptr) {
            why = mapped.name + " can no longer be opened: it was deleted or replaced, and the process has closed it";
            continue;
        }
        const Descriptor descriptor(open(found.file->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        why = descriptor.number() < 0 ? "cannot be read by this user"
                                      : why_not_recording_into(descriptor.number(), process);
        if (why.empty()) return LiveRecording{pid, std::move(found.name), found.file->path(), found.file};
        why.insert(0, mapped.name + " ");
    }
    return std::nullopt;
}

/// A command that was written into the header of a recording, and the process's answer. The header is accessed by
/// pread and pwrite. If it were mapped instead, and somebody truncated the file, SIGBUS would kill the fp32shim
/// command.
class SentCommand {
  public:
    SentCommand(const LiveRecording& recording, CommandKind kind, std::uint8_t precision)
        : pid_(recording.pid), file_(open(recording.open_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
        if (const std::string error = put_command(kind, precision); !error.empty())
            answer_ = {CommandOutcome::failed, recording.name + error};
    }

    /// Returns true if the answer has arrived, or can no longer arrive.
    bool is_over() {
        if (!answer_) answer_ = read_answer();
        return answer_.has_value();
    }

    /// Returns the answer, or the reason why no answer arrived. Must be called when the wait for answers is over.
    CommandAnswer answer() const {
        if (answer_) return *answer_;
        if ((read<std::uint32_t>(offsetof(Header, flags)) & format::flag_left) != 0)
            return {CommandOutcome::not_answered,
                    process() + " now records elsewhere or not at all; repeat the command"};
        return {CommandOutcome::not_answered,
                process() + " has not multiplied since; it will act at its next product"};
    }

  private:
    std::string process() const { return "process " + std::to_string(pid_); }

    /// Returns the header's field at `offset`, or zeros if the file ends before the end of the field.
    template <class T>
    T read(std::size_t offset) const {
        T value{};
        if (pread(file_.number(), &value, sizeof value, static_cast<off_t>(offset)) != sizeof value) return {};
        return value;
    }

    /// Writes the command into the header. Returns an empty text on success, and otherwise an error message that
    /// continues after the file's name.
    std::string put_command(CommandKind kind, std::uint8_t precision) {
        if (file_.number() < 0)
            return errno == EACCES || errno == EPERM
                       ? ": this user may not write to it; only the user who owns the process may send commands"
                       : ": can no longer be opened; check whether the process still runs";
        if (const std::string why = why_not_recording_into(file_.number(), identify_process(pid_)); !why.empty())
            return " " + why;
        // If two fp32shim commands write at the same time, the CommandWord that is written later stays in the header.
        // The two differ in the process id of the command.
        const format::CommandWord before{read<std::uint64_t>(offsetof(Header, command))};
        std::uint32_t sequence = (before.sequence() + 1) & 0xffffff;
        if (sequence == 0) sequence = 1;  // a CommandWord of 0 would mean that there is no command
        sent_ = format::make_command_word(sequence, kind, precision, getpid()).value;
        struct stat status {};
        const bool is_whole = fstat(file_.number(), &status) == 0 && status.st_size >= off_t{sizeof(Header)};
        if (is_whole && pwrite(file_.number(), &sent_, sizeof sent_, offsetof(Header, command)) == sizeof sent_)
            return {};
        return ": cannot be written, or was truncated";
    }

    std::optional<CommandAnswer> read_answer() const {
        // The process stores `answered` after the other fields of its answer, so fields that are read after
        // `answered` belong to the same answer.
        if (read<std::uint64_t>(offsetof(Header, answered)) == sent_) {
            const auto text = read<std::array<char, format::answer_limit>>(offsetof(Header, answer_text));
            const auto size = std::min<std::size_t>(read<std::uint32_t>(offsetof(Header, answer_size)), text.size());
            const auto result = static_cast<CommandResult>(read<std::uint32_t>(offsetof(Header, answer)));
            return CommandAnswer{result == CommandResult::done ? CommandOutcome::done : CommandOutcome::refused,
                                 std::string(text.data(), size)};
        }
        if (identify_process(pid_).start == 0)
            return CommandAnswer{CommandOutcome::failed, process() + " has ended in the meantime"};
        if (read<std::uint64_t>(offsetof(Header, command)) != sent_)
            return CommandAnswer{CommandOutcome::not_answered,
                                 "another command replaced this one before the process saw it"};
        return std::nullopt;
    }

    std::int32_t pid_;
    Descriptor file_;
    std::uint64_t sent_ = 0;  // the CommandWord that was sent
    std::optional<CommandAnswer> answer_;
};

std::vector<CommandAnswer> send(std::span<const LiveRecording> recordings, CommandKind kind, std::uint8_t precision,
                                std::chrono::milliseconds timeout) {
    std::deque<SentCommand> commands;
    for (const LiveRecording& recording : recordings) commands.emplace_back(recording, kind, precision);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        bool all_are_over = true;
        for (SentCommand& command : commands) all_are_over = command.is_over() && all_are_over;
        if (all_are_over || std::chrono::steady_clock::now() >= deadline) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::vector<CommandAnswer> answers;
    answers.reserve(commands.size());
    for (const SentCommand& command : commands) answers.push_back(command.answer());
    return answers;
}

/// Returns the reason why this user may not inspect a process. `status` is the result of stat for the process's
/// folder in /proc.
std::string why_not_inspectable(const struct stat& status) {
    if (geteuid() == 0 || geteuid() == status.st_uid)
        return " cannot be inspected from here: it has more rights than this command, or is outside its container";
    return " belongs to another user; only that user and root may inspect it";
}

}  // namespace

void visit_live_recordings(const std::function<void(const LiveRecording&)>& visit) {
    std::string why;
    for (const std::int32_t pid : list_process_ids())
        if (const auto recording = recording_of(pid, why)) visit(*recording);
}

FoundLiveRecording find_live_recording(std::int32_t pid) {
    const std::string process = "process " + std::to_string(pid);
    if (pid <= 0) return {std::nullopt, process + " cannot exist; give the id of a running process"};
    struct stat status {};
    const std::string folder = "/proc/" + std::to_string(pid);
    if (stat(folder.c_str(), &status) != 0)
        return {std::nullopt, process + " does not exist; `fp32shim ps` lists the processes that are recording"};
    std::string why;
    if (auto recording = recording_of(pid, why)) return {std::move(recording), {}};
    if (!why.empty() && !why.ends_with(belongs_to_another_process)) return {std::nullopt, process + ": " + why};
    if (!std::ifstream(folder + "/maps").is_open()) return {std::nullopt, process + why_not_inspectable(status)};
    return {std::nullopt,
            process +
                " records nothing: it runs without fp32shim, without FP32_MATMUL_LOG=NAME.fp32rec, or has not "
                "multiplied yet"};
}

std::vector<CommandAnswer> send_set_precision(std::span<const LiveRecording> recordings,
                                              std::optional<policy::Precision> precision,
                                              std::chrono::milliseconds timeout) {
    return send(recordings, CommandKind::set_precision,
                precision ? static_cast<std::uint8_t>(*precision) : format::no_precision, timeout);
}

std::vector<CommandAnswer> send_reload(std::span<const LiveRecording> recordings, std::chrono::milliseconds timeout) {
    return send(recordings, CommandKind::reload, format::no_precision, timeout);
}

}  // namespace fp32shim::record
