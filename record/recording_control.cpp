#include "record/recording_control.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "record/recording_identity.hpp"
#include "record/recording_processes.hpp"

namespace fp32shim::record {

namespace {

using format::CommandKind;

constexpr std::string_view deleted_mark = " (deleted)";
constexpr std::string_view extension = ".fp32rec";
/// Also that of a forked child that has not multiplied yet: it has its parent's header mapped.
constexpr std::string_view of_another_process = "belongs to another process";
constexpr std::string_view left =
    "is not recorded into any more since a reload; [log] path has to name a .fp32rec file";

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }

  private:
    int number_;
};

/// Why the header behind `descriptor` is not that into which the running `process` records; empty: it is.
std::string why_not_of(int descriptor, const ProcessIdentity& process) {
    format::Header header;
    if (pread(descriptor, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
        header.magic != format::magic)
        return "is not a recording";
    if (header.version != format::version)
        return "has format version " + std::to_string(header.version) + ", this fp32shim knows version " +
               std::to_string(format::version) + "; use the fp32shim that records";
    ProcessIdentity recorded{header.pid, header.process_start, header.pid_namespace, {}};
    std::memcpy(recorded.boot_id, header.boot_id, sizeof recorded.boot_id);
    if (!(recorded == process)) return std::string(of_another_process);
    return std::string((header.flags & format::flag_left) != 0 ? left : std::string_view());
}

/// `name` without the mark of a deleted file, if it is called like a recording; else empty.
std::string_view recording_name(std::string_view name) {
    if (name.ends_with(deleted_mark)) name.remove_suffix(deleted_mark.size());
    return name.ends_with(extension) ? name : std::string_view();
}

std::string with_line_feeds(std::string name) {
    constexpr std::string_view shown = "\\012";
    for (std::size_t at = name.find(shown); at != std::string::npos; at = name.find(shown, at + 1))
        name.replace(at, shown.size(), 1, '\n');
    return name;
}

/// The names of the recordings that a process has mapped, some of which may be none.
std::vector<std::string> mapped_recordings(std::int32_t pid) {
    std::vector<std::string> names;
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        const std::size_t begin = line.find('/');
        if (begin == std::string::npos || recording_name(std::string_view(line).substr(begin)).empty()) continue;
        // The kernel writes a line feed as \012, and a name that has a backslash and these digits as it is.
        const std::string shown = line.substr(begin);
        for (const std::string& name : {with_line_feeds(shown), shown})
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

/// A path at which the recording called `name` of a process can be opened; empty: there is none, and `why` says why.
std::string find_open_path(std::int32_t pid, const std::string& name, const ProcessIdentity& process,
                           std::string& why) {
    why = "cannot be opened any more: it was deleted or replaced, and the process has closed it";
    const auto is_it = [&](const std::string& path) {
        const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (descriptor.number() < 0) return false;
        why = why_not_of(descriptor.number(), process);
        return why.empty();
    };
    const std::string folder = "/proc/" + std::to_string(pid);
    if (std::string path = folder + "/root" + name; is_it(path)) return path;
    // Deleted: the process still has its descriptor.
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder + "/fd", error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        std::string path = entry->path().string();
        char target[4096];
        const ssize_t size = readlink(path.c_str(), target, sizeof target);
        if (size > 0 && name == std::string_view(target, static_cast<std::size_t>(size)) && is_it(path)) return path;
    }
    return {};
}

/// Nothing, and `why` where the process has mapped one that cannot be used.
std::optional<LiveRecording> recording_of(std::int32_t pid, std::string& why) {
    const std::vector<std::string> names = mapped_recordings(pid);
    if (names.empty()) return std::nullopt;
    const ProcessIdentity process = identify(pid);
    for (const std::string& name : names) {
        if (std::string path = find_open_path(pid, name, process, why); !path.empty())
            return LiveRecording{pid, name, std::move(path)};
        why.insert(0, name + " ");
    }
    return std::nullopt;
}

/// The header of another process's recording, read and written by copying: mapped, it would end this command where
/// somebody truncates the file.
class LiveHeader {
  public:
    explicit LiveHeader(const LiveRecording& recording)
        : file_(open(recording.open_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
        if (file_.number() < 0) {
            error_ = recording.name +
                     (errno == EACCES || errno == EPERM
                          ? ": this user may not write to it; commands are for the user whose process it is"
                          : ": cannot be opened any more; look whether the process still runs");
            return;
        }
        if (const std::string why = why_not_of(file_.number(), identify(recording.pid)); !why.empty())
            error_ = recording.name + " " + why;
    }

    const std::string& error() const { return error_; }

    /// Zeros where the file has been cut.
    template <class T>
    T read(std::size_t offset) const {
        T value{};
        if (pread(file_.number(), &value, sizeof value, static_cast<off_t>(offset)) != sizeof value) return {};
        return value;
    }
    /// False: not while the file is shorter than its header, nor where the kernel refuses it.
    bool write_command(std::uint64_t word) const {
        struct stat status {};
        if (fstat(file_.number(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof(format::Header)))
            return false;
        return pwrite(file_.number(), &word, sizeof word, offsetof(format::Header, command)) == sizeof word;
    }

  private:
    Descriptor file_;
    std::string error_;
};

/// What the process answered to this command; nothing: it has not.
std::optional<CommandAnswer> answer_to(const format::CommandWord& sent, const LiveHeader& header) {
    using format::Header;
    // `answered` is stored last, so what is read after it belongs to it.
    if (header.read<std::uint64_t>(offsetof(Header, answered)) != sent.value) return std::nullopt;
    struct Text {
        char bytes[format::answer_limit];
    };
    const auto text = header.read<Text>(offsetof(Header, answer_text));
    const std::size_t size =
        std::min<std::size_t>(header.read<std::uint32_t>(offsetof(Header, answer_size)), sizeof text.bytes);
    const bool is_done = header.read<std::uint32_t>(offsetof(Header, answer)) ==
                         static_cast<std::uint32_t>(format::CommandResult::done);
    return CommandAnswer{is_done ? CommandOutcome::done : CommandOutcome::refused, std::string(text.bytes, size)};
}

CommandAnswer send(const LiveRecording& recording, CommandKind kind, std::uint8_t precision,
                   std::chrono::milliseconds timeout) {
    const LiveHeader header(recording);
    if (!header.error().empty()) return {CommandOutcome::failed, header.error()};
    const auto command = [&] { return header.read<std::uint64_t>(offsetof(format::Header, command)); };

    // Of two commands at once the later one stands: their words differ in who sent them.
    std::uint32_t sequence = (format::CommandWord{command()}.sequence() + 1) & 0xffffff;
    if (sequence == 0) sequence = 1;  // a word is never 0
    const format::CommandWord sent = format::make_command(sequence, kind, precision, getpid());
    if (!header.write_command(sent.value))
        return {CommandOutcome::failed, recording.name + ": cannot be written, or was truncated"};

    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (const auto answer = answer_to(sent, header)) return *answer;
        if (identify(recording.pid).start == 0)
            return {CommandOutcome::failed, "process " + std::to_string(recording.pid) + " has ended meanwhile"};
        if (command() != sent.value)
            return {CommandOutcome::not_answered,
                    "another command took this one's place before the process had seen it"};
        if (std::chrono::steady_clock::now() >= deadline) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::string process = "process " + std::to_string(recording.pid);
    if ((header.read<std::uint32_t>(offsetof(format::Header, flags)) & format::flag_left) != 0)
        return {CommandOutcome::not_answered,
                process + " records elsewhere since, or no more; give the command again"};
    return {CommandOutcome::not_answered, process + " has multiplied nothing since; it will act at its next product"};
}

}  // namespace

std::vector<LiveRecording> find_live_recordings() {
    std::vector<LiveRecording> found;
    std::string why;
    for (const std::int32_t pid : list_processes())
        if (auto recording = recording_of(pid, why)) found.push_back(std::move(*recording));
    return found;
}

FoundRecording find_live_recording(std::int32_t pid) {
    const std::string process = "process " + std::to_string(pid);
    if (pid <= 0) return {std::nullopt, process + " cannot exist; name the id of a running one"};
    struct stat status {};
    const std::string folder = "/proc/" + std::to_string(pid);
    if (stat(folder.c_str(), &status) != 0)
        return {std::nullopt, process + " does not exist; `fp32shim ps` lists those that record"};
    std::string why;
    if (auto recording = recording_of(pid, why)) return {std::move(recording), {}};
    if (!why.empty() && !why.ends_with(of_another_process)) return {std::nullopt, process + ": " + why};
    if (!std::ifstream(folder + "/maps").is_open())
        return {std::nullopt, process + " is another user's; only its own user and root may look into it"};
    return {std::nullopt,
            process +
                " records nothing: it runs without fp32shim, without FP32_MATMUL_LOG=NAME.fp32rec, or has not "
                "multiplied yet"};
}

CommandAnswer send_set_precision(const LiveRecording& recording, std::optional<policy::Precision> precision,
                                 std::chrono::milliseconds timeout) {
    return send(recording, CommandKind::set_precision,
                precision ? static_cast<std::uint8_t>(*precision) : format::no_precision, timeout);
}

CommandAnswer send_reload(const LiveRecording& recording, std::chrono::milliseconds timeout) {
    return send(recording, CommandKind::reload, format::no_precision, timeout);
}

}  // namespace fp32shim::record
