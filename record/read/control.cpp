#include "record/read/control.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "policy/descriptor.hpp"
#include "record/format/identity.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::record {

namespace {

using format::CommandKind;
using format::CommandResult;
using format::Header;

/// Reason to refuse a recording that belongs to another process. A forked child keeps its parent's recording mapped
/// until its own first product.
constexpr std::string_view belongs_to_another_process = "belongs to another process";
constexpr std::string_view no_longer_used = "is no longer used since a reload; [log] path must name a .fp32rec file";

/// Returns the reason why `process` does not record into the file behind `descriptor`; empty if it does.
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

/// Returns the recording that process `pid` writes; nullopt: none. If the process has mapped only unusable
/// recordings, sets `why` to the reason for the last of them. If it has mapped none, leaves `why` unchanged.
std::optional<LiveRecording> recording_of(std::int32_t pid, std::string& why) {
    const std::vector<MappedRecording> all_mapped = mapped_recordings(pid);
    if (all_mapped.empty()) return std::nullopt;
    const ProcessIdentity process = identify_process(pid);
    for (const MappedRecording& mapped : all_mapped) {
        FoundFile found = find_mapped_file(pid, mapped);
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

/// A command that was written into the header of a recording, and the process's answer. The header is read and
/// written by copying: if it were mapped and somebody truncated the file, fp32shim would be killed.
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

    /// Returns the answer at the end of the wait, or the reason why there is none.
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

    /// Reads the header's field at `offset`; zeros if the file was truncated before the field's end.
    template <class T>
    T read(std::size_t offset) const {
        T value{};
        if (pread(file_.number(), &value, sizeof value, static_cast<off_t>(offset)) != sizeof value) return {};
        return value;
    }

    /// Writes the command into the header. Returns an empty text, or an error that reads on from the file's name.
    std::string put_command(CommandKind kind, std::uint8_t precision) {
        if (file_.number() < 0)
            return errno == EACCES || errno == EPERM
                       ? ": this user may not write to it; only the user who owns the process may send commands"
                       : ": can no longer be opened; check whether the process still runs";
        if (const std::string why = why_not_recording_into(file_.number(), identify_process(pid_)); !why.empty())
            return " " + why;
        // The words of two commands sent at the same time differ in the sender's process id. The later one stays in
        // the header.
        const format::CommandWord before{read<std::uint64_t>(offsetof(Header, command))};
        std::uint32_t sequence = (before.sequence() + 1) & 0xffffff;
        if (sequence == 0) sequence = 1;  // 0 would mean that there is no command
        sent_ = format::make_command(sequence, kind, precision, getpid()).value;
        struct stat status {};
        const bool is_whole = fstat(file_.number(), &status) == 0 && status.st_size >= off_t{sizeof(Header)};
        if (is_whole && pwrite(file_.number(), &sent_, sizeof sent_, offsetof(Header, command)) == sizeof sent_)
            return {};
        return ": cannot be written, or was truncated";
    }

    std::optional<CommandAnswer> read_answer() const {
        // The process stores `answered` last, so fields read after it belong to the same answer.
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

/// Returns the reason why this user may not inspect a process. `status`: result of stat for the process's folder in
/// /proc.
std::string why_not_inspectable(const struct stat& status) {
    if (geteuid() == 0 || geteuid() == status.st_uid)
        return " cannot be inspected from here: it has more rights than this command, or is outside its container";
    return " belongs to another user; only that user and root may inspect it";
}

}  // namespace

void visit_live_recordings(const std::function<void(const LiveRecording&)>& visit) {
    std::string why;
    for (const std::int32_t pid : list_processes())
        if (const auto recording = recording_of(pid, why)) visit(*recording);
}

FoundRecording find_live_recording(std::int32_t pid) {
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
